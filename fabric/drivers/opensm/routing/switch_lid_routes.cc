#include "fabric/drivers/opensm/routing/switch_lid_routes.h"

#include <algorithm>
#include <optional>
#include <span>

#include "fabric/drivers/opensm/routing/channel_waits.h"

namespace railweave::fabric::opensm {
namespace {

constexpr std::uint32_t kFar = UINT32_MAX;
constexpr std::size_t kCircleBudget = 50'000'000;  // channels visited per plane: a fraction of a second

// Routes to the switches of a plane, one target after the other.
class PlaneSwitchRoutes {
 public:
  PlaneSwitchRoutes(const Routing& routing, const FabricView& view, PlaneId id)
      : routing_(routing), view_(view), id_(id), plane_(routing.tables.scope().plane(id)) {
    const auto& orders = routing.orders;
    order_ = id.index() < orders.size() ? orders[id.index()].get() : nullptr;
  }

  // The route of a destination on the switch: the first that all leaves reach. None: there is no such destination.
  DestinationId copy_end_port_route(std::uint32_t to, std::span<std::uint16_t> ports) const {
    const std::uint32_t home = plane_.home_of[to];
    if (home == Plane::kNone) return {};
    const PlaneTables& tables = routing_.tables.plane(id_);
    for (std::uint32_t i = 0; i < plane_.homes[home].count; ++i) {
      const std::uint32_t d = plane_.homes[home].first + i;
      for (std::uint32_t s = 0; s < ports.size(); ++s) ports[s] = s == to ? kPortZero : tables.at(s, d);
      if (unreached(ports) == 0) return plane_.destination(d);
    }
    std::ranges::fill(ports, kNoPort);
    ports[to] = kPortZero;
    return {};
  }

  // Up and then down: a switch that has a route down uses it, and so does every switch after it.
  void fill_up_down(std::uint32_t to, std::span<std::uint16_t> ports) {
    if (order_ == nullptr) return;
    const auto& position = order_->position;
    std::vector<std::uint32_t> hops(ports.size(), kFar), queue{to};
    hops[to] = 0;
    const auto reach = [&](std::uint32_t from, const Arc& back) {  // `back` leaves `from`; the route enters by it
      hops[back.to] = hops[from] + 1;
      ports[back.to] = back.to_port;
    };
    for (std::size_t i = 0; i < queue.size(); ++i) {  // those above it
      for (const Arc& arc : plane_.arcs_of(queue[i])) {
        if (!usable(queue[i], arc, to) || hops[arc.to] != kFar || position[arc.to] < position[queue[i]]) continue;
        reach(queue[i], arc);
        queue.push_back(arc.to);
      }
    }
    // Those below, nearest first: by hops, as the first to reach a switch has the fewest.
    std::ranges::stable_sort(queue, {}, [&](std::uint32_t s) { return hops[s]; });
    std::vector<std::vector<std::uint32_t>> by_hops;
    const auto put = [&](std::uint32_t s) {
      if (by_hops.size() <= hops[s]) by_hops.resize(hops[s] + 1U);
      by_hops[hops[s]].push_back(s);
    };
    for (const std::uint32_t s : queue) put(s);
    for (std::size_t h = 0; h < by_hops.size(); ++h) {
      for (std::size_t i = 0; i < by_hops[h].size(); ++i) {
        const std::uint32_t s = by_hops[h][i];
        for (const Arc& arc : plane_.arcs_of(s)) {
          if (!usable(s, arc, to) || hops[arc.to] != kFar || position[arc.to] > position[s]) continue;
          reach(s, arc);
          put(arc.to);
        }
      }
    }
  }

  // Waits of all routes to end ports; those to switches are added as they come.
  [[nodiscard]] ChannelWaits waits() const {
    ChannelWaits waits(plane_);
    const PlaneTables& tables = routing_.tables.plane(id_);
    std::vector<std::uint16_t> ports(plane_.switch_count());
    for (std::uint32_t d = 0; d < plane_.destination_count(); ++d) {
      for (std::uint32_t s = 0; s < ports.size(); ++s) ports[s] = tables.at(s, d);
      add_waits(ports, waits);
    }
    return waits;
  }
  void add_waits(std::span<const std::uint16_t> ports, ChannelWaits& waits) const {
    for (std::uint32_t s = 0; s < ports.size(); ++s) {
      const std::uint32_t in = arc_by(s, ports[s]);
      const std::uint32_t out = in == Plane::kNone ? in : arc_by(plane_.arcs[in].to, ports[plane_.arcs[in].to]);
      if (out != Plane::kNone) waits.add(in, out);
    }
  }
  // One-lane routes on an order: what the waits above are about.
  [[nodiscard]] bool may_detour() const {
    return order_ != nullptr && id_.index() < routing_.lanes.planes.size() &&
           routing_.lanes.planes[id_.index()].single();
  }
  // Leaves without a route send to a neighbour that has one; repeated while that adds routes.
  void add_detours(std::uint32_t to, std::span<std::uint16_t> ports, ChannelWaits& waits, std::size_t& budget) const {
    for (bool found = true; found;) {
      found = false;
      for (const Home& home : plane_.homes) {
        if (ports[home.sw] != kNoPort) continue;
        for (std::uint32_t a = plane_.first_arc[home.sw]; a < plane_.first_arc[home.sw + 1]; ++a) {
          const Arc& arc = plane_.arcs[a];
          if (!view_.carries_transit(arc.link) || ports[arc.to] == kNoPort || arc.to == to) continue;
          const std::uint32_t next = arc_by(arc.to, ports[arc.to]);
          if (next == Plane::kNone || plane_.arcs[next].to == home.sw || waits.may_close_circle(a, next, budget))
            continue;
          waits.add(a, next);
          ports[home.sw] = arc.port;
          found = true;
          break;
        }
        // Through another leaf: up to a spine that has no route itself, and down to a leaf that has one.
        if (ports[home.sw] == kNoPort) found = detour_below(home.sw, to, ports, waits, budget) || found;
      }
    }
  }

