#include "fabric/routing/audit/transition.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "fabric/routing/audit/channel_graph.h"
#include "fabric/routing/audit/column_block.h"
#include "fabric/routing/audit/column_walk.h"
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

const PlaneLanes& lanes_of(const Routing& routing, PlaneId plane) {
  static const PlaneLanes one_lane;
  return plane.index() < routing.lanes.planes.size() ? routing.lanes.planes[plane.index()] : one_lane;
}

// By switch: the next hops of packets for one destination in a mixture, and the lanes on which they may arrive.
class Mixture {
 public:
  Mixture(const Plane& plane, const PortMap& ports, const PlaneLanes& old_lanes, const PlaneLanes& new_lanes)
      : plane_(plane),
        ports_(ports),
        old_lanes_(old_lanes),
        new_lanes_(new_lanes),
        arcs_(plane.switch_count()),
        levels_(plane.switch_count(), 0) {}

  void set(std::size_t s, std::uint16_t old_port, std::uint16_t new_port) {
    arcs_[s] = {arc(s, old_port), arc(s, new_port)};
    if (arcs_[s][1] == arcs_[s][0]) arcs_[s][1] = PortMap::kNothing;
  }
  void add_turns(std::uint32_t destination, ChannelGraph& channels) {
    const std::uint32_t home = plane_.homes[plane_.destination_home[destination]].sw;
    std::ranges::fill(levels_, 0);
    queue_.clear();
    for (std::uint32_t h = 0; h < plane_.homes.size(); ++h) {
      const std::uint32_t s = plane_.homes[h].sw;
      if (ports_.sources[s] == 0) continue;
      for (const PlaneLanes* lanes : {&old_lanes_, &new_lanes_}) {
        levels_[s] |= 1U << lanes->level(h, destination, plane_.destination_count());
      }
      queue_.push_back(s);
    }
    while (!queue_.empty()) {
      const std::uint32_t s = queue_.back();
      queue_.pop_back();
      if (s == home) continue;
      for (const std::uint32_t in : arcs_[s]) {
        if (in >= PortMap::kDead) continue;
        const std::uint32_t to = plane_.arcs[in].to;
        if ((levels_[to] | levels_[s]) != levels_[to]) {
          levels_[to] |= levels_[s];
          queue_.push_back(to);
        }
      }
    }
    for (std::uint32_t s = 0; s < arcs_.size(); ++s) {
      if (levels_[s] == 0 || s == home) continue;
      for (const std::uint32_t in : arcs_[s]) {
        if (in >= PortMap::kDead || plane_.arcs[in].to == home) continue;
        for (const std::uint32_t out : arcs_[plane_.arcs[in].to]) {
          if (out >= PortMap::kDead) continue;
          for (std::uint32_t bits = levels_[s]; bits != 0; bits &= bits - 1) {
            const auto lane = static_cast<unsigned>(std::countr_zero(bits));
            if (lane < channels.lanes()) channels.add(in, lane, out, lane);
          }
        }
      }
    }
  }

 private:
  [[nodiscard]] std::uint32_t arc(std::size_t s, std::uint16_t port) const {
    return port < ports_.stride ? ports_.arc(s, port) : PortMap::kNothing;
  }

  const Plane& plane_;
  const PortMap& ports_;
  const PlaneLanes& old_lanes_;
  const PlaneLanes& new_lanes_;
  std::vector<std::array<std::uint32_t, 2>> arcs_;
  std::vector<std::uint32_t> levels_, queue_;
};

}  // namespace

bool may_deadlock_between(const FabricView& view, PlaneId id, const Routing& before, const Routing& after) {
  const Plane& plane = after.tables.scope().plane(id);
  const PlaneTables &then = before.tables.plane(id), &now = after.tables.plane(id);
  const PortMap ports(plane, view);
  if (same_order(id, before, after) && !Bends(plane, ports, *after.orders[id.index()], then, now).any()) return false;
  const PlaneLanes &old_lanes = lanes_of(before, id), &new_lanes = lanes_of(after, id);
  // Maps from ports to lanes may change at the same time; mixtures of those are not checked, so the answer is yes.
  if (!old_lanes.arc_class.empty() || !new_lanes.arc_class.empty()) return true;
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
      mixture.add_turns(static_cast<std::uint32_t>(first + i), channels);
    }
  }
  return !channels.circles().lanes.empty();
}

}  // namespace railweave::fabric
