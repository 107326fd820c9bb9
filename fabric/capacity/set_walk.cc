#include "fabric/capacity/set_walk.h"

namespace railweave::fabric {

void SetWalk::start(const PlaneHose& hose) {
  const FirstHops& first = hose.first_hops();
  words_ = (hose.groups().size() + 63) / 64;
  bundles_.assign(first.bundles() * words_, 0);
  for (std::uint32_t g = 0; g < hose.groups().size(); ++g) {
    bundles_[first.bundle_of(g) * words_ + g / 64] |= std::uint64_t{1} << (g % 64);
  }
}

void SetWalk::add_first_hops(const PlaneHose& hose, std::uint32_t target) {
  const FirstHops& first = hose.first_hops();
  const std::uint32_t own = hose.group_of(target), home = hose.home_of(target);
  const auto deviations = first.deviations(target);
  for (std::size_t b = 0; b < first.bundles(); ++b) {
    if (first.port(b, target) == FirstHops::kUnset) continue;
    const std::uint32_t next = hose.first_hop(b, target).sw;
    if (next == PlaneHose::kNone || next == home) continue;
    const std::uint32_t into = set_at(next);
    for (std::size_t w = 0; w < words_; ++w) {
      std::uint64_t members = bundles_[b * words_ + w];
      const auto without = [&](std::uint32_t group) {
        if (group / 64 == w) members &= ~(std::uint64_t{1} << (group % 64));
      };
      without(own);
      for (const auto& one : deviations) without(one.source);
      sets_[into + w] |= members;
    }
  }
  for (const auto& one : deviations) {
    const std::uint32_t next = hose.first_hop(one).sw;
    if (next == PlaneHose::kNone || next == home) continue;
    const std::uint32_t into = set_at(next);
    sets_[into + one.source / 64] |= std::uint64_t{1} << (one.source % 64);
  }
}

}  // namespace railweave::fabric
