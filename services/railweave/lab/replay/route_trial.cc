#include "services/railweave/lab/replay/route_trial.h"

#include <chrono>
#include <cmath>
#include <utility>

#include "fabric/flow/directed_link.h"
#include "scheduler/collective/path_model.h"
#include "scheduler/placement/score/routed_jobs.h"
#include "services/railweave/lab/replay/flow_period.h"

namespace railweave::cli {

using namespace scheduler;

RouteTrial::RouteTrial(const PlacementFabricPtr& fabric)
    : fabric_(fabric),
      routes_(replay_routes(*fabric)),
      walker_(routes_->view, routes_->routing.tables),
      bundles_(fabric) {}

void RouteTrial::start(std::uint64_t job, const JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank) {
  Running running{.spec = spec, .gpu_of_rank = {gpu_of_rank.begin(), gpu_of_rank.end()}, .alone = {}, .flows = {}};
  running.alone = bundles_.load_of(spec, gpu_of_rank);
  if (!std::isfinite(running.alone.period_us) || running.alone.period_us <= 0) return;
  running.flows = flows_on(*fabric_, walker_, spec, gpu_of_rank, running.alone.traffic);
  if (!running.flows.empty()) running_.emplace(job, std::move(running));
}

void RouteTrial::sample(std::int64_t now_us, std::int64_t from_us) {
  if (now_us < next_us_ || now_us < from_us) return;
  next_us_ = now_us + kEveryUs;
  if (running_.empty()) return;
  std::vector<fabric::Demand> demands;
  for (const auto& [job, running] : running_) {
    const auto own = demands_of(running.flows, running.alone.period_us);
    demands.insert(demands.end(), own.begin(), own.end());
  }
  const auto begun = std::chrono::steady_clock::now();
  const FollowedRoutes followed = followed_routes(*routes_, demands);
  report_.balance_us += std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begun).count();
  ++report_.samples;
  report_.jobs += running_.size();
  report_.hops += followed.hops;
  const auto add = [](Work& sum, const Work& more) {
    sum.model += more.model;
    sum.flows += more.flows;
  };
  add(report_.engine, work_on(routes_->routing.tables));
  add(report_.followed, work_on(followed.routing.tables));
}

RouteTrial::Work RouteTrial::work_on(const fabric::ForwardingTables& tables) const {
  RoutedJobs jobs(fabric_, routes_->view, tables);
  for (const auto& [job, running] : running_) jobs.add(job, running.spec, running.gpu_of_rank);
  const fabric::PathWalker walker(routes_->view, tables);
  const auto capacity_mbps = fabric::link_capacities_mbps(routes_->view);
  const RoutedPaths paths(fabric_->topology(), walker, fabric_->gpu_ports(), capacity_mbps);
  const auto bundle_mbps = fabric_->capacities_mbps(routes_->view);
  Work work;
  for (const auto& [job, running] : running_) {
    const double alone = static_cast<double>(running.gpu_of_rank.size()) * running.alone.period_us;
    jobs.remove(job);
    if (const auto told = jobs.contention(running.spec, running.gpu_of_rank)) {
      work.model += alone / period_us(running.spec, told->shared);
    }
    jobs.add(job, running.spec, running.gpu_of_rank);
    const BackgroundFlows others = beside(job, walker);
    if (const auto us = flow_period_us(*fabric_, paths, bundle_mbps, running.spec, running.gpu_of_rank, &others)) {
      work.flows += alone / *us;
    }
  }
  return work;
}

BackgroundFlows RouteTrial::beside(std::uint64_t job, const fabric::PathWalker& walker) const {
  BackgroundFlows others;
  for (const auto& [id, running] : running_) {
    if (id == job) continue;
    for (const PortFlow& flow : running.flows) {
      if (!walker.append(flow.ports, others.links)) continue;
      others.first.push_back(static_cast<std::uint32_t>(others.links.size()));
      others.members.push_back(1);
      others.cap_mbps.push_back(static_cast<double>(mean_kbps(flow, running.alone.period_us)) / 1000);
    }
  }
  return others;
}

}  // namespace railweave::cli
