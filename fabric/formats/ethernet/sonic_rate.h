// The field "speed" of SONiC's tables of ports.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "fabric/base/whole_number.h"

namespace railweave::fabric {

// Mb/s; 0 for what is no rate of a port.
inline std::int64_t sonic_rate_mbps(std::string_view speed) {
  constexpr std::int64_t kMaxMbps = 10'000'000;
  return std::max<std::int64_t>(0, whole_number(speed, kMaxMbps).value_or(0));
}

}  // namespace railweave::fabric
