// The clock that reports of agents expire by: a steady one, as the time of day may be set.
#pragma once

#include <chrono>
#include <cstdint>

namespace railweave::api {

inline std::int64_t agent_clock_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace railweave::api
