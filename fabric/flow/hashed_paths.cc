#include "fabric/flow/hashed_paths.h"

#include <cstddef>

#include "fabric/base/mix.h"

namespace railweave::fabric {
namespace {

// Ports of a switch with a live cable to another one, in their order: visit(port, that switch).
template <class Visit>
void visit_neighbours(const FabricView& view, SwitchId sw, Visit visit) {
  const Topology& t = view.topology();
  for (const PortId port : t.ports(sw)) {
    const PortId peer = t.peer(port);
    if (!peer || !view.alive(t.link(port))) continue;
    if (const SwitchId next = t.switch_of(peer)) visit(port, next);
  }
}

}  // namespace

bool HashedPaths::append(EndPortPair pair, std::vector<DirectedLink>& out) const {
  const Topology& t = view_->topology();
  const PortId first = t.peer(pair.from), last = t.peer(pair.to);
  if (!first || !last || pair.from == pair.to || !view_->alive(t.link(pair.from)) || !view_->alive(t.link(pair.to))) {
    return false;
  }
  SwitchId at = t.switch_of(first);
  const SwitchId target = t.switch_of(last);
  if (!at || !target) return false;
  const auto& far = distances(target);
  if (far[at.index()] == kFar) return false;
  out.push_back(directed_link(t, pair.from));
  std::vector<PortId> next_hops;
  while (at != target) {
    next_hops.clear();
    visit_neighbours(*view_, at, [&](PortId port, SwitchId next) {
      if (far[next.index()] + 1 == far[at.index()]) next_hops.push_back(port);
    });
    const std::uint64_t flow = std::uint64_t{pair.from.value()} << 32U | pair.to.value();
    const PortId port = next_hops[mix(mix(seed_, flow), at.value()) % next_hops.size()];
    out.push_back(directed_link(t, port));
    at = t.switch_of(t.peer(port));
  }
  out.push_back(directed_link(t, last));
  return true;
}

const std::vector<std::uint16_t>& HashedPaths::distances(SwitchId to) const {
  const auto [found, is_new] = distances_.try_emplace(to);
  auto& far = found->second;
  if (!is_new) return far;
  far.assign(view_->topology().switches().size(), kFar);
  far[to.index()] = 0;
  std::vector<SwitchId> reached{to};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const std::uint16_t next_far = far[reached[i].index()] + 1;
    visit_neighbours(*view_, reached[i], [&](PortId, SwitchId next) {
      if (far[next.index()] != kFar) return;
      far[next.index()] = next_far;
      reached.push_back(next);
    });
  }
  return far;
}

}  // namespace railweave::fabric
