#include "services/railweave/lab/replay/contention.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "scheduler/collective/traffic.h"
#include "scheduler/collective/training_step.h"
#include "scheduler/placement/score/job_traffic.h"

namespace railweave::cli {

using namespace scheduler;

Contention::Contention(const PlacementFabricPtr& fabric)
    : fabric_(fabric),
      generation_(generation_of(*fabric)),
      capacity_mbps_(fabric->capacities_mbps(fabric::FabricView(fabric->topology_ptr()))),
      model_(fabric->bundles(), generation_),
      senders_(fabric->bundles().bundle_count()) {}

void Contention::start(std::uint64_t job, const JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank) {
  const auto& topology = fabric_->topology();
  const auto host = topology.host(gpu_of_rank.front());
  if (std::ranges::all_of(gpu_of_rank, [&](auto gpu) { return topology.host(gpu) == host; })) return;
  Sending sending{.model = spec.model ? *spec.model : assumed_model(spec.parallelism),
                  .parallelism = spec.parallelism,
                  .traffic = {},
                  .alone = {}};
  const TrafficSpec traffic = traffic_of(sending.model, spec.parallelism);
  sending.alone = model_.predict(gpu_of_rank, spec.parallelism, traffic, capacity_mbps_, {}, &sending.traffic);
  sending.step_us = training_step(sending.model, spec.parallelism, generation_, sending.alone).step_us;
  if (!std::isfinite(sending.step_us)) return;
  senders_.add(job, sending.traffic, sending.step_us);
  sending_.emplace(job, std::move(sending));
}

void Contention::end(std::uint64_t job) {
  if (sending_.erase(job) > 0) senders_.remove(job);
}

Contention::Slowdown Contention::slowdown(std::uint64_t job) const {
  const auto at = sending_.find(job);
  if (at == sending_.end()) return {};
  const Sending& sending = at->second;
  std::array<double, kCommGroups> us{};
  double alone_us = 0, beside_us = 0;
  for (std::size_t g = 0; g < kCommGroups; ++g) {
    const GroupLoad& load = sending.traffic.groups[g];
    us[g] = sending.alone.groups[g].time_us;
    alone_us += us[g];
    if (!load.phases.empty()) {
      const double more =
          phases_time(load, capacity_mbps_, &senders_, job).us - phases_time(load, capacity_mbps_, nullptr).us;
      us[g] += std::max(0.0, more);
    }
    beside_us += us[g];
  }
  const double step_us = training_step(sending.model, sending.parallelism, generation_, us).step_us;
  return {alone_us > 0 ? beside_us / alone_us : 1, sending.step_us > 0 ? step_us / sending.step_us : 1};
}

std::vector<std::uint64_t> Contention::jobs() const {
  std::vector<std::uint64_t> all;
  for (const auto& [job, sending] : sending_) all.push_back(job);
  return all;
}

}  // namespace railweave::cli
