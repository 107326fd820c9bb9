#include "services/railweave/lab/replay/stretch.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "scheduler/collective/path_model.h"
#include "scheduler/placement/score/job_traffic.h"
#include "services/railweave/lab/replay/flow_period.h"

namespace railweave::cli {

using namespace scheduler;

StretchedRuns::StretchedRuns(const PlacementFabricPtr& fabric, Stretch rule, bool follows)
    : fabric_(fabric), rule_(rule), follows_(follows), placer_(fabric), best_(fabric), bundles_(fabric) {
  for (const auto kind : {fabric::LevelKind::nvlink_domain, fabric::LevelKind::node, fabric::LevelKind::leaf_group}) {
    const unsigned level = fabric->hierarchy().level_of(kind);
    if (level != Hierarchy::kNoLevel) levels_.push_back(level);
  }
  if (rule != Stretch::flows) return;
  routes_ = replay_routes(*fabric);
  walker_.emplace(routes_->view, routes_->routing.tables);
  capacity_mbps_ = fabric::link_capacities_mbps(routes_->view);
}

double StretchedRuns::factor(const JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank) {
  switch (rule_) {
    case Stretch::none:
      return 1;
    case Stretch::spread:
      return spreads(gpu_of_rank) ? kSpreadFactor : 1;
    case Stretch::predicted:
    case Stretch::flows:
      break;
  }
  Placement placement;
  placement.predicted = placer_.predict(spec, gpu_of_rank);
  const auto here_us = rule_ == Stretch::flows ? flows_us(spec, gpu_of_rank) : Placer::period_us(spec, placement);
  const auto best_us = best_.period_us(spec);
  if (!here_us || !best_us || !(*best_us > 0)) return 1;
  return std::max(1.0, *here_us / *best_us);
}

std::optional<double> StretchedRuns::flows_us(const JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank) {
  const auto on = [&](const fabric::PathWalker& walker) {
    const RoutedPaths paths(fabric_->topology(), walker, fabric_->gpu_ports(), capacity_mbps_);
    return flow_period_us(*fabric_, paths, fabric_->capacities_mbps(routes_->view), spec, gpu_of_rank);
  };
  if (!follows_) return on(*walker_);
  const FollowedRoutes followed = followed_routes(*routes_, demands(spec, gpu_of_rank));
  return on(fabric::PathWalker(routes_->view, followed.routing.tables));
}

std::vector<fabric::Demand> StretchedRuns::demands(const JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank) {
  const auto alone = bundles_.load_of(spec, gpu_of_rank);
  if (!std::isfinite(alone.period_us) || alone.period_us <= 0) return {};
  return demands_of(flows_on(*fabric_, *walker_, spec, gpu_of_rank, alone.traffic), alone.period_us);
}

bool StretchedRuns::spreads(std::span<const fabric::GpuId> gpus) const {
  const Hierarchy& hierarchy = fabric_->hierarchy();
  return std::ranges::any_of(levels_, [&](unsigned level) {
    std::set<GroupIndex> groups;
    for (const auto gpu : gpus) groups.insert(hierarchy.group_of_leaf(level, fabric_->leaf(gpu)));
    const std::uint64_t most = hierarchy.max_capacity(level);
    return groups.size() > (gpus.size() + most - 1) / most;
  });
}

}  // namespace railweave::cli
