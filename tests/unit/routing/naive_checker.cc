#include "tests/unit/routing/naive_checker.h"

#include <algorithm>
#include <deque>
#include <functional>

namespace railweave::fabric::testing {

namespace {

using Channel = std::pair<PortId, unsigned>;  // the port that packets leave by, the lane

bool is_up(const FabricView& view, PortId port) { return view.state(view.topology().link(port)) != LinkState::down; }

// Fewest links between two switches over links that are up and not drained. A drained switch may only begin or end it.
unsigned fewest_links(const FabricView& view, SwitchId from, SwitchId to) {
  const Topology& t = view.topology();
  std::map<SwitchId, unsigned> distance{{from, 0}};
  std::deque<SwitchId> queue{from};
  while (!queue.empty()) {
    const SwitchId sw = queue.front();
    queue.pop_front();
    if (sw == to) return distance[sw];
    if (sw != from && view.drained(sw)) continue;
    for (const PortId port : t.ports(sw)) {
      const PortId peer = t.peer(port);
      const SwitchId next = peer ? t.switch_of(peer) : SwitchId();
      if (!next || distance.contains(next)) continue;
      if (!is_up(view, port) || view.drained(t.link(port))) continue;
      if (view.drained(sw) && view.drained(next)) continue;
      distance[next] = distance[sw] + 1;
      queue.push_back(next);
    }
  }
  return UINT32_MAX;
}

bool has_circle(const std::map<Channel, std::set<Channel>>& waits_for) {
  std::map<Channel, int> state;  // 0 new, 1 on the path, 2 done
  std::function<bool(const Channel&)> visit = [&](const Channel& channel) {
    int& s = state[channel];
    if (s != 0) return s == 1;
    s = 1;
    if (const auto next = waits_for.find(channel); next != waits_for.end()) {
      for (const Channel& other : next->second) {
        if (visit(other)) return true;
      }
    }
    state[channel] = 2;
    return false;
  };
  return std::ranges::any_of(waits_for, [&](const auto& entry) { return visit(entry.first); });
}

// The route of one packet: the ports of switches that it leaves by, without the last one to an end port.
struct PacketRoute {
  std::vector<PortId> ports;
  bool arrived = false;
  std::string problem;  // why it did not arrive
};

PacketRoute follow(const FabricView& view, const ForwardingTables& tables, SwitchId first, DestinationId id) {
  const Topology& t = view.topology();
  const Destination& to = tables.scope().destination(id);
  PacketRoute route;
  std::set<SwitchId> seen;
  for (SwitchId at = first;;) {
    const std::string here(t.name(at));
    if (!seen.insert(at).second) {
      route.problem = "loop";
      return route;
    }
    const std::uint16_t port_number = tables.out_port(at, id);
    if (port_number == kPortZero && !to.port && at == to.home) {
      route.arrived = true;
      return route;
    }
    if (port_number == kNoPort || port_number == kPortZero || port_number > t.ports(at).size()) {
      route.problem = "no entry at " + here;
      return route;
    }
    const PortId out = t.ports(at)[port_number - 1U];
    const PortId peer = t.peer(out);
    if (!peer || !is_up(view, out)) {
      route.problem = "dead port at " + here;
      return route;
    }
    if (peer == to.port) {
      route.arrived = true;
      return route;
    }
    const SwitchId next = t.switch_of(peer);
    if (!next) {
      route.problem = "wrong end port at " + here;
      return route;
    }
    route.ports.push_back(out);
    at = next;
  }
}

class NaiveCheck {
 public:
  NaiveCheck(const FabricView& view, const Routing& routing)
      : view_(view), t_(view.topology()), scope_(routing.tables.scope()), routing_(routing) {}

  NaiveReport run() && {
    for (const PortId source : t_.hca_ports()) {
      if (!t_.peer(source) || !t_.switch_of(t_.peer(source))) continue;
      if (t_.kind(t_.hca_of(source)) == HcaKind::aggregation && !scope_.find(source)) continue;
      for (const DestinationId id : scope_.destinations()) check(source, id);
    }
    report_.credit_loop = has_circle(waits_for_);
    return std::move(report_);
  }

