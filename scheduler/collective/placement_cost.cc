#include "scheduler/collective/placement_cost.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fabric/base/check.h"
#include "scheduler/collective/collective.h"

namespace railweave::scheduler {

namespace {
constexpr std::uint32_t kNone = FabricBundles::kNone;

// NCCL's channels enter and leave a domain rail by rail, whatever the order of ranks.
bool by_rail(const FabricBundles::Place* a, const FabricBundles::Place* b) {
  return a->rail != b->rail ? a->rail < b->rail : a->nic < b->nic;
}
}  // namespace

std::string_view to_string(CommGroup group) {
  switch (group) {
    case CommGroup::tensor:
      return "tensor";
    case CommGroup::context:
      return "context";
    case CommGroup::expert:
      return "expert";
    case CommGroup::data:
      return "data";
    case CommGroup::expert_data:
      return "expertData";
    case CommGroup::pipeline:
      return "pipeline";
  }
  return "";
}

PlacementCostModel::PlacementCostModel(const FabricBundles& bundles, const GpuGeneration& generation)
    : bundles_(bundles), generation_(generation) {
  loads_.sum.assign(bundles.bundle_count(), 0);
  unit_stamp_.assign(bundles.unit_count(), 0);
  unit_slot_.assign(bundles.unit_count(), 0);
  leaf_group_count_.assign(bundles.leaf_group_count(), 0);
  pod_count_.assign(bundles.bundle_count() / 2, 0);
}

// Calls visit(members) for every group of the kind. Ranks count tensor fastest, then context, expert, data, pipeline
// (job_spec.h); a group is all combinations of the coordinates it varies.
template <class Visit>
void PlacementCostModel::for_each_group(CommGroup group, Visit visit) {
  const Parallelism& p = parallelism_;
  const std::array<std::uint64_t, 5> size{p.tensor, p.context, p.expert, p.data, p.pipeline};
  std::array<bool, 5> varied{};
  switch (group) {
    case CommGroup::tensor:
      varied[0] = true;
      break;
    case CommGroup::context:
      varied[1] = true;
      break;
    case CommGroup::expert:
      varied[2] = true;
      break;
    case CommGroup::data:
      varied[1] = varied[2] = varied[3] = true;
      break;
    case CommGroup::expert_data:
      varied[1] = varied[3] = true;
      break;
    case CommGroup::pipeline:
      varied[4] = true;
      break;
  }
  std::vector<std::uint64_t> bases{0}, offsets{0};
  std::uint64_t stride = 1;
  for (std::size_t i = 0; i < size.size(); ++i) {
    auto& list = varied[i] ? offsets : bases;
    const std::size_t before = list.size();
    for (std::uint64_t c = 1; c < size[i]; ++c) {
      for (std::size_t j = 0; j < before; ++j) list.push_back(list[j] + c * stride);
    }
    stride *= size[i];
  }
  if (offsets.size() < 2) return;
  group_.resize(offsets.size());
  for (const std::uint64_t base : bases) {
    for (std::size_t i = 0; i < offsets.size(); ++i) group_[i] = places_[base + offsets[i]];
    visit(std::span<const Place* const>(group_));
  }
}

void PlacementCostModel::add_inside(const Place& place, double bytes) {
  if (place.domain == kNone) return;  // through PCIe or memory, which has no bundle
  loads_.add(2 * place.nvlink, bytes);
  loads_.add(2 * place.nvlink + 1, bytes);
}

// One flow: `bytes` of network load or `nvlink_bytes` of NVLink load. The way of BundledPaths.
void PlacementCostModel::add_hop(const Place& from, const Place& to, double bytes, double nvlink_bytes) {
  if (from.unit == to.unit) {
    if (from.domain == kNone || &from == &to) return;
    loads_.add(2 * from.nvlink, nvlink_bytes);
    loads_.add(2 * to.nvlink + 1, nvlink_bytes);
    return;
  }
  if (from.host == to.host) return;
  if (from.nic == kNone || to.nic == kNone || from.leaf == kNone || to.leaf == kNone) {
    loads_.add(2 * from.nvlink, std::numeric_limits<double>::infinity());  // nothing joins them
    return;
  }
  loads_.add(2 * from.nic, bytes);
  loads_.add(2 * to.nic + 1, bytes);
  if (from.leaf == to.leaf || (from.network != to.network && from.leaf_group == to.leaf_group)) return;
  loads_.add(2 * from.leaf, bytes);
  loads_.add(2 * to.leaf + 1, bytes);
  if (from.pod == kNone || to.pod == kNone || from.pod == to.pod) return;
  loads_.add(2 * from.pod, bytes);
  loads_.add(2 * to.pod + 1, bytes);
}

// Members of each NVLink domain together, domains in order of their first rank, members by rail: sorted_,
// first_of_slot_. Returns the number of domains.
std::uint32_t PlacementCostModel::sort_by_unit(std::span<const Place* const> members) {
  ++stamp_;
  first_of_slot_.clear();
  slot_of_member_.resize(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::uint32_t unit = members[i]->unit;
    if (unit_stamp_[unit] != stamp_) {
      unit_stamp_[unit] = stamp_;
      unit_slot_[unit] = static_cast<std::uint32_t>(first_of_slot_.size());
      first_of_slot_.push_back(0);
    }
    ++first_of_slot_[slot_of_member_[i] = unit_slot_[unit]];
  }
  const auto domains = static_cast<std::uint32_t>(first_of_slot_.size());
  least_members_ = *std::ranges::min_element(first_of_slot_);
  std::uint32_t next = 0;
  for (std::uint32_t& slot : first_of_slot_) next += std::exchange(slot, next);
  sorted_.resize(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) sorted_[first_of_slot_[slot_of_member_[i]]++] = members[i];
  for (std::size_t s = domains; s > 0; --s) first_of_slot_[s - 1] = s > 1 ? first_of_slot_[s - 2] : 0;
  first_of_slot_.push_back(static_cast<std::uint32_t>(members.size()));
  if (domains < members.size()) {
    for (std::uint32_t s = 0; s < domains; ++s) {
      const auto from = sorted_.begin() + first_of_slot_[s], to = sorted_.begin() + first_of_slot_[s + 1];
      if (!std::is_sorted(from, to, by_rail)) std::sort(from, to, by_rail);
    }
  }
  return domains;
}

// passes 2: all-reduce; 1: reduce-scatter or all-gather.
void PlacementCostModel::add_ring(std::span<const Place* const> members, double bytes, double passes) {
  const std::uint32_t domains = sort_by_unit(members);
  const CollectiveConstants& c = generation_.constants;
  if (domains < members.size()) {
    for (std::uint32_t s = 0; s < domains; ++s) {
      const double m = first_of_slot_[s + 1] - first_of_slot_[s];
      const double load =
          passes == 2 ? nvlink_all_reduce_load(c, generation_.nvls, m) : (m - 1) / m / c.ring_efficiency;
      for (std::uint32_t i = first_of_slot_[s]; i < first_of_slot_[s + 1]; ++i) add_inside(*sorted_[i], bytes * load);
    }
  }
  if (domains < 2) return;
  const double hop = bytes * network_all_reduce_load(c, generation_.nvls, least_members_, domains) * passes / 2;
  for (std::uint32_t ring = 0; ring < least_members_; ++ring) {
    for (std::uint32_t s = 0; s < domains; ++s) {
      const std::uint32_t to = s + 1 == domains ? 0 : s + 1;
      add_hop(*sorted_[first_of_slot_[s] + ring], *sorted_[first_of_slot_[to] + ring], hop, 0);
    }
  }
}

// Every member sends bytes / n to every member. What is bound for another rail crosses NVLink first (NCCL's PXN), so
// that a leaf's uplinks carry what leaves its leaf group alone.
void PlacementCostModel::add_all_to_all(std::span<const Place* const> members, double bytes) {
  const CollectiveConstants& c = generation_.constants;
  sort_by_unit(members);
  for (const Place* place : members) {
    ++leaf_group_count_[place->leaf_group];
    if (place->pod != kNone) ++pod_count_[place->pod];
  }
  const auto n = static_cast<double>(members.size());
  const double each = bytes / n, on_network = each / c.network_efficiency;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Place& place = *members[i];
    const std::uint32_t slot = slot_of_member_[i];
    const double near = first_of_slot_[slot + 1] - first_of_slot_[slot];
    if (near > 1) add_inside(place, (near - 1) * each / c.ring_efficiency);
    if (near == n) continue;
    if (place.nic == kNone || place.leaf == kNone) {
      loads_.add(2 * place.nvlink, std::numeric_limits<double>::infinity());
      continue;
    }
    const auto both_ways = [&](BundlePair pair, double load) {
      loads_.add(2 * pair, load);
      loads_.add(2 * pair + 1, load);
    };
    both_ways(place.nic, (n - near) * on_network);
    const double beyond_leaf = n - std::max<double>(near, leaf_group_count_[place.leaf_group]);
    if (beyond_leaf > 0) both_ways(place.leaf, beyond_leaf * on_network);
    const double beyond_pod = place.pod == kNone ? 0 : n - std::max<double>(near, pod_count_[place.pod]);
    if (beyond_pod > 0) both_ways(place.pod, beyond_pod * on_network);
  }
  for (const Place* place : members) {
    leaf_group_count_[place->leaf_group] = 0;
    if (place->pod != kNone) pod_count_[place->pod] = 0;
  }
}

