#include "services/railweave/lab/replay/route_trial.h"

#include <chrono>
#include <cmath>
#include <utility>

#include "fabric/flow/directed_link.h"
#include "fabric/flow/hashed_paths.h"
#include "scheduler/collective/path_model.h"
#include "scheduler/placement/score/routed_jobs.h"
#include "services/railweave/lab/replay/flow_period.h"
#include "services/railweave/lab/replay/job_classes.h"

namespace railweave::cli {

using namespace scheduler;

RouteTrial::RouteTrial(const PlacementFabricPtr& fabric, What what, unsigned classes)
    : fabric_(fabric),
      what_(what),
      routes_(replay_routes(*fabric)),
      walker_(routes_->view, routes_->routing.tables),
      bundles_(fabric),
      capacity_mbps_(fabric::link_capacities_mbps(routes_->view)) {
  if (what == What::priority_classes) class_weight_ = class_weights(classes);
}

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
  ++report_.samples;
  report_.jobs += running_.size();
  switch (what_) {
    case What::followed_routes:
      return try_followed_routes();
    case What::host_routes:
      return try_host_routes();
    case What::priority_classes:
      return try_classes();
  }
}

FollowedRoutes RouteTrial::follow_routes() {
  std::vector<fabric::Demand> demands;
  for (const auto& [job, running] : running_) {
    const auto own = demands_of(running.flows, running.alone.period_us);
    demands.insert(demands.end(), own.begin(), own.end());
  }
  const auto begun = std::chrono::steady_clock::now();
  FollowedRoutes followed = followed_routes(*routes_, demands);
  report_.balance_us += std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begun).count();
  report_.hops += followed.hops;
  return followed;
}

void RouteTrial::try_followed_routes() {
  const FollowedRoutes followed = follow_routes();
  const auto add = [](Work& sum, const Work& more) {
    sum.model += more.model;
    sum.flows += more.flows;
  };
  add(report_.engine, work_on(routes_->routing.tables));
  add(report_.tried, work_on(followed.routing.tables));
}

// One draw of hashes a sample.
void RouteTrial::try_host_routes() {
  const FollowedRoutes followed = follow_routes();
  const auto work = [&](const fabric::PairPaths& paths) {
    Periods periods = periods_alone();
    return flows_work(paths, {}, periods);
  };
  report_.engine.flows += work(fabric::HashedPaths(routes_->view, report_.samples));
  report_.tried.flows += work(walker_);
  report_.followed_flows += work(fabric::PathWalker(routes_->view, followed.routing.tables));
}

void RouteTrial::try_classes() {
  std::vector<double> intensities;
  for (const auto& [job, running] : running_) {
    intensities.push_back(gpu_intensity(running.spec, running.flows, walker_, capacity_mbps_));
  }
  const auto work_by = [&] {
    const auto class_of = job_classes(intensities, static_cast<unsigned>(class_weight_.size()));
    Classes classes{.weight = class_weight_, .of_job = {}};
    for (const auto& [job, running] : running_) classes.of_job.emplace(job, class_of[classes.of_job.size()]);
    return settled_work(classes);
  };
  report_.engine.flows += settled_work({});
  report_.tried.flows += work_by();
  for (double& intensity : intensities) intensity = -intensity;
  report_.reversed_flows += work_by();
}

RouteTrial::Work RouteTrial::work_on(const fabric::ForwardingTables& tables) const {
  RoutedJobs jobs(fabric_, routes_->view, tables);
  for (const auto& [job, running] : running_) jobs.add(job, running.spec, running.gpu_of_rank);
  Periods periods = periods_alone();
  Work work{.flows = flows_work(fabric::PathWalker(routes_->view, tables), {}, periods)};
  for (const auto& [job, running] : running_) {
    const double alone = static_cast<double>(running.gpu_of_rank.size()) * running.alone.period_us;
    jobs.remove(job);
    if (const auto told = jobs.contention(running.spec, running.gpu_of_rank)) {
      work.model += alone / period_us(running.spec, told->shared);
    }
    jobs.add(job, running.spec, running.gpu_of_rank);
  }
  return work;
}

RouteTrial::Periods RouteTrial::periods_alone() const {
  Periods periods;
  for (const auto& [job, running] : running_) periods.emplace(job, running.alone.period_us);
  return periods;
}

double RouteTrial::settled_work(const Classes& classes) const {
  constexpr unsigned kRounds = 4;
  Periods periods = periods_alone();
  double work = 0;
  for (unsigned round = 0; round < kRounds; ++round) {
    Periods next = periods;
    work = flows_work(walker_, classes, next);
    for (auto& [job, us] : periods) us = std::sqrt(us * next.at(job));
  }
  return work;
}

double RouteTrial::flows_work(const fabric::PairPaths& of_pairs, const Classes& classes, Periods& periods) const {
  const Periods before = periods;
  const RoutedPaths paths(fabric_->topology(), of_pairs, fabric_->gpu_ports(), capacity_mbps_);
  const auto bundle_mbps = fabric_->capacities_mbps(routes_->view);
  double work = 0;
  for (const auto& [job, running] : running_) {
    const double alone = static_cast<double>(running.gpu_of_rank.size()) * running.alone.period_us;
    const BackgroundFlows others = beside(job, of_pairs, classes, before);
    if (const auto us = flow_period_us(*fabric_, paths, bundle_mbps, running.spec, running.gpu_of_rank, &others)) {
      work += alone / *us;
      periods[job] = *us;
    }
  }
  return work;
}

BackgroundFlows RouteTrial::beside(std::uint64_t job, const fabric::PairPaths& paths, const Classes& classes,
                                   const Periods& periods) const {
  BackgroundFlows others;
  others.class_weight = classes.weight;
  if (!classes.weight.empty()) others.own_class = classes.of_job.at(job);
  for (const auto& [id, running] : running_) {
    if (id == job) continue;
    for (const PortFlow& flow : running.flows) {
      if (!paths.append(flow.ports, others.links)) continue;
      others.first.push_back(static_cast<std::uint32_t>(others.links.size()));
      others.members.push_back(1);
      others.cap_mbps.push_back(static_cast<double>(mean_kbps(flow, periods.at(id))) / 1000);
      if (!classes.weight.empty()) others.class_of.push_back(classes.of_job.at(id));
    }
  }
  return others;
}

}  // namespace railweave::cli
