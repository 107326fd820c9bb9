#include "services/railweave/lab/replay/flow_period.h"

#include <array>

#include "scheduler/collective/job_flows.h"
#include "scheduler/placement/score/job_traffic.h"

namespace railweave::cli {

using namespace scheduler;

std::optional<double> flow_period_us(const PlacementFabric& fabric, const PathModel& paths,
                                     std::span<const double> bundle_mbps, const JobSpec& spec,
                                     std::span<const fabric::GpuId> gpu_of_rank, const BackgroundFlows* background) {
  const JobTraffic traffic = traffic_of_job(spec);
  const GpuGeneration& generation = generation_of(fabric, gpu_of_rank);
  PlacementCostModel model(fabric.bundles(), generation);
  const PlacementCost cost = model.predict(gpu_of_rank, spec.parallelism, traffic.traffic, bundle_mbps);
  std::array<double, kCommGroups> us{};
  for (std::size_t g = 0; g < kCommGroups; ++g) {
    const auto group = static_cast<CommGroup>(g);
    us[g] = cost.groups[g].time_us;
    if (cost.groups[g].domains < 2) continue;  // on NVLink alone
    const auto flows =
        job_flows(fabric.bundles(), gpu_of_rank, spec.parallelism, traffic.traffic, group, generation.nvls);
    const auto transfer_us = routed_transfer_us(paths, gpu_of_rank, flows, generation, background);
    if (!transfer_us) return std::nullopt;
    us[g] = group_time_us(generation, group, traffic_of_group(traffic.traffic, group),
                          group_size(spec.parallelism, group), cost.groups[g].domains, *transfer_us);
  }
  return period_us(spec, prediction_of(spec, traffic, generation, us));
}

}  // namespace railweave::cli
