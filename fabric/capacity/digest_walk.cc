#include "fabric/capacity/digest_walk.h"

#include <algorithm>

namespace railweave::fabric {

void DigestWalk::start(const PlaneHose& hose) {
  const FirstHops& first = hose.first_hops();
  bundles_.assign(first.bundles(), {});
  for (std::uint32_t g = 0; g < hose.groups().size(); ++g) bundles_[first.bundle_of(g)].add(hose.groups()[g].digest);
}

bool DigestWalk::walk(PlaneHose& hose, std::uint32_t target, LinkUses& uses) {
  frontier_.clear();
  add_bundles(hose, target);
  correct_members(hose, target);
  const std::uint32_t home = hose.home_of(target);
  const std::int64_t receive = hose.targets()[target].receive_mbps;
  bool lossless = true;
  for (unsigned hop = 0; !frontier_.empty(); ++hop) {
    frontier_.advance();
    const auto& present = frontier_.present();
    next_hops_.resize(present.size());
    for (std::size_t i = 0; i < present.size(); ++i) {  // a loop of its own, so that the memory accesses overlap
      next_hops_[i] = hose.next_hop(present[i].sw, target);
      if (next_hops_[i].link != PlaneHose::kNone) uses.prefetch(next_hops_[i].link);
    }
    for (std::size_t i = 0; i < present.size(); ++i) {
      const SourceDigest& groups = present[i].value;
      if (groups.groups == 0) continue;
      const PlaneHose::NextHop next = next_hops_[i];
      if (next.sw == PlaneHose::kNone || hop > PlaneHose::kMaxHops) {
        lossless = false;
        continue;
      }
      uses.add(next.link, target, receive, groups);
      if (next.sw != home) frontier_.at(next.sw).add(groups);
    }
  }
  return lossless;
}

// Every bundle as if all of its members sent by the same port.
void DigestWalk::add_bundles(PlaneHose& hose, std::uint32_t target) {
  const FirstHops& first = hose.first_hops();
  const std::uint32_t own = hose.group_of(target), home = hose.home_of(target);
  for (std::size_t b = 0; b < first.bundles(); ++b) {
    if (first.port(b, target) == FirstHops::kUnset) continue;
    const std::uint32_t next = hose.first_hop(b, target).sw;
    if (next == PlaneHose::kNone) {
      const auto deviations = first.deviations(target);
      for (std::uint32_t g = 0; g < hose.groups().size(); ++g) {
        if (first.bundle_of(g) != b || g == own) continue;
        if (std::ranges::find(deviations, g, &FirstHops::Deviation::source) == deviations.end()) {
          hose.note_unrouted(target, g);
        }
      }
    } else if (next != home) {
      frontier_.at(next).add(bundles_[b]);
    }
  }
}

// Takes out the target's own group, and moves the members that deviate to the switches that they really send to.
void DigestWalk::correct_members(PlaneHose& hose, std::uint32_t target) {
  const FirstHops& first = hose.first_hops();
  const std::uint32_t home = hose.home_of(target);
  const auto leave_bundle = [&](std::uint32_t group) {
    const std::uint32_t b = first.bundle_of(group);
    if (first.port(b, target) == FirstHops::kUnset) return;
    const std::uint32_t next = hose.first_hop(b, target).sw;
    if (next != PlaneHose::kNone && next != home) frontier_.at(next).remove(hose.groups()[group].digest);
  };
  leave_bundle(hose.group_of(target));
  for (const auto& one : first.deviations(target)) {
    leave_bundle(one.source);
    const std::uint32_t next = hose.first_hop(one).sw;
    if (next == PlaneHose::kNone) {
      hose.note_unrouted(target, one.source);
    } else if (next != home) {
      frontier_.at(next).add(hose.groups()[one.source].digest);
    }
  }
}

}  // namespace railweave::fabric
