#include "fabric/routing/delta/held_back.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "fabric/routing/audit/column_walk.h"

namespace railweave::fabric {
namespace {

// Of one plane.
class HeldEntries {
 public:
  HeldEntries(const FabricView& view, const Plane& plane, const PlaneTables& before, const PlaneTables& after,
              const std::vector<std::uint32_t>& unwritten)
      : plane_(plane),
        unwritten_(unwritten),
        before_(before),
        after_(after),
        ports_(plane, view),
        old_walk_(plane, ports_),
        mixed_walk_(plane, ports_) {}

  // Calls hold(switch) for each that is to keep its entry for the destination.
  template <class Hold>
  void find(std::uint32_t destination, Hold hold) {
    std::vector<std::uint32_t> keeps;
    for (const std::uint32_t s : unwritten_) {
      if (before_.at(s, destination) != after_.at(s, destination)) keeps.push_back(s);
    }
    if (keeps.empty()) return;
    std::vector<std::uint16_t> old_ports, mixed_ports;
    for (std::size_t s = 0; s < plane_.switch_count(); ++s) {
      old_ports.push_back(before_.at(s, destination));
      mixed_ports.push_back(after_.at(s, destination));
    }
    for (const std::uint32_t s : keeps) mixed_ports[s] = old_ports[s];
    old_walk_.walk(destination, old_ports.data());
    mixed_walk_.walk(destination, mixed_ports.data());
    for (std::uint32_t s = 0; s < plane_.switch_count(); ++s) {
      if (old_ports[s] == mixed_ports[s] || !meets(keeps, s, destination)) continue;
      const bool is_gain = old_walk_.depth(s) == ColumnWalk::kLost && mixed_walk_.depth(s) != ColumnWalk::kLost;
      if (!is_gain) hold(s);
    }
  }

 private:
  // On the new route from s.
  [[nodiscard]] bool meets(const std::vector<std::uint32_t>& keeps, std::uint32_t s, std::uint32_t destination) const {
    const std::uint32_t end = plane_.homes[plane_.destination_home[destination]].sw;
    for (std::size_t steps = 0; s != end && steps < plane_.switch_count(); ++steps) {
      const std::uint32_t arc = plane_.find_arc(s, after_.at(s, destination));
      if (arc == Plane::kNone) return false;
      s = plane_.arcs[arc].to;
      if (std::ranges::binary_search(keeps, s)) return true;
    }
    return false;
  }

  const Plane& plane_;
  const std::vector<std::uint32_t>& unwritten_;  // ascending
  const PlaneTables& before_;
  const PlaneTables& after_;
  const PortMap ports_;
  ColumnWalk old_walk_, mixed_walk_;
};

// By switch and block of LIDs, the place in it and the old port.
using Places = std::map<std::pair<SwitchId, std::uint16_t>, std::map<std::size_t, std::uint16_t>>;

Places held_places(const FabricView& view, const Routing& before, const Routing& after,
                   const std::set<SwitchId>& unwritten) {
  const RoutingScope& scope = after.tables.scope();
  std::map<PlaneId, std::vector<std::uint32_t>> by_plane;
  for (const SwitchId sw : unwritten) by_plane[scope.plane_of(sw)].push_back(scope.local(sw));
  Places held;
  for (auto& [id, switches] : by_plane) {
    if (after.tables.shares_plane(before.tables, id)) continue;
    const Plane& plane = scope.plane(id);
    const PlaneTables& then = before.tables.plane(id);
    std::ranges::sort(switches);
    HeldEntries entries(view, plane, then, after.tables.plane(id), switches);
    for (std::uint32_t d = 0; d < plane.destination_count(); ++d) {
      const Lid lid = scope.lid(plane.destination(d));
      if (lid == 0) continue;
      entries.find(d, [&](std::uint32_t s) {
        const auto number = static_cast<std::uint16_t>(lid / kLidsPerBlock);
        held[{plane.switches[s], number}][lid % kLidsPerBlock] = then.at(s, d);
      });
    }
  }
  return held;
}

}  // namespace

std::vector<SwitchId> hold_back(const FabricView& view, const Routing& before, const Routing& after,
                                const std::set<SwitchId>& unwritten, ForwardingDelta& delta) {
  const Places held = held_places(view, before, after, unwritten);
  if (held.empty()) return {};
  std::set<SwitchId> keep;
  for (const auto& [block, places] : held) keep.insert(block.first);
  // What comes after packets have left is proven for what was to be written before: it comes with the next delta.
  const auto wait = std::ranges::find_if(delta.waits, [](std::uint16_t stage) { return stage > 0; });
  if (wait != delta.waits.end()) {
    std::erase_if(delta.blocks, [&](const LftBlock& block) {
      if (block.stage >= *wait) keep.insert(block.sw);
      return block.stage >= *wait;
    });
    delta.waits.erase(wait, delta.waits.end());
  }
  std::map<std::pair<SwitchId, std::uint16_t>, std::size_t> changed;
  for (const LftBlock& block : delta.blocks) changed[{block.sw, block.number}] += block.changed;
  std::erase_if(delta.blocks, [&](const LftBlock& block) {
    const auto places = held.find({block.sw, block.number});
    return places != held.end() && places->second.size() == changed.at({block.sw, block.number});
  });
  for (LftBlock& block : delta.blocks) {
    const auto places = held.find({block.sw, block.number});
    if (places == held.end()) continue;
    for (const auto& [place, port] : places->second) block.ports[place] = port;
  }
  return {keep.begin(), keep.end()};
}

}  // namespace railweave::fabric
