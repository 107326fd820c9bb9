// The phase of the control loop, reported by GET /readyz. Changes are refused unless it is ready.
#pragma once

#include <cstdint>
#include <string_view>

#include "fabric/base/enum_text.h"

namespace railweave::control {

enum class Phase : std::uint8_t {
  starting,
  replaying,  // reading the snapshot and the journal
  following,  // another process leads; what it writes is read, and changes are its to make
  ready,
  store_failed,  // the last append failed; the journal is read again before the next write
  stopping,
};
BOOST_DESCRIBE_ENUM(Phase, starting, replaying, following, ready, store_failed, stopping)
constexpr std::string_view to_string(Phase phase) { return to_text(phase); }

}  // namespace railweave::control
