#include "tests/unit/routing/naive_checker.h"

#include <algorithm>
#include <deque>
#include <functional>

namespace railweave::fabric::testing {

namespace {

using Channel = std::pair<PortId, unsigned>;  // the port that packets leave by, the lane

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
      if (view.state(t.link(port)) == LinkState::down || view.drained(t.link(port))) continue;
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

}  // namespace

std::string NaiveReport::text() const {
  std::string out = std::to_string(failed) + " of " + std::to_string(pairs) + " pairs fail";
  for (const auto& failure : failures) out += "\n  " + failure;
  return out;
}

NaiveReport check_naively(const FabricView& view, const Routing& routing) {
  const Topology& t = view.topology();
  const RoutingScope& scope = routing.tables.scope();
  NaiveReport report;
  std::map<Channel, std::set<Channel>> waits_for;
  std::map<std::pair<SwitchId, SwitchId>, unsigned> distances;
  const auto up = [&](PortId port) { return view.state(t.link(port)) != LinkState::down; };
  for (const PortId source : t.hca_ports()) {
    if (!t.peer(source) || !t.switch_of(t.peer(source))) continue;
    if (t.kind(t.hca_of(source)) == HcaKind::aggregation && !scope.find(source)) continue;
    const SwitchId first = t.switch_of(t.peer(source));
    for (const DestinationId id : scope.destinations()) {
      const Destination& to = scope.destination(id);
      if (to.port == source) continue;
      if (scope.plane_of(first) != scope.plane_of(to.home)) continue;
      ++report.pairs;
      const bool cables = up(source) && (!to.port || up(to.port));
      const auto known = distances.find({first, to.home});
      const unsigned distance =
          known != distances.end() ? known->second : distances[{first, to.home}] = fewest_links(view, first, to.home);
      const bool disconnected = !cables || distance == UINT32_MAX;
      report.disconnected += disconnected ? 1 : 0;

      // The packet's way.
      std::vector<PortId> way;
      std::set<SwitchId> seen;
      SwitchId at = first;
      bool arrived = false;
      std::string problem;
      while (cables) {
        if (!seen.insert(at).second) {
          problem = "loop";
          break;
        }
        const std::uint16_t port_number = routing.tables.out_port(at, id);
        if (port_number == kPortZero && !to.port && at == to.home) {
          arrived = true;
          break;
        }
        if (port_number == kNoPort || port_number == kPortZero || port_number > t.ports(at).size()) {
          problem = "no entry at " + std::string(t.name(at));
          break;
        }
        const PortId out = t.ports(at)[port_number - 1U];
        const PortId peer = t.peer(out);
        if (!peer || !up(out)) {
          problem = "dead port at " + std::string(t.name(at));
          break;
        }
        if (peer == to.port) {
          arrived = true;
          break;
        }
        const SwitchId next = t.switch_of(peer);
        if (!next) {
          problem = "wrong end port at " + std::string(t.name(at));
          break;
        }
        way.push_back(out);
        at = next;
      }
      if (!arrived && !to.port && !disconnected && problem.starts_with("no entry")) {
        ++report.unmanaged;
        continue;
      }
      if (!arrived) {
        ++report.unreachable;
        if (!disconnected) {
          ++report.failed;
          if (report.failures.size() < 8) {
            report.failures.push_back(std::string(t.name(first)) + " to " + std::string(t.name(to.home)) + " port " +
                                      std::to_string(to.out_port) + ": " + problem);
          }
        }
        continue;
      }
      report.longest = std::max(report.longest, static_cast<unsigned>(way.size()));
      if (way.size() > distance) ++report.nonminimal;
      unsigned& length = report.way_length[{first, to.home}];
      length = std::max(length, static_cast<unsigned>(way.size()));
      if (to.lid_offset == 0 && to.port) {
        const bool hosts = t.kind(t.hca_of(source)) == HcaKind::host && t.kind(t.hca_of(to.port)) == HcaKind::host;
        for (const PortId out : way) {
          report.max_load = std::max(report.max_load, ++report.load[out]);
          if (hosts) report.max_host_load = std::max(report.max_host_load, ++report.host_load[out]);
        }
      }
      // Its channels.
      const PlaneId plane_id = scope.plane_of(first);
      const Plane& plane = scope.plane(plane_id);
      const PlaneLanes& lanes = routing.lanes.planes.at(plane_id.index());
      const auto arc_of = [&](PortId out) {
        const std::uint32_t s = scope.local(t.switch_of(out));
        for (std::uint32_t a = plane.first_arc[s]; a < plane.first_arc[s + 1]; ++a) {
          if (plane.arcs[a].port == t.number(out)) return a;
        }
        return Plane::kNone;
      };
      const unsigned level = lanes.level(plane.home_of[scope.local(first)], scope.local(id), plane.destination_count());
      std::uint32_t in = PlaneLanes::kFromEndPort;
      std::vector<Channel> channels;
      for (const PortId out : way) {
        const std::uint32_t arc = arc_of(out);
        channels.emplace_back(out, lanes.lane(in, arc, level));
        report.lanes = std::max(report.lanes, channels.back().second + 1);
        in = arc;
      }
      for (std::size_t i = 1; i < channels.size(); ++i) waits_for[channels[i - 1]].insert(channels[i]);
    }
  }
  report.credit_loop = has_circle(waits_for);
  return report;
}

}  // namespace railweave::fabric::testing
