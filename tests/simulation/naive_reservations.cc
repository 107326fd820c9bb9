#include "tests/simulation/naive_reservations.h"

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include "fabric/flow/directed_link.h"

namespace railweave::simulation {
namespace {

using namespace fabric;  // NOLINT: this file is about its types

// The directed links of packets from one adapter port to another; empty where they do not arrive.
std::vector<DirectedLink> walk(const control::FabricRoutes& routes, PortId from, PortId to) {
  const Topology& t = routes.scope().topology();
  const auto& view = routes.input.view;
  const DestinationId destination = routes.scope().find(to);
  std::vector<DirectedLink> links;
  if (!destination || !t.peer(from) || !view.alive(t.link(from))) return {};
  links.push_back(directed_link(t, from));
  PortId at = t.peer(from);
  for (std::size_t hops = 0; at != to; ++hops) {
    const SwitchId sw = t.switch_of(at);
    if (!sw || hops > t.switches().size()) return {};
    const auto out = routes.routing.tables.out_port(sw, destination);
    if (out == 0 || out == kNoPort) return {};
    const PortId port = t.ports(sw)[out - 1];
    if (!t.peer(port) || !view.alive(t.link(port))) return {};
    links.push_back(directed_link(t, port));
    at = t.peer(port);
  }
  return links;
}

// The most pairs in which every sender and every receiver is at most once (Kuhn).
std::int64_t matching(const std::map<PortId, std::set<PortId>>& receivers_of) {
  std::map<PortId, PortId> sender_of;
  std::int64_t size = 0;
  for (const auto& [sender, receivers] : receivers_of) {
    std::set<PortId> tried;
    const std::function<bool(PortId)> assign = [&](PortId from) {
      for (const PortId to : receivers_of.at(from)) {
        if (!tried.insert(to).second) continue;
        const auto taken = sender_of.find(to);
        if (taken != sender_of.end() && !assign(taken->second)) continue;
        sender_of[to] = from;
        return true;
      }
      return false;
    };
    size += assign(sender) ? 1 : 0;
  }
  return size;
}

}  // namespace

NaiveReservations naive_reservations(const control::ClusterState& state, const control::FabricRoutes& routes) {
  NaiveReservations all;
  const Topology& t = state.topology();
  state.jobs.visit_after(control::JobId(0), [&](const control::JobPtr& job) {
    if (job->state != control::JobState::placed || !job->guarantee || job->guarantee->at_risk()) return true;
    if (job->guarantee->covered) {
      all.least = true;
      return true;
    }
    const auto at = std::ranges::find(*state.qos_classes, job->guarantee->qos_class, &QosClass::name);
    const auto qos_class = static_cast<std::uint8_t>(at - state.qos_classes->begin());
    std::set<PortId> ports;  // each GPU of these fabrics has one adapter of one port
    for (const GpuId gpu : job->placement.gpu_of_rank) ports.insert(*t.ports(t.nics(gpu).front()).begin());
    std::map<DirectedLink, std::map<PortId, std::set<PortId>>> across;
    for (const PortId from : ports) {
      for (const PortId to : ports) {
        if (from == to) continue;
        for (const DirectedLink link : walk(routes, from, to)) across[link][from].insert(to);
      }
    }
    for (const auto& [link, pairs] : across) {
      all.mbps[{link, qos_class}] += matching(pairs) * job->guarantee->rate.value();
    }
    return true;
  });
  return all;
}

}  // namespace railweave::simulation
