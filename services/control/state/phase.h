// How far the service is. Writes are refused unless it is ready.
#pragma once

#include <cstdint>
#include <string_view>

namespace railweave::control {

enum class Phase : std::uint8_t {
  starting,
  replaying,  // reading snapshot and journal
  ready,
  store_failed,  // the last append failed; the journal is read again before the next write
  stopping,
};

constexpr std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::starting:
      return "starting";
    case Phase::replaying:
      return "replaying";
    case Phase::ready:
      return "ready";
    case Phase::store_failed:
      return "storeFailed";
    case Phase::stopping:
      return "stopping";
  }
  return "";
}

}  // namespace railweave::control
