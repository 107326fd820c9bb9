// A job's ranks on the bundles of a fabric (FabricBundles), numbered from 0 over the job, and what its flows put on
// them: what 4,096 ranks touch then fits into a cache, where the fabric's own numbers are spread over megabytes. Used
// by PlacementCostModel. Keeps its memory between jobs: one per thread. Borrows the bundles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "scheduler/collective/fabric_bundles.h"
#include "scheduler/collective/link_traffic.h"

namespace railweave::scheduler {

// Where a rank is, in the job's own numbers of bundle pairs and units.
struct Spot {
  std::uint32_t unit = 0;
  BundlePair nvlink = FabricBundles::kNone;  // none: no NVLink
  BundlePair nic = FabricBundles::kNone;
  BundlePair leaf = FabricBundles::kNone;
  BundlePair pod = FabricBundles::kNone;
  std::uint32_t host = 0, leaf_group = 0, rail = 0, network = 0, site = 0;
  bool reduces = false;  // as FabricBundles::Place
};
using Members = std::span<const Spot* const>;  // of one group

class JobBundles {
 public:
  explicit JobBundles(const FabricBundles& bundles);

  // The capacities are by bundle; where residual_mbps is less, it counts; empty: it never is. Loads start at 0.
  void set_job(std::span<const fabric::GpuId> gpu_of_rank, std::span<const double> capacity_mbps,
               std::span<const double> residual_mbps, const NetworkParts& parts);
  [[nodiscard]] const std::vector<Spot>& spots() const { return spots_; }  // by rank
  [[nodiscard]] std::uint32_t unit_count() const { return unit_count_; }
  [[nodiscard]] std::size_t pair_count() const { return pair_of_.size(); }
  [[nodiscard]] bool spans_sites() const { return spans_sites_; }
  // Whether one rank's bytes get to another: over a network part that it, or another GPU of the job in its NVLink domain,
  // shares with the other rank (NCCL's PXN); between sites, where both are on a network and links join the sites.
  [[nodiscard]] bool reaches(const Spot& from, const Spot& to) const {
    return !parts_matter_ || from.unit == to.unit || from.host == to.host || reaches_over_parts(from, to);
  }
  [[nodiscard]] bool parts_matter() const { return parts_matter_; }
  // The first two ranks of the job that had to reach each other and do not; none: all do.
  [[nodiscard]] const std::optional<std::pair<std::uint32_t, std::uint32_t>>& cut() const { return cut_; }

  // Loads in bytes, divided by the share of the nominal rate that their carriers reach.
  void add(BundlePair pair, unsigned inwards, double bytes) { load_[std::size_t{2} * pair + inwards] += bytes; }
  void add_both(BundlePair pair, double bytes) {
    load_[std::size_t{2} * pair] += bytes;
    load_[std::size_t{2} * pair + 1] += bytes;
  }
  void add_unreachable(const Spot& from, const Spot& to, double bytes) {
    add(kUnjoined, 0, bytes);
    if (!cut_) cut_.emplace(&from - spots_.data(), &to - spots_.data());
  }
  // One flow: `bytes` of network load or `nvlink_bytes` of NVLink load, on the bundles that BundledPaths lists.
  void add_hop(const Spot& from, const Spot& to, double bytes, double nvlink_bytes);
  void add_between_sites(const Spot& from, const Spot& to, double bytes);

  // Appends the loads as a phase; `back`: and the reverse directions as a second one.
  void append_phases(bool back, GroupLoad& into) const;
  struct Worst {
    double transfer_us = 0;                       // infinite where bytes are on a bundle without capacity
    std::uint32_t bundle = FabricBundles::kNone;  // in the fabric's numbers
    double uplink_gpu_us = 0;  // of leaves' and pods' uplinks and long-haul links: time x GPUs behind
    double squares = 0;        // of the times of all bundles
  };
  // The bundle whose load takes longest. Loads are 0 afterwards.
  Worst take_worst();

 private:
  static constexpr BundlePair kUnjoined = 0;  // carries what no links join
  static constexpr std::size_t kLanes = 4;
  struct Numbered {           // side by side: the fabric is large, and each is looked up once a GPU
    std::uint32_t stamp = 0;  // of the job that the number is of
    std::uint32_t local = 0;
  };
  void set_parts(std::span<const fabric::GpuId> gpu_of_rank, const NetworkParts& parts);
  [[nodiscard]] bool reaches_over_parts(const Spot& from, const Spot& to) const;
  BundlePair local_pair(BundlePair pair);
  BundlePair add_pair(BundlePair pair);

  const FabricBundles& bundles_;
  std::span<const double> capacity_mbps_, residual_mbps_;
  std::vector<Spot> spots_;
  std::vector<BundlePair> pair_of_;                // local pair -> the fabric's
  std::vector<double> us_per_byte_, load_;         // by local bundle
  std::vector<double> gpus_behind_;                // by local bundle; 0 for NVLink and adapters
  std::vector<std::uint32_t> gpus_of_uplink_;      // by the fabric's pair, from the first of a leaf on
  std::vector<Numbered> local_pair_, local_unit_;  // by the fabric's numbers
  std::vector<BundlePair> local_wan_;              // by pair from FabricBundles::first_wan() on
  std::uint32_t job_ = 0, unit_count_ = 0;
  bool spans_sites_ = false;
  bool parts_matter_ = false;  // its ranks are not all in one part
  std::size_t part_words_ = 0;
  std::vector<std::uint64_t> parts_of_rank_, parts_of_unit_;  // sets of NetworkParts::all(), a bit each
  std::optional<std::pair<std::uint32_t, std::uint32_t>> cut_;
};

}  // namespace railweave::scheduler