  // Leaves that have no route.
  [[nodiscard]] std::size_t unreached(std::span<const std::uint16_t> ports) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(plane_.homes, [&](const Home& home) { return ports[home.sw] == kNoPort; }));
  }

 private:
  bool detour_below(std::uint32_t leaf, std::uint32_t to, std::span<std::uint16_t> ports, ChannelWaits& waits,
                    std::size_t& budget) const {
    for (std::uint32_t a = plane_.first_arc[leaf]; a < plane_.first_arc[leaf + 1]; ++a) {
      const std::uint32_t over = plane_.arcs[a].to;
      if (!view_.carries_transit(plane_.arcs[a].link) || ports[over] != kNoPort) continue;
      for (std::uint32_t b = plane_.first_arc[over]; b < plane_.first_arc[over + 1]; ++b) {
        const std::uint32_t below = plane_.arcs[b].to;
        if (!view_.carries_transit(plane_.arcs[b].link) || ports[below] == kNoPort || below == leaf || below == to)
          continue;
        const std::uint32_t next = arc_by(below, ports[below]);
        if (next == Plane::kNone || plane_.arcs[next].to == over) continue;
        if (waits.may_close_circle(b, next, budget)) continue;
        waits.add(b, next);
        ports[over] = plane_.arcs[b].port;
        if (waits.may_close_circle(a, b, budget)) continue;  // `over` has a route now, which does no harm
        waits.add(a, b);
        ports[leaf] = plane_.arcs[a].port;
        return true;
      }
    }
    return false;
  }
  [[nodiscard]] std::uint32_t arc_by(std::uint32_t s, std::uint16_t port) const {
    if (port == kNoPort || port == kPortZero) return Plane::kNone;
    const auto arcs = plane_.arcs_of(s);
    const auto found = std::ranges::lower_bound(arcs, port, {}, &Arc::port);
    if (found == arcs.end() || found->port != port) return Plane::kNone;
    return plane_.first_arc[s] + static_cast<std::uint32_t>(found - arcs.begin());
  }
  // Packets for the switch itself may use its links that carry nothing else.
  [[nodiscard]] bool usable(std::uint32_t s, const Arc& arc, std::uint32_t to) const {
    if (!view_.alive(arc.link)) return false;
    if (view_.carries_transit(arc.link)) return true;
    return s == to && !view_.drained(plane_.switches[arc.to]);
  }

  const Routing& routing_;
  const FabricView& view_;
  PlaneId id_;
  const Plane& plane_;
  const SwitchOrder* order_ = nullptr;
};

}  // namespace

SwitchLidRoutes::SwitchLidRoutes(const Routing& routing, const FabricView& view)
    : scope_(&routing.tables.scope()), copied_from_(scope_->topology().switches().size()) {
  for (const PlaneId id : scope_->planes()) {
    const Plane& plane = scope_->plane(id);
    const std::size_t n = plane.switch_count();
    ports_.emplace_back(n * n, kNoPort);
    PlaneSwitchRoutes routes(routing, view, id);
    std::vector<std::uint32_t> lacking;  // switches that some leaf has no route to
    for (std::uint32_t to = 0; to < n; ++to) {
      const std::span<std::uint16_t> ports = std::span(ports_.back()).subspan(to * n, n);
      ports[to] = kPortZero;
      const DestinationId copied = routes.copy_end_port_route(to, ports);
      copied_from_[plane.switches[to].index()] = copied;
      if (!copied) routes.fill_up_down(to, ports);
      if (routes.unreached(ports) > 0) lacking.push_back(to);
    }
    if (!lacking.empty() && routes.may_detour()) {
      ChannelWaits waits = routes.waits();
      for (std::uint32_t to = 0; to < n; ++to) routes.add_waits(std::span(ports_.back()).subspan(to * n, n), waits);
      std::size_t budget = kCircleBudget;
      for (const std::uint32_t to : lacking) {
        routes.add_detours(to, std::span(ports_.back()).subspan(to * n, n), waits, budget);
      }
    }
    for (const std::uint32_t to : lacking) {
      unreached_ += routes.unreached(std::span(ports_.back()).subspan(to * n, n)) > 0 ? 1 : 0;
    }
  }
}

std::uint16_t SwitchLidRoutes::port(SwitchId at, SwitchId to) const {
  const PlaneId plane = scope_->plane_of(to);
  if (scope_->plane_of(at) != plane) return kNoPort;
  return ports_[plane.index()][scope_->local(to) * scope_->plane(plane).switch_count() + scope_->local(at)];
}

}  // namespace railweave::fabric::opensm
