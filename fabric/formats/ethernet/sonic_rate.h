// The field "speed" of SONiC's tables of ports.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

namespace railweave::fabric {

// Mb/s; 0 for what is no rate of a port.
inline std::int64_t sonic_rate_mbps(std::string_view speed) {
  constexpr std::int64_t kMaxMbps = 10'000'000;
  std::int64_t rate = 0;
  const auto [end, error] = std::from_chars(speed.data(), speed.data() + speed.size(), rate);
  return error == std::errc() && end == speed.data() + speed.size() && rate > 0 && rate <= kMaxMbps ? rate : 0;
}

}  // namespace railweave::fabric
