// Each record of the journal names the one before it by a digest of all that is in that, so that none can be changed, removed or put
// elsewhere without every later one being written again. The first record that is kept names what was removed before it. Records
// of releases without this name nothing. Pure.
#pragma once

#include <optional>
#include <string>

#include "services/control/events/event_codec.h"

namespace railweave::api {

// SHA-256, 64 hexadecimal digits.
std::string record_digest(const db::Record& record);

// Puts the digest before all else of the payload.
void link_record(db::Record& record, const std::string& digest_before);

// What a record says that the one before it is; none: nothing.
std::optional<std::string> digest_before(const db::Record& record);

// Follows the journal, record by record.
class ChainCheck {
 public:
  // False: the record before is not the one that this was written after.
  bool follow(const db::Record& record);
  [[nodiscard]] const std::string& head() const { return head_; }  // digest of the last record; "": none yet
  [[nodiscard]] std::uint64_t linked() const { return linked_; }   // records that named the one before

 private:
  std::string head_;
  std::uint64_t linked_ = 0;
};

}  // namespace railweave::api
