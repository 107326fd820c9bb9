#include "fabric/routing/audit/transition.h"

#include <algorithm>

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

// On one order, old and new tables each go up and then down. In a mixture, a packet may come down by the old and be
// sent up by the new, or the reverse: at an entry that changes, below a switch that sends packets for the destination
// down to it. Without such an entry the mixture goes up and then down as well.
class Bends {
 public:
  Bends(const Plane& plane, const PortMap& ports, const SwitchOrder& order, const PlaneTables& before,
        const PlaneTables& after)
      : plane_(plane), ports_(ports), order_(order), before_(before), after_(after) {}

  [[nodiscard]] bool any() const {
    return any_difference(before_, after_, [&](const TableDifference& entry) {
      return (goes_up(entry.sw, entry.before) || goes_up(entry.sw, entry.after)) &&
             is_entered_from_above(entry.sw, entry.destination);
    });
  }

 private:
  [[nodiscard]] bool goes_up(std::uint32_t s, std::uint16_t port) const {
    const std::uint32_t arc = port < ports_.stride ? ports_.arc(s, port) : PortMap::kNothing;
    return arc < PortMap::kDead && order_.position[plane_.arcs[arc].to] > order_.position[s];
  }
  [[nodiscard]] bool is_entered_from_above(std::uint32_t s, std::size_t destination) const {
    for (const Arc& arc : plane_.arcs_of(s)) {
      if (order_.position[arc.to] < order_.position[s]) continue;
      if (ports_.arc(arc.to, arc.to_port) >= PortMap::kDead) continue;
      if (before_.at(arc.to, destination) == arc.to_port || after_.at(arc.to, destination) == arc.to_port) return true;
    }
    return false;
  }

  const Plane& plane_;
  const PortMap& ports_;
  const SwitchOrder& order_;
  const PlaneTables& before_;
  const PlaneTables& after_;
};

}  // namespace

// Maps from ports to lanes may change at the same time; mixtures of those are not checked.
bool can_be_mixed(const PlaneLanes& before, const PlaneLanes& after) {
  if (before.arc_class.empty() && after.arc_class.empty()) return true;
  return before.arc_class == after.arc_class && before.lane_table == after.lane_table &&
         before.classes == after.classes && before.levels == after.levels;
}

bool may_deadlock_between(const FabricView& view, PlaneId id, const Routing& before, const Routing& after) {
  const Plane& plane = after.tables.scope().plane(id);
  const PlaneTables &then = before.tables.plane(id), &now = after.tables.plane(id);
  const PortMap ports(plane, view);
  if (same_order(id, before, after) && !Bends(plane, ports, *after.orders[id.index()], then, now).any()) return false;
  const PlaneLanes &old_lanes = lanes_of(before.lanes, id), &new_lanes = lanes_of(after.lanes, id);
  if (!can_be_mixed(old_lanes, new_lanes)) return true;
  ChannelGraph channels(plane, std::max<unsigned>({1, old_lanes.lanes, new_lanes.lanes}));
  Mixture mixture(plane, ports, old_lanes, new_lanes);
  const std::size_t count = plane.destination_count();
  ColumnBlock old_block(then), new_block(now);
  for (std::size_t first = 0; first < count; first += ColumnBlock::kColumns) {
    const std::size_t here = std::min(ColumnBlock::kColumns, count - first);
    old_block.read(first, here);
    new_block.read(first, here);
    for (std::size_t i = 0; i < here; ++i) {
      const std::uint16_t *old_ports = old_block.column(i), *new_ports = new_block.column(i);
      for (std::size_t s = 0; s < plane.switch_count(); ++s) mixture.set(s, old_ports[s], new_ports[s]);
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
