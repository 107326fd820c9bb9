#include "scheduler/placement/score/scorer.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "fabric/base/check.h"

namespace railweave::scheduler {

Scorer::Scorer(const PlacementFabric& fabric) : fabric_(&fabric), fragmentation_(fabric.hierarchy()) {
  capacity_mbps_.assign(fabric.nominal_mbps().begin(), fabric.nominal_mbps().end());
}

void Scorer::set_capacities(std::vector<double> bundle_mbps) {
  const FabricBundles& bundles = fabric_->bundles();
  RAILWEAVE_CHECK(bundle_mbps.size() == bundles.bundle_count(), "capacities are by bundle");
  capacity_mbps_ = std::move(bundle_mbps);
  up_mbps_.clear();
  full_rate_leaves_.clear();

  const auto nominal = fabric_->nominal_mbps();
  const auto share = [&](BundlePair pair) {
    double least = 1;
    for (std::size_t b = std::size_t{2} * pair; pair != FabricBundles::kNone && b < std::size_t{2} * pair + 2; ++b) {
      if (nominal[b] > 0) least = std::min(least, capacity_mbps_[b] / nominal[b]);
    }
    return least;
  };
  const Hierarchy& hierarchy = fabric_->hierarchy();
  std::vector<double> left(hierarchy.leaf_count(), 1);  // of nominal, the least of any bundle behind the leaf
  for (LeafIndex leaf = 0; leaf < hierarchy.leaf_count(); ++leaf) {
    const auto gpus = fabric_->topology().gpus(hierarchy.host(leaf));
    for (std::uint64_t rest = hierarchy.gpu_mask(leaf); rest != 0; rest &= rest - 1) {
      const auto& place = bundles.place(gpus[static_cast<std::size_t>(std::countr_zero(rest))]);
      left[leaf] = std::min({left[leaf], share(place.nvlink), share(place.nic), share(place.leaf), share(place.pod)});
    }
  }
  for (const double least : {0.999, 0.5}) {
    auto filter = std::make_shared<LeafFilter>(left.size(), std::uint8_t{1});
    bool any = false;
    for (LeafIndex leaf = 0; leaf < left.size(); ++leaf) {
      if (left[leaf] >= least) continue;
      (*filter)[leaf] = 0;
      any = true;
    }
    if (!any) break;
    if (full_rate_leaves_.empty() || *full_rate_leaves_.back() != *filter)
      full_rate_leaves_.push_back(std::move(filter));
  }
}

void Scorer::set_parts(std::shared_ptr<const NetworkParts> parts) {
  parts_ = std::move(parts);
  for (auto& [generation, model] : models_) model->set_parts(parts_ ? *parts_ : fabric_->bundles().parts());
}

bool Scorer::nominal() const {
  const std::vector<double>& up = up_mbps_.empty() ? capacity_mbps_ : up_mbps_;
  return (!parts_ || *parts_ == fabric_->bundles().parts()) && std::ranges::equal(up, fabric_->nominal_mbps());
}

void Scorer::set_job(const JobSpec& spec, const GpuGeneration& generation, PeersOf of) {
  spec_ = &spec;
  traffic_ = traffic_of_job(spec, peers_, of);
  generation_ = &generation;
  auto known = std::ranges::find(models_, generation_, [](const auto& entry) { return entry.first; });
  if (known == models_.end()) {
    models_.emplace_back(generation_, std::make_unique<PlacementCostModel>(fabric_->bundles(), *generation_));
    known = models_.end() - 1;
    if (parts_) known->second->set_parts(*parts_);
  }
  model_ = known->second.get();
}

void Scorer::set_residual(std::shared_ptr<const std::vector<double>> bundle_mbps) {
  RAILWEAVE_CHECK(bundle_mbps == nullptr || bundle_mbps->size() == capacity_mbps_.size(), "what is left is by bundle");
  residual_mbps_ = std::move(bundle_mbps);
}

void Scorer::set_up(std::vector<double> bundle_mbps) {
  RAILWEAVE_CHECK(bundle_mbps.size() == capacity_mbps_.size(), "capacities are by bundle");
  up_mbps_.clear();
  if (bundle_mbps != capacity_mbps_) up_mbps_ = std::move(bundle_mbps);
}

PlacementCost Scorer::cost(std::span<const fabric::GpuId> gpu_of_rank) {
  std::span<const double> left;
  if (residual_mbps_ != nullptr) left = *residual_mbps_;
  return model_->predict(gpu_of_rank, spec_->parallelism, traffic_.traffic, capacity_mbps_, left);
}

PlacementCost Scorer::cost_below(std::span<const fabric::GpuId> gpu_of_rank, double bound_us) {
  PlacementCost found = cost(gpu_of_rank);
  if (preferences_ != nullptr) found.total_us *= 1 + preferences_->unmet(gpu_of_rank);
  if (routes_ == nullptr || found.total_us >= bound_us) return found;
  found.total_us = std::numeric_limits<double>::infinity();
  if (routes_left_ == 0) return found;
  --routes_left_;
  if (const auto on = routes_->contention(*spec_, gpu_of_rank)) found.total_us = on->shared.communication_us;
  return found;
}

bool Scorer::alone(std::span<const fabric::GpuId> gpu_of_rank) const {
  if (!up_mbps_.empty()) return false;
  if (residual_mbps_ == nullptr) return true;
  const auto all_left = [&](BundlePair pair) {
    if (pair == FabricBundles::kNone) return true;
    const std::size_t b = std::size_t{2} * pair;
    return (*residual_mbps_)[b] >= capacity_mbps_[b] && (*residual_mbps_)[b + 1] >= capacity_mbps_[b + 1];
  };
  BundlePair leaf = FabricBundles::kNone, pod = FabricBundles::kNone;  // checked last
  for (const fabric::GpuId gpu : gpu_of_rank) {
    const FabricBundles::Place& place = fabric_->bundles().place(gpu);
    if (!all_left(place.nic) || (place.leaf != leaf && !all_left(place.leaf)) ||
        (place.pod != pod && !all_left(place.pod))) {
      return false;
    }
    leaf = place.leaf;
    pod = place.pod;
  }
  return true;
}

PlacementCost Scorer::cost_alone(std::span<const fabric::GpuId> gpu_of_rank) {
  const std::vector<double>& up = up_mbps_.empty() ? capacity_mbps_ : up_mbps_;
  return model_->predict(gpu_of_rank, spec_->parallelism, traffic_.traffic, up);
}

Prediction Scorer::predicted_with_counted(std::span<const fabric::GpuId> gpu_of_rank) {
  JobTraffic told = std::exchange(traffic_, traffic_of_job(*spec_, peers_, PeersOf::counted));
  Prediction predicted = prediction(cost_alone(gpu_of_rank));
  traffic_ = std::move(told);
  return predicted;
}

Prediction Scorer::prediction(const PlacementCost& cost) const {
  return prediction_of(*spec_, traffic_, *generation_, cost);
}

}  // namespace railweave::scheduler
