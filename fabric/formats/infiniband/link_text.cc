#include "fabric/formats/infiniband/link_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace railweave::fabric {

std::uint16_t width_of_text(std::string_view text) {
  std::uint16_t width = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), width);
  if (error != std::errc() || end == text.data() + text.size() || (*end != 'X' && *end != 'x')) return 0;
  return width == 1 || width == 2 || width == 4 || width == 8 || width == 12 ? width : 0;
}

LinkSpeed speed_of_lane_gbps(std::string_view text) {
  static constexpr std::array<std::pair<double, LinkSpeed>, 13> kSpeeds{{{2.5, LinkSpeed::sdr},
                                                                         {5, LinkSpeed::ddr},
                                                                         {10, LinkSpeed::qdr},
                                                                         {10.3125, LinkSpeed::fdr10},
                                                                         {14, LinkSpeed::fdr},
                                                                         {14.0625, LinkSpeed::fdr},
                                                                         {25, LinkSpeed::edr},
                                                                         {25.78125, LinkSpeed::edr},
                                                                         {50, LinkSpeed::hdr},
                                                                         {53.125, LinkSpeed::hdr},
                                                                         {100, LinkSpeed::ndr},
                                                                         {106.25, LinkSpeed::ndr},
                                                                         {212.5, LinkSpeed::xdr}}};
  double gbps = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), gbps);
  if (error != std::errc()) return LinkSpeed::unknown;
  for (const auto& [speed_gbps, speed] : kSpeeds) {
    if (std::abs(gbps - speed_gbps) < 1e-3) return speed;
  }
  return gbps == 200 ? LinkSpeed::xdr : LinkSpeed::unknown;
}

LinkSpeed speed_of_ibdiagnet(std::uint64_t value) {
  static constexpr std::array<std::pair<std::uint64_t, LinkSpeed>, 9> kSpeeds{{{1, LinkSpeed::sdr},
                                                                               {2, LinkSpeed::ddr},
                                                                               {4, LinkSpeed::qdr},
                                                                               {256, LinkSpeed::fdr},
                                                                               {512, LinkSpeed::edr},
                                                                               {1024, LinkSpeed::hdr},
                                                                               {2048, LinkSpeed::ndr},
                                                                               {4096, LinkSpeed::xdr},
                                                                               {65536, LinkSpeed::fdr10}}};
  for (const auto& [bit, speed] : kSpeeds) {
    if (bit == value) return speed;
  }
  return LinkSpeed::unknown;
}

}  // namespace railweave::fabric