 private:
  void check(PortId source, DestinationId id) {
    const Destination& to = scope_.destination(id);
    const SwitchId first = t_.switch_of(t_.peer(source));
    if (to.port == source || scope_.plane_of(first) != scope_.plane_of(to.home)) return;
    ++report_.pairs;
    const bool cables = is_up(view_, source) && (!to.port || is_up(view_, to.port));
    const unsigned distance = distance_between(first, to.home);
    const bool disconnected = !cables || distance == UINT32_MAX;
    report_.disconnected += disconnected ? 1 : 0;
    const PacketRoute route = cables ? follow(view_, routing_.tables, first, id) : PacketRoute();
    if (!route.arrived) {
      count_failure(first, to, disconnected, route.problem);
      return;
    }
    count_route(source, to, route.ports, distance);
    add_channels(first, id, route.ports);
  }

  unsigned distance_between(SwitchId from, SwitchId to) {
    const auto known = distances_.find({from, to});
    return known != distances_.end() ? known->second : distances_[{from, to}] = fewest_links(view_, from, to);
  }

  void count_failure(SwitchId first, const Destination& to, bool disconnected, const std::string& problem) {
    if (!to.port && !disconnected && problem.starts_with("no entry")) {
      ++report_.unmanaged;
      return;
    }
    ++report_.unreachable;
    if (disconnected) return;
    ++report_.failed;
    if (report_.failures.size() >= 8) return;
    report_.failures.push_back(std::string(t_.name(first)) + " to " + std::string(t_.name(to.home)) + " port " +
                               std::to_string(to.out_port) + ": " + problem);
  }

  void count_route(PortId source, const Destination& to, const std::vector<PortId>& ports, unsigned distance) {
    const auto links = static_cast<unsigned>(ports.size());
    report_.longest = std::max(report_.longest, links);
    if (links > distance) ++report_.nonminimal;
    unsigned& length = report_.route_length[{t_.switch_of(t_.peer(source)), to.home}];
    length = std::max(length, links);
    if (to.lid_offset != 0 || !to.port) return;
    const bool hosts = t_.kind(t_.hca_of(source)) == HcaKind::host && t_.kind(t_.hca_of(to.port)) == HcaKind::host;
    for (const PortId out : ports) {
      report_.max_load = std::max(report_.max_load, ++report_.load[out]);
      if (hosts) report_.max_host_load = std::max(report_.max_host_load, ++report_.host_load[out]);
    }
  }

  void add_channels(SwitchId first, DestinationId id, const std::vector<PortId>& ports) {
    const PlaneId plane_id = scope_.plane_of(first);
    const Plane& plane = scope_.plane(plane_id);
    const PlaneLanes& lanes = routing_.lanes.planes.at(plane_id.index());
    const auto arc_of = [&](PortId out) {
      const std::uint32_t s = scope_.local(t_.switch_of(out));
      for (std::uint32_t a = plane.first_arc[s]; a < plane.first_arc[s + 1]; ++a) {
        if (plane.arcs[a].port == t_.number(out)) return a;
      }
      return Plane::kNone;
    };
    const unsigned level = lanes.level(plane.home_of[scope_.local(first)], scope_.local(id), plane.destination_count());
    std::uint32_t in = PlaneLanes::kFromEndPort;
    std::vector<Channel> channels;
    for (const PortId out : ports) {
      const std::uint32_t arc = arc_of(out);
      channels.emplace_back(out, lanes.lane(in, arc, level));
      report_.lanes = std::max(report_.lanes, channels.back().second + 1);
      in = arc;
    }
    for (std::size_t i = 1; i < channels.size(); ++i) waits_for_[channels[i - 1]].insert(channels[i]);
  }

  const FabricView& view_;
  const Topology& t_;
  const RoutingScope& scope_;
  const Routing& routing_;
  NaiveReport report_;
  std::map<Channel, std::set<Channel>> waits_for_;
  std::map<std::pair<SwitchId, SwitchId>, unsigned> distances_;
};

}  // namespace

std::string NaiveReport::text() const {
  std::string out = std::to_string(failed) + " of " + std::to_string(pairs) + " pairs fail";
  for (const auto& failure : failures) out += "\n  " + failure;
  return out;
}

NaiveReport check_naively(const FabricView& view, const Routing& routing) { return NaiveCheck(view, routing).run(); }

}  // namespace railweave::fabric::testing
