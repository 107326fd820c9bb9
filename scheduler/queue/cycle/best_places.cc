#include "scheduler/queue/cycle/best_places.h"

#include <algorithm>

#include "scheduler/queue/cycle/job_shapes.h"

namespace railweave::scheduler {

BestPlaces::BestPlaces(const PlacementFabricPtr& fabric)
    : placer_(fabric), synced_(no_allocations(fabric->topology())) {}

void BestPlaces::set_capacities(const std::vector<double>& bundle_mbps, const std::vector<double>& up_mbps) {
  placer_.set_capacities(bundle_mbps, up_mbps);
  known_.clear();
}

void BestPlaces::set_parts(const std::shared_ptr<const NetworkParts>& parts) {
  placer_.set_parts(parts);
  known_.clear();
}

void BestPlaces::sync(const Allocations& allocations) {
  allocations.for_each_unshared(synced_, [&](std::size_t i) {
    HostAllocation idle = allocations[i];
    idle.used = 0;
    const fabric::HostId host(i);
    if (placer_.tree().allocation(host) == idle) return;
    placer_.tree().set(host, idle);
    known_.clear();
  });
  synced_ = allocations;
}

std::optional<double> BestPlaces::period_us(const JobSpec& spec) {
  const auto known = std::ranges::find_if(known_, [&](const auto& one) { return same_use(one.first, spec); });
  if (known != known_.end()) return known->second;
  std::optional<double> us;
  if (const auto placement = placer_.try_place(spec)) us = placer_.period_us(spec, *placement);
  if (known_.size() == kMaxKnown) known_.clear();
  known_.emplace_back(spec, us);
  return us;
}

}  // namespace railweave::scheduler
