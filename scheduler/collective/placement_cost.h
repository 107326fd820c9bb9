// What a placement costs: the communication time per step of each of a job's groups, without routes and without a
// solver, so that a placer can score several candidates of thousands of GPUs in milliseconds.
//
// How: the flows of one kind of group run at once and carry the same bytes, so the slowest ends when the most loaded
// bundle of links (fabric_bundles.h) has carried its bytes: max over bundles of bytes / capacity, which is what max-min
// fair rates give for flows weighted by their bytes. So flows are never listed: each rank adds what it sends to at most
// eight sums. Rings are built domain by domain (one per rail of the domain with fewest members, as NCCL's channels
// are), all-to-all by counting a group's members by domain, leaf group and pod. O(ranks) per kind of group.
//
// Between sites: bytes load long-haul links like any bundle, and a call also waits for the delay of light. A ring's
// chunks travel around once for each pass, so an all-reduce over two sites, with two crossings a round, waits four
// times the one-way delay; a message between stages waits once. Windows are assumed to be large enough for the
// long-haul links (rate x round-trip time).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "scheduler/collective/assumed_algorithm.h"
#include "scheduler/collective/calibration.h"
#include "scheduler/collective/comm_group.h"
#include "scheduler/collective/domain_members.h"
#include "scheduler/collective/fabric_bundles.h"
#include "scheduler/collective/job_bundles.h"
#include "scheduler/collective/link_traffic.h"
#include "scheduler/job/job_spec.h"
#include "scheduler/job/model.h"

namespace railweave::scheduler {

struct GroupCost {
  double time_us = 0;                           // per step: all calls
  double transfer_us = 0;                       // part of it: bytes on the most loaded bundle
  std::uint32_t bundle = FabricBundles::kNone;  // that bundle
  FabricBundles::Kind bundle_kind = FabricBundles::Kind::nvlink;
  std::uint32_t domains = 0;  // NVLink domains that the widest group of the kind spans
  bool reachable = true;      // false: bytes on a bundle without capacity; times are infinite
  AssumedAlgorithm algorithm = AssumedAlgorithm::none;
};

struct PlacementCost {
  std::array<GroupCost, kCommGroups> groups;
  double total_us = 0;  // of all groups, one after the other
  // What it takes of the uplinks of leaves and pods and of long-haul links, which other jobs share: the time that its
  // bytes take on each, times the GPUs behind it, so that scarce uplinks count more.
  double uplink_gpu_us = 0;
  double unevenness_us = 0;  // root of the sum of squares of the times of all bundles: tells equal maxima apart
  [[nodiscard]] const GroupCost& of(CommGroup group) const { return groups[static_cast<std::size_t>(group)]; }
};

// The time of all calls of a step: of their bytes (transfer_us) and of what each call waits for besides. members: of
// each group of the kind; domains: NVLink domains that the widest one spans.
double group_time_us(const GpuGeneration& generation, CommGroup group, const GroupTraffic& traffic,
                     std::uint64_t members, std::uint32_t domains, double transfer_us);

// Not thread-safe: it keeps scratch memory between calls; one per thread. Borrows the bundles.
class PlacementCostModel {
 public:
  PlacementCostModel(const FabricBundles& bundles, const GpuGeneration& generation);

  // Which parts of the network are connected now; borrowed. Until then, as where every link is up.
  void set_parts(const NetworkParts& parts) { parts_ = &parts; }

  // gpu_of_rank: a GPU of its own for each rank of the parallelism. capacity_mbps: FabricBundles::capacities() of the
  // whole fabric or of its residual capacities. residual_mbps: by bundle as well; where it is less, it counts; empty:
  // it never is. loads: filled with the load of each group on bundles, in bytes divided by the share of the nominal
  // rate that their carriers reach.
  PlacementCost predict(std::span<const fabric::GpuId> gpu_of_rank, const Parallelism& parallelism,
                        const TrafficSpec& traffic, std::span<const double> capacity_mbps,
                        std::span<const double> residual_mbps = {}, LinkTraffic* loads = nullptr);
  // Two ranks of the last placement that have to reach each other and do not; none: only capacities may be missing.
  [[nodiscard]] std::optional<std::pair<std::uint32_t, std::uint32_t>> cut() const;

 private:
  template <class Visit>
  void for_each_group(CommGroup group, Visit visit);
  void add_all_to_all_between_sites(Members from_all, Members to_all, double bytes);
  [[nodiscard]] bool add_cut(Members from_all, Members to_all, double bytes);
  [[nodiscard]] double wan_us(const Spot& from, const Spot& to) const;
  std::uint32_t add_ring(Members members, double bytes, double passes, bool in_network);
  std::uint32_t add_all_to_all(Members members, double bytes);
  std::uint32_t add_pushes(Members members, double bytes, std::uint32_t servers);
  void count(Members members);
  void uncount(Members members);
  GroupCost finish(CommGroup group, const GroupTraffic& traffic, std::uint64_t members, std::uint32_t domains);
  GroupCost cost_of(CommGroup group, const GroupTraffic& traffic);
  GroupCost cost_of_roles(std::size_t ranks, const TrafficSpec& traffic);

  const FabricBundles& bundles_;
  const NetworkParts* parts_;
  GpuGeneration generation_;

  // Of one job.
  Parallelism parallelism_;
  std::vector<fabric::GpuId> with_peers_;  // its GPUs, then those of its peers; empty: it has none
  LinkTraffic* loads_ = nullptr;
  JobBundles job_;

  // Of one group at a time.
  std::vector<const Spot*> group_;
  DomainMembers domains_;
  std::vector<std::uint32_t> leaf_group_count_, pod_count_;  // members by leaf group, and by the job's number of a pod
  std::vector<std::uint32_t> slot_count_;
  std::vector<std::uint32_t> cut_checked_;  // by unit: the last cut_stamp_ at which a sender of it was looked at
  std::uint32_t cut_stamp_ = 0;
  double uplink_gpu_us_ = 0, squares_ = 0;  // of all groups
  bool in_network_ = false;                 // the switches of the network reduce for some group of the kind
  double far_us_ = 0;  // what a call waits for long-haul links: of the group of the kind that waits longest
};

// One prediction from scratch, for a command line or a test: deriving the bundles takes tens of milliseconds at 100,000
// GPUs. residual_mbps: by fabric::DirectedLink; empty: nothing else runs.
PlacementCost placement_cost(const fabric::FabricView& view, const fabric::Locality& locality, const GpuPorts& ports,
                             const GpuGeneration& generation, std::span<const fabric::GpuId> gpu_of_rank,
                             const Parallelism& parallelism, const TrafficSpec& traffic,
                             std::span<const double> residual_mbps = {});

}  // namespace railweave::scheduler
