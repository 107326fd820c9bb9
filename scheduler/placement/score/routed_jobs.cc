#include "scheduler/placement/score/routed_jobs.h"

#include <utility>

#include "scheduler/collective/routed_traffic.h"

namespace railweave::scheduler {

RoutedJobs::RoutedJobs(PlacementFabricPtr fabric, const fabric::FabricView& view,
                       const fabric::ForwardingTables& tables)
    : fabric_(std::move(fabric)),
      walker_(view, tables),
      bundles_(fabric_),
      capacity_mbps_(routed_capacities_mbps(view, fabric_->bundles(), fabric_->capacities_mbps(view))),
      senders_(capacity_mbps_.size()) {}

BundleTraffic::Load RoutedJobs::load_of(const JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank) {
  auto load = bundles_.load_of(spec, gpu_of_rank);
  const RoutedTrafficInput in{.topology = fabric_->topology(),
                              .walker = walker_,
                              .ports = fabric_->gpu_ports(),
                              .bundles = fabric_->bundles(),
                              .bundle_mbps = fabric_->nominal_mbps()};
  load.traffic = routed_traffic(in, gpu_of_rank, spec.parallelism, traffic_of_job(spec, peers_).traffic,
                                generation_of(*fabric_, gpu_of_rank), load.traffic);
  return load;
}

void RoutedJobs::add(std::uint64_t job, const JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank) {
  const auto load = load_of(spec, gpu_of_rank);
  senders_.add(job, load.traffic, load.period_us);
}

std::optional<Contention> RoutedJobs::contention(const JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank) {
  ++asked_;
  const auto load = load_of(spec, gpu_of_rank);
  const JobTraffic traffic = traffic_of_job(spec, peers_);
  return contention_of({.spec = spec,
                        .traffic = traffic,
                        .generation = generation_of(*fabric_, gpu_of_rank),
                        .loads = load.traffic,
                        .capacity_mbps = capacity_mbps_,
                        .senders = senders_},
                       ContentionBasis::routes);
}

}  // namespace railweave::scheduler
