// A job's id in the journal: its number. A form of record.h.
#pragma once

#include "services/control/state/job.h"
#include "services/json/record.h"

namespace railweave::api {

struct JobNumber {
  static void read(ObjectReader& reader, std::string_view name, control::JobId& into) {
    std::uint64_t number = 0;
    reader.read(name, number);
    into = control::JobId(number);
  }
  static Out write(control::JobId id) { return id.number(); }
};

}  // namespace railweave::api
