// What a placement costs: the communication time per step of each of a job's groups, without routes and without a
// solver, so that a placer can score several candidates of thousands of GPUs in milliseconds.
//
// How: a job's flows within one kind of group run at once and carry alike, so the slowest ends when the most loaded
// bundle of links (fabric_bundles.h) is through: max over bundles of bytes / capacity, which is what max-min fair rates
// give for flows weighted by their bytes. So flows are never listed: each rank adds what it sends to at most eight
// sums. Rings are built domain by domain (one per rail of the domain with fewest members, as NCCL's channels are),
// all-to-all by counting a group's members by domain, leaf group and pod. O(ranks) per kind of group.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "scheduler/collective/calibration.h"
#include "scheduler/collective/fabric_bundles.h"
#include "scheduler/job/job_spec.h"
#include "scheduler/job/model.h"

namespace railweave::scheduler {

enum class CommGroup : std::uint8_t { tensor, context, expert, data, expert_data, pipeline };
inline constexpr std::size_t kCommGroups = 6;
std::string_view to_string(CommGroup group);  // "tensor", "expertData"

struct GroupCost {
  double time_us = 0;                           // per step: all calls
  double transfer_us = 0;                       // of it: bytes on the most loaded bundle
  std::uint32_t bundle = FabricBundles::kNone;  // that bundle
  FabricBundles::Kind bundle_kind = FabricBundles::Kind::nvlink;
  std::uint32_t domains = 0;  // NVLink domains that the widest group of the kind spans
  bool reachable = true;      // false: bytes on a bundle without capacity; times are infinite
};

struct PlacementCost {
  std::array<GroupCost, kCommGroups> groups;
  double total_us = 0;  // of all groups, one after the other
  [[nodiscard]] const GroupCost& of(CommGroup group) const { return groups[static_cast<std::size_t>(group)]; }
};

// Keeps its memory between calls: one per thread. Borrows bundles.
class PlacementCostModel {
 public:
  PlacementCostModel(const FabricBundles& bundles, const GpuGeneration& generation);

  // gpu_of_rank: as many as the parallelism has ranks. capacity_mbps: FabricBundles::capacities() of the whole fabric
  // or of what other jobs leave of it.
  PlacementCost predict(std::span<const fabric::GpuId> gpu_of_rank, const Parallelism& parallelism,
                        const TrafficSpec& traffic, std::span<const double> capacity_mbps);

 private:
  using Place = FabricBundles::Place;
  struct Loads {  // divided by the efficiency of what carries them
    std::vector<double> sum;
    std::vector<std::uint32_t> touched;
    void add(std::uint32_t bundle, double bytes) {
      if (sum[bundle] == 0) touched.push_back(bundle);
      sum[bundle] += bytes;
    }
  };

  template <class Visit>
  void for_each_group(CommGroup group, Visit visit);
  void add_hop(const Place& from, const Place& to, double bytes, double nvlink_bytes);
  void add_inside(const Place& place, double bytes);
  void add_ring(std::span<const Place* const> members, double bytes, double passes);
  void add_all_to_all(std::span<const Place* const> members, double bytes);
  std::uint32_t sort_by_unit(std::span<const Place* const> members);
  GroupCost finish(const GroupTraffic& traffic, std::uint64_t members, double passes, std::uint32_t domains,
                   std::span<const double> capacity);
  GroupCost cost_of(CommGroup group, const GroupTraffic& traffic, std::span<const double> capacity);

  const FabricBundles& bundles_;
  GpuGeneration generation_;
  Parallelism parallelism_;
  std::vector<const Place*> places_;  // by rank
  Loads loads_;

  // Of one group at a time.
  std::vector<const Place*> group_, sorted_;
  std::vector<std::uint32_t> unit_stamp_, unit_slot_;  // by unit
  std::vector<std::uint32_t> first_of_slot_;           // by domain of the group, in order of first rank
  std::vector<std::uint32_t> slot_of_member_;
  std::vector<std::uint32_t> leaf_group_count_, pod_count_;
  std::uint32_t stamp_ = 0;
  std::uint32_t least_members_ = 0;
};

}  // namespace railweave::scheduler
