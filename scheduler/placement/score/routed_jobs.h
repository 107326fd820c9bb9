// Places and placed jobs on given forwarding tables: what a job's place comes to there, beside the jobs that were added. For
// whoever has tables and no service: the laboratory, benchmarks and tests. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fabric/routing/plane/forwarding_tables.h"
#include "scheduler/placement/score/bundle_traffic.h"
#include "scheduler/placement/score/route_scorer.h"

namespace railweave::scheduler {

class RoutedJobs final : public RouteScorer {
 public:
  // Borrows the tables, which are for this view of the fabric.
  RoutedJobs(PlacementFabricPtr fabric, const fabric::FabricView& view, const fabric::ForwardingTables& tables);

  void set_peers(const PeerGpus& peers) {
    peers_ = peers;
    bundles_.set_peers(peers);
  }
  void add(std::uint64_t job, const JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank);
  void remove(std::uint64_t job) { senders_.remove(job); }

  // Always known.
  [[nodiscard]] std::optional<Contention> contention(const JobSpec& spec,
                                                     std::span<const fabric::GpuId> gpu_of_rank) override;
  [[nodiscard]] std::uint64_t asked() const { return asked_; }  // since construction

 private:
  [[nodiscard]] BundleTraffic::Load load_of(const JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank);

  PlacementFabricPtr fabric_;
  PeerGpus peers_;
  fabric::PathWalker walker_;
  BundleTraffic bundles_;
  std::vector<double> capacity_mbps_;  // by link of routed_traffic.h
  LinkSenders senders_;
  std::uint64_t asked_ = 0;
};

}  // namespace railweave::scheduler