GroupCost PlacementCostModel::finish(const GroupTraffic& traffic, std::uint64_t members, double passes,
                                     std::uint32_t domains, std::span<const double> capacity) {
  GroupCost cost{.domains = domains};
  for (const std::uint32_t bundle : loads_.touched) {
    const double us = transfer_us(loads_.sum[bundle], capacity[bundle]);
    loads_.sum[bundle] = 0;
    if (us > cost.transfer_us) {
      cost.transfer_us = us;
      cost.bundle = bundle;
    }
  }
  loads_.touched.clear();
  if (cost.bundle != kNone) cost.bundle_kind = bundles_.kind(cost.bundle);
  cost.reachable = std::isfinite(cost.transfer_us);
  const double calls = std::max(traffic.calls, 1.0);
  const std::uint64_t inside = (members + domains - 1) / domains;
  cost.time_us = calls * call_us(generation_.constants, generation_.nvls, inside, domains, traffic.bytes / calls,
                                 cost.transfer_us / calls, passes);
  return cost;
}

GroupCost PlacementCostModel::cost_of(CommGroup group, const GroupTraffic& traffic, std::span<const double> capacity) {
  if (traffic.bytes <= 0) return {};
  std::uint32_t domains = 0;
  std::uint64_t members = 0;
  const double passes = group == CommGroup::context || group == CommGroup::expert ? 1 : 2;
  for_each_group(group, [&](std::span<const Place* const> all) {
    members = all.size();
    if (group == CommGroup::pipeline) {
      const CollectiveConstants& c = generation_.constants;
      for (std::size_t i = 0; i + 1 < all.size(); ++i) {
        domains = std::max(domains, all[i]->unit == all[i + 1]->unit ? 1U : 2U);
        add_hop(*all[i], *all[i + 1], traffic.bytes / c.network_efficiency, traffic.bytes / c.ring_efficiency);
      }
      return;
    }
    if (group == CommGroup::expert) {
      add_all_to_all(all, traffic.bytes);
    } else {
      add_ring(all, traffic.bytes, passes);
    }
    domains = std::max(domains, static_cast<std::uint32_t>(first_of_slot_.size() - 1));
  });
  if (domains == 0) return {};
  if (group != CommGroup::pipeline) return finish(traffic, members, passes, domains, capacity);
  // Forth and back, each a message between two.
  GroupCost cost = finish(traffic, domains, 1, domains, capacity);
  cost.transfer_us *= 2;
  cost.time_us *= 2;
  return cost;
}

PlacementCost PlacementCostModel::predict(std::span<const fabric::GpuId> gpu_of_rank, const Parallelism& parallelism,
                                          const TrafficSpec& traffic, std::span<const double> capacity_mbps) {
  RAILWEAVE_CHECK(gpu_of_rank.size() == rank_count(parallelism), "every rank has a GPU");
  RAILWEAVE_CHECK(capacity_mbps.size() == bundles_.bundle_count(), "capacities are by bundle");
  parallelism_ = parallelism;
  places_.clear();
  for (const fabric::GpuId gpu : gpu_of_rank) places_.push_back(&bundles_.place(gpu));
  const std::array<const GroupTraffic*, kCommGroups> by_group{&traffic.tensor, &traffic.context,     &traffic.expert,
                                                              &traffic.data,   &traffic.expert_data, &traffic.pipeline};
  PlacementCost cost;
  for (std::size_t g = 0; g < kCommGroups; ++g) {
    cost.groups[g] = cost_of(static_cast<CommGroup>(g), *by_group[g], capacity_mbps);
    cost.total_us += cost.groups[g].time_us;
  }
  return cost;
}

}  // namespace railweave::scheduler
