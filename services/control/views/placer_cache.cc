#include "services/control/views/placer_cache.h"

#include <algorithm>
#include <utility>

#include "services/control/state/cluster_state.h"
#include "services/control/state/job.h"
#include "services/control/views/peer_places.h"

namespace railweave::control {

RankReach& PlacerCache::rank_reach(const ClusterState& state) {
  if (rank_reach_ == nullptr || rank_reach_fabric_ != state.placement_fabric ||
      rank_reach_version_ != state.view_version || rank_reach_tables_ != state.subnet_tables) {
    rank_reach_ = std::make_unique<RankReach>(state.view, state.placement_fabric);
    fabric::FabricView undrained = state.view;  // a drain keeps no running job from sending
    for (const auto& [target, drain] : *state.drains) mark_drained(undrained, target, false);
    running_reach_ = std::make_unique<const JobReach>(state, std::move(undrained));
    rank_reach_tables_ = state.subnet_tables;
    rank_reach_fabric_ = state.placement_fabric;
    rank_reach_version_ = state.view_version;
  }
  return *rank_reach_;
}

std::vector<fabric::GpuId> PlacerCache::lost_gpus(const ClusterState& state, const Job& job) {
  const auto& gpus = job.placement.gpu_of_rank;
  auto lost = rank_reach(state).cut_off(gpus);
  if (!lost.empty()) return lost;
  const bool loses_pairs = std::ranges::any_of(*state.subnet_tables, [](const auto& reported) {
    return reported.second.source == TablesSource::seen && reported.second.lost_pairs != 0;
  });
  FabricRoutesPtr routes;
  if (loses_pairs) routes = guarantees_.routing()->at(state).value_or(nullptr);
  return running_reach_->unreached(job.spec, gpus, routes.get());
}

scheduler::Placer& PlacerCache::at(const ClusterState& state) {
  const bool is_new = placer_ == nullptr || fabric_ != state.placement_fabric;
  if (is_new) {
    fabric_ = state.placement_fabric;
    placer_ = std::make_unique<scheduler::Placer>(fabric_);
    const auto nominal = fabric_->nominal_mbps();
    capacities_mbps_.assign(nominal.begin(), nominal.end());
    up_mbps_ = capacities_mbps_;
    parts_ = std::make_shared<const scheduler::NetworkParts>(fabric_->bundles().parts());
    ++capacities_version_;
    traffic_ = std::make_unique<scheduler::BundleTraffic>(fabric_);
    placed_.reset();
    placer_->set_residual(traffic_->residual_mbps());
    placer_->set_peers(peer_places(jobs_));
    traffic_->set_peers(peer_places(jobs_));
    view_version_ = 0;
    reserved_version_ = 0;
  }
  // If the fabric cannot be routed, nothing is guaranteed and nothing is reserved.
  const bool reserved = !state.guaranteed->empty() && guarantees_.bring_to(state).has_value();
  const std::uint64_t reserved_version = reserved ? guarantees_.version() : 0;
  if (view_version_ != state.view_version || reserved_version_ != reserved_version) {
    const bool view_changed = is_new || view_version_ != state.view_version;
    view_version_ = state.view_version;
    reserved_version_ = reserved_version;
    auto up = view_changed ? fabric_->capacities_mbps(state.view) : up_mbps_;
    auto now = reserved ? fabric_->bundles().capacities(guarantees_.residual_mbps()) : up;
    if (view_changed) {
      if (auto parts = scheduler::NetworkParts(state.view, fabric_->gpu_ports()); parts != *parts_) {
        parts_ = std::make_shared<const scheduler::NetworkParts>(std::move(parts));
        ++capacities_version_;
        placer_->set_parts(parts_);
      }
    }
    if (up != up_mbps_) traffic_->set_capacities(up);
    if (now != capacities_mbps_ || up != up_mbps_) {
      capacities_mbps_ = now;
      up_mbps_ = up;
      ++capacities_version_;
      placer_->set_capacities(std::move(now), std::move(up));
    }
  }
  *jobs_ = state.jobs;
  const PlacedJobs::Changes changes = placed_.follow(state.jobs);
  for (const JobId id : changes.removed) traffic_->remove(id.number());
  for (const JobPtr& job : changes.added) traffic_->add(job->id.number(), job->spec, job->placement.gpu_of_rank);
  placer_->sync(state.allocations);
  return *placer_;
}

const JobReach& PlacerCache::reach(const ClusterState& state) {
  if (reach_ == nullptr || reach_fabric_ != state.placement_fabric || reach_->view_version() != state.view_version) {
    reach_ = std::make_unique<const JobReach>(state);
    reach_fabric_ = state.placement_fabric;
  }
  return *reach_;
}

}  // namespace railweave::control
