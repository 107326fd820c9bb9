#include "fabric/routing/audit/transition.h"

#include <algorithm>
#include <vector>

#include "fabric/routing/audit/channel_graph.h"
#include "fabric/routing/audit/column_block.h"
#include "fabric/routing/audit/column_walk.h"
#include "fabric/routing/audit/mixture.h"
#include "fabric/routing/plane/table_differences.h"

namespace railweave::fabric {

namespace {

bool same_order(PlaneId plane, const Routing& before, const Routing& after) {
  const std::size_t i = plane.index();
  if (i >= before.orders.size() || i >= after.orders.size()) return false;
  const auto &a = before.orders[i], &b = after.orders[i];
  return a && b && (a == b || a->position == b->position);
}

// On one order, each table goes up and then down. In a mixture, a packet may come down by one and be sent up by another: at an
// entry in which the two differ, below a switch that sends packets for the destination down to it. Without such an entry
// the mixture goes up and then down as well.
class Bends {
 public:
  Bends(const Plane& plane, const PortMap& ports, const SwitchOrder& order)
      : plane_(plane), ports_(ports), order_(order) {}

  [[nodiscard]] bool any(const PlaneTables& one, const PlaneTables& other) const {
    return any_difference(one, other, [&](const TableDifference& entry) {
      return (goes_up(entry.sw, entry.before) || goes_up(entry.sw, entry.after)) &&
             is_entered_from_above(entry.sw, entry.destination, one, other);
    });
  }

 private:
  [[nodiscard]] bool goes_up(std::uint32_t s, std::uint16_t port) const {
    const std::uint32_t arc = port < ports_.stride ? ports_.arc(s, port) : PortMap::kNothing;
    return arc < PortMap::kDead && order_.position[plane_.arcs[arc].to] > order_.position[s];
  }
  [[nodiscard]] bool is_entered_from_above(std::uint32_t s, std::size_t destination, const PlaneTables& one,
                                           const PlaneTables& other) const {
    for (const Arc& arc : plane_.arcs_of(s)) {
      if (order_.position[arc.to] < order_.position[s]) continue;
      if (ports_.arc(arc.to, arc.to_port) >= PortMap::kDead) continue;
      if (one.at(arc.to, destination) == arc.to_port || other.at(arc.to, destination) == arc.to_port) return true;
    }
    return false;
  }

  const Plane& plane_;
  const PortMap& ports_;
  const SwitchOrder& order_;
};

// All go up and then down on one order, and so do packets that meet any of them.
bool stay_on_order(PlaneId id, const PortMap& ports, std::span<const Routing* const> routings) {
  const Routing& first = *routings.front();
  for (const Routing* one : routings.subspan(1)) {
    if (!same_order(id, first, *one)) return false;
  }
  const Bends bends(first.tables.scope().plane(id), ports, *first.orders[id.index()]);
  for (std::size_t i = 0; i < routings.size(); ++i) {
    for (std::size_t j = i + 1; j < routings.size(); ++j) {
      if (bends.any(routings[i]->tables.plane(id), routings[j]->tables.plane(id))) return false;
    }
  }
  return true;
}

}  // namespace

// Maps from ports to lanes may change at the same time; mixtures of those are not checked.
bool can_be_mixed(const PlaneLanes& before, const PlaneLanes& after) {
  if (before.arc_class.empty() && after.arc_class.empty()) return true;
  return before.arc_class == after.arc_class && before.lane_table == after.lane_table &&
         before.classes == after.classes && before.levels == after.levels;
}

bool may_deadlock_between(const FabricView& view, PlaneId id, const Routing& before, const Routing& after,
                          std::span<const Routing* const> earlier) {
  const Plane& plane = after.tables.scope().plane(id);
  const PortMap ports(plane, view);
  std::vector<const Routing*> routings{&before, &after};
  routings.insert(routings.end(), earlier.begin(), earlier.end());
  if (stay_on_order(id, ports, routings)) return false;
  unsigned most_lanes = 1;
  std::vector<const PlaneLanes*> lanes;
  std::vector<ColumnBlock> blocks;
  for (const Routing* one : routings) {
    lanes.push_back(&lanes_of(one->lanes, id));
    blocks.emplace_back(one->tables.plane(id));
    most_lanes = std::max<unsigned>(most_lanes, lanes.back()->lanes);
    if (!can_be_mixed(*lanes.front(), *lanes.back())) return true;
  }
  ChannelGraph channels(plane, most_lanes);
  Mixture mixture(plane, ports, lanes);
  const std::size_t count = plane.destination_count();
  for (std::size_t first = 0; first < count; first += ColumnBlock::kColumns) {
    const std::size_t here = std::min(ColumnBlock::kColumns, count - first);
    for (ColumnBlock& block : blocks) block.read(first, here);
    for (std::size_t i = 0; i < here; ++i) {
      for (unsigned k = 0; k < blocks.size(); ++k) {
        for (std::size_t s = 0; s < plane.switch_count(); ++s) mixture.set(s, k, blocks[k].column(i)[s]);
      }
      mixture.for_each_turn(static_cast<std::uint32_t>(first + i),
                            [&](std::uint32_t in, unsigned in_lane, std::uint32_t out, unsigned out_lane) {
                              if (std::max(in_lane, out_lane) < channels.lanes()) {
                                channels.add(in, in_lane, out, out_lane);
                              }
                            });
    }
  }
  return !channels.circles().lanes.empty();
}

}  // namespace railweave::fabric
