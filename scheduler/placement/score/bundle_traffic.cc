#include "scheduler/placement/score/bundle_traffic.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "fabric/base/check.h"

namespace railweave::scheduler {

BundleTraffic::BundleTraffic(PlacementFabricPtr fabric)
    : fabric_(std::move(fabric)),
      senders_(fabric_->bundles().bundle_count()),
      capacity_mbps_(fabric_->nominal_mbps().begin(), fabric_->nominal_mbps().end()),
      residual_mbps_(
          std::make_shared<std::vector<double>>(capacity_mbps_.size(), std::numeric_limits<double>::infinity())) {}

void BundleTraffic::set_capacities(std::vector<double> bundle_mbps) {
  RAILWEAVE_CHECK(bundle_mbps.size() == capacity_mbps_.size(), "capacities are by bundle");
  capacity_mbps_ = std::move(bundle_mbps);
  for (std::uint32_t bundle = 0; bundle < capacity_mbps_.size(); ++bundle) {
    if (!senders_.on(bundle).empty()) refresh({&bundle, 1});
  }
}

BundleTraffic::Load BundleTraffic::load_of(const JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank) {
  const GpuGeneration* generation = &generation_of(*fabric_, gpu_of_rank);
  auto known = std::ranges::find(models_, generation, [](const auto& entry) { return entry.first; });
  if (known == models_.end()) {
    models_.emplace_back(generation, std::make_unique<PlacementCostModel>(fabric_->bundles(), *generation));
    known = models_.end() - 1;
  }
  const JobTraffic sent = traffic_of_job(spec, peers_);
  Load load;
  const PlacementCost alone =
      known->second->predict(gpu_of_rank, spec.parallelism, sent.traffic, fabric_->nominal_mbps(), {}, &load.traffic);
  load.period_us = scheduler::period_us(spec, sent, *generation, alone);
  return load;
}

void BundleTraffic::add(std::uint64_t job, const JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank) {
  Load load = load_of(spec, gpu_of_rank);
  // NVLink is not shared with other jobs.
  for (GroupLoad& group : load.traffic.groups) {
    for (auto& phase : group.phases) {
      std::erase_if(
          phase, [&](const LinkBytes& on) { return fabric_->bundles().kind(on.link) == FabricBundles::Kind::nvlink; });
    }
  }
  senders_.add(job, load.traffic, load.period_us);
  refresh(senders_.links(job));
}

void BundleTraffic::remove(std::uint64_t job) {
  const std::vector<std::uint32_t> links(senders_.links(job).begin(), senders_.links(job).end());
  senders_.remove(job);
  refresh(links);
}

void BundleTraffic::refresh(std::span<const std::uint32_t> bundles) {
  for (const std::uint32_t bundle : bundles) {
    const bool free = senders_.on(bundle).empty();
    (*residual_mbps_)[bundle] =
        free ? std::numeric_limits<double>::infinity() : senders_.residual_mbps(bundle, capacity_mbps_[bundle], 1);
  }
}

}  // namespace railweave::scheduler
