#include "services/railweave/lab/flows/flow_rates.h"

#include <algorithm>
#include <limits>
#include <map>

namespace railweave::cli {

namespace {
constexpr double kMet = 1 - 1e-6;
}

void FlowSet::add(fabric::EndPortPair pair, std::uint32_t of_job, double offered, double entitled) {
  ports.push_back(pair);
  job.push_back(of_job);
  offered_mbps.push_back(offered);
  entitled_mbps.push_back(entitled);
}

FlowSet flows_of_jobs(const std::vector<FlowJob>& jobs, const fabric::FabricView& view) {
  FlowSet flows;
  const fabric::Topology& t = view.topology();
  const auto capacity = fabric::link_capacities_mbps(view);
  for (std::uint32_t j = 0; j < jobs.size(); ++j) {
    const FlowJob& job = jobs[j];
    std::map<fabric::PortId, double> sent, received;
    for (const PortTraffic& flow : job.traffic) {
      sent[flow.ports.from] += flow.weight;
      received[flow.ports.to] += flow.weight;
    }
    for (const PortTraffic& flow : job.traffic) {
      const double of_sent = flow.weight / sent[flow.ports.from], of_received = flow.weight / received[flow.ports.to];
      const double part = std::min(of_sent, of_received);
      const double cable = std::min(of_sent * capacity[fabric::directed_link(t, flow.ports.from)],
                                    of_received * capacity[fabric::directed_link(t, t.peer(flow.ports.to))]);
      double offered = job.most_mbps > 0 ? std::min(part * static_cast<double>(job.most_mbps), cable) : cable;
      if (flow.rate_mbps > 0) offered = job.admitted ? std::min(flow.rate_mbps, offered) : flow.rate_mbps;
      const double entitled = job.admitted ? std::min(offered, part * static_cast<double>(job.guaranteed_mbps)) : 0;
      flows.add(flow.ports, j, offered, entitled);
    }
  }
  return flows;
}

FlowSolver::FlowSolver(const fabric::FabricView& view, const fabric::PathWalker& walker,
                       const fabric::QosClasses& classes)
    : walker_(walker), capacity_(fabric::link_capacities_mbps(view)) {
  for (const auto& one : classes) {
    weight_.push_back(one.share_permille);
    all_ += one.share_permille;
  }
}

SolvedFlows FlowSolver::solve(const FlowSet& flows, const std::vector<std::uint8_t>& class_of_job) const {
  SolvedFlows solved;
  solved.paths = walker_.paths(flows.ports);
  std::vector<double> cap = flows.offered_mbps, weight(flows.size());
  std::vector<std::uint8_t> class_of(flows.size());
  for (std::size_t f = 0; f < flows.size(); ++f) {
    if (solved.paths.path(f).empty()) cap[f] = 0;
    // Queues are first in, first out: flows receive shares in proportion to what they send.
    weight[f] = std::max(flows.offered_mbps[f], 1e-3);
    class_of[f] = class_of_job[flows.job[f]];
  }
  const fabric::ClassProblem problem{.flows = {.capacity = capacity_,
                                               .first = solved.paths.first,
                                               .links = solved.paths.links,
                                               .weight = weight,
                                               .cap = cap},
                                     .class_of = class_of,
                                     .classes = weight_.size(),
                                     .class_weight = weight_};
  solved.rates = fabric::class_shared_rates(problem);
  return solved;
}

std::vector<JobRates> rates_of_jobs(const std::vector<FlowJob>& jobs, const FlowSet& flows, const SolvedFlows& solved) {
  std::vector<JobRates> result(jobs.size());
  std::vector<std::map<fabric::PortId, double>> by_port(jobs.size());
  for (std::size_t f = 0; f < flows.size(); ++f) {
    JobRates& job = result[flows.job[f]];
    const double got = solved.rates.flows.rate[f];
    ++job.flows;
    job.offered_mbps += flows.offered_mbps[f];
    job.got_mbps += got;
    by_port[flows.job[f]][flows.ports[f].from] += got;
    const bool unrouted = solved.paths.path(f).empty();
    job.unrouted += unrouted ? 1 : 0;
    const double due = flows.entitled_mbps[f] > 0 ? flows.entitled_mbps[f] : flows.offered_mbps[f];
    if (due <= 0) continue;
    const double share = got / due;
    if (share < kMet && flows.entitled_mbps[f] > 0) job.met = false;
    if (share >= job.worst_share) continue;
    job.worst_share = share;
    job.held_back_by = unrouted ? fabric::FlowRates::kUnbounded : solved.rates.flows.bottleneck[f];
  }
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (by_port[j].empty()) continue;
    JobRates& job = result[j];
    job.least_mbps = std::numeric_limits<double>::infinity();
    for (const auto& [port, got] : by_port[j]) {
      job.least_mbps = std::min(job.least_mbps, got);
      job.most_mbps = std::max(job.most_mbps, got);
      job.mean_mbps += got / static_cast<double>(by_port[j].size());
    }
    if (jobs[j].admitted && (job.unrouted > 0 || jobs[j].unreachable > 0)) job.met = false;
  }
  return result;
}

}  // namespace railweave::cli
