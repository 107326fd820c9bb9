#include "services/control/agents/host_budgets.h"

#include <algorithm>
#include <map>

#include "services/control/views/job_ports.h"

namespace railweave::control {
namespace {

void add_flows(const fabric::Reservation& reservation, PortBudget& budget) {
  std::map<fabric::PortId, FlowBudget> by_peer;
  for (const fabric::PatternFlow& flow : reservation.flows) {
    if (flow.ports.from == budget.port) {
      FlowBudget& one = by_peer[flow.ports.to];
      one.send_mbps += flow.mbps;
      budget.send_mbps += flow.mbps;
    } else if (flow.ports.to == budget.port) {
      FlowBudget& one = by_peer[flow.ports.from];
      one.receive_mbps += flow.mbps;
      budget.receive_mbps += flow.mbps;
    }
  }
  for (auto& [peer, flow] : by_peer) {
    flow.peer = peer;
    budget.flows.push_back(flow);
  }
}

}  // namespace

std::vector<PortBudget> host_budgets(const ClusterState& state, const GuaranteeBook& book, fabric::HostId host,
                                     std::span<const JobId> jobs) {
  const fabric::Topology& t = state.topology();
  std::vector<PortBudget> budgets;
  for (const JobId id : jobs) {
    const JobPtr job = state.guaranteed->contains(id) ? state.jobs.find(id) : nullptr;
    if (job == nullptr) continue;
    const auto held = book.ledger().reservations_of(to_string(id));
    for (const fabric::PortId port : job_ports(*state.placement_fabric, job->placement.gpu_of_rank)) {
      if (t.host(t.hca_of(port)) != host) continue;
      PortBudget budget{.port = port, .job = job, .flows = {}};
      for (const auto& reservation : held) {
        if (reservation->promise == fabric::TrafficPromise::pattern) {
          add_flows(*reservation, budget);
          continue;
        }
        const auto at = std::ranges::find(reservation->ports, port, &fabric::HosePort::port);
        if (at == reservation->ports.end()) continue;
        budget.send_mbps += at->send_mbps;
        budget.receive_mbps +=
            std::min(at->receive_mbps, at->send_mbps);  // without what comes for another role by the port
      }
      budgets.push_back(std::move(budget));
    }
  }
  return budgets;
}

}  // namespace railweave::control
