// Where a job stands.
#pragma once

#include <cstdint>
#include <string_view>

#include "fabric/base/enum_text.h"

namespace railweave::control {

enum class JobState : std::uint8_t {
  queued,     // waits in the queue
  placed,     // holds its GPUs
  completed,  // ended by itself, as its owner reported
  cancelled,
  lost,  // its nodes left the fabric
};
BOOST_DESCRIBE_ENUM(JobState, queued, placed, completed, cancelled, lost)
constexpr std::string_view to_string(JobState state) { return to_text(state); }

}  // namespace railweave::control
