#include "scheduler/collective/placement_cost.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "fabric/base/check.h"
#include "scheduler/collective/collective.h"

namespace railweave::scheduler {

namespace {
constexpr std::uint32_t kNone = FabricBundles::kNone;
constexpr BundlePair kNowhere = 0;     // carries what nothing joins
constexpr double kNoCapacity = 1e250;  // microseconds a byte; infinity times no bytes would be no number
constexpr double kUnreachable = 1e200;
constexpr std::size_t kLanes = 4;
}  // namespace

// NCCL's channels enter and leave a domain rail by rail, whatever the order of ranks.
bool PlacementCostModel::by_rail(const Spot* a, const Spot* b) {
  return a->rail != b->rail ? a->rail < b->rail : a->nic < b->nic;
}

PlacementCostModel::PlacementCostModel(const FabricBundles& bundles, const GpuGeneration& generation)
    : bundles_(bundles), generation_(generation) {
  local_pair_.resize(bundles.bundle_count() / 2);
  local_unit_.resize(bundles.unit_count());
  leaf_group_count_.assign(bundles.leaf_group_count(), 0);
}

// Not seen in this job before. Apart from local_pair(), so that the common case is a comparison.
[[gnu::noinline]] BundlePair PlacementCostModel::add_pair(BundlePair pair) {
  const auto local = static_cast<BundlePair>(pair_of_.size());
  local_pair_[pair] = {job_, local};
  pair_of_.push_back(pair);
  for (std::size_t b = std::size_t{2} * pair; b < std::size_t{2} * pair + 2; ++b) {
    const double mbps = left_mbps_.empty() ? capacity_mbps_[b] : std::min(capacity_mbps_[b], left_mbps_[b]);
    us_per_byte_.push_back(mbps > 0 ? 8 / mbps : kNoCapacity);
  }
  return local;
}

inline BundlePair PlacementCostModel::local_pair(BundlePair pair) {
  if (pair == kNone) return kNone;
  const Numbered& known = local_pair_[pair];
  return known.stamp == job_ ? known.local : add_pair(pair);
}

void PlacementCostModel::number(std::span<const fabric::GpuId> gpu_of_rank) {
  ++job_;
  units_ = 0;
  pair_of_.assign(1, kNone);
  us_per_byte_.assign(2, kNoCapacity);
  spans_sites_ = false;
  spots_.resize(gpu_of_rank.size());
  for (std::size_t r = 0; r < spots_.size(); ++r) {
    const FabricBundles::Place& place = bundles_.place(gpu_of_rank[r]);
    Numbered& unit = local_unit_[place.unit];
    if (unit.stamp != job_) unit = {job_, units_++};
    spots_[r] = {.unit = unit.local,
                 .nvlink = place.domain == kNone ? kNone : local_pair(place.nvlink),
                 .nic = local_pair(place.nic),
                 .leaf = local_pair(place.leaf),
                 .pod = local_pair(place.pod),
                 .host = place.host,
                 .leaf_group = place.leaf_group,
                 .rail = place.rail,
                 .network = place.network,
                 .site = place.site};
    spans_sites_ = spans_sites_ || place.site != spots_.front().site;
  }
  if (spans_sites_) {
    local_wan_.clear();
    for (BundlePair pair = bundles_.first_wan(); pair < bundles_.bundle_count() / 2; ++pair) {
      local_wan_.push_back(local_pair(pair));
    }
  }
  us_per_byte_.resize((us_per_byte_.size() + kLanes - 1) / kLanes * kLanes, 0);
  load_.assign(us_per_byte_.size(), 0);
  pod_count_.assign(pair_of_.size(), 0);
  slot_stamp_.assign(units_, 0);
  slot_of_unit_.resize(units_);
  stamp_ = 0;
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
    for (std::size_t i = 0; i < offsets.size(); ++i) group_[i] = &spots_[base + offsets[i]];
    visit(Members(group_));
  }
}

// One flow: `bytes` of network load or `nvlink_bytes` of NVLink load. The way of BundledPaths.
void PlacementCostModel::add_hop(const Spot& from, const Spot& to, double bytes, double nvlink_bytes) {
  if (from.unit == to.unit) {
    if (from.nvlink == kNone || &from == &to) return;  // PCIe and memory have no bundle
    add(from.nvlink, 0, nvlink_bytes);
    add(to.nvlink, 1, nvlink_bytes);
    return;
  }
  if (from.host == to.host) return;
  if (from.leaf == kNone || to.leaf == kNone) return add(kNowhere, 0, bytes);
  add(from.nic, 0, bytes);
  add(to.nic, 1, bytes);
  if (from.leaf == to.leaf || (from.network != to.network && from.leaf_group == to.leaf_group)) return;
  add(from.leaf, 0, bytes);
  add(to.leaf, 1, bytes);
  if (from.site != to.site) {
    if (from.pod != kNone) add(from.pod, 0, bytes);
    if (to.pod != kNone) add(to.pod, 1, bytes);
    return add_way_between_sites(from.site, to.site, bytes);
  }
  if (from.pod == kNone || to.pod == kNone || from.pod == to.pod) return;
  add(from.pod, 0, bytes);
  add(to.pod, 1, bytes);
}

void PlacementCostModel::add_way_between_sites(std::uint32_t from, std::uint32_t to, double bytes) {
  const FabricBundles::SiteRoute& route = bundles_.site_route(from, to);
  if (route.bundles.empty()) return add(kNowhere, 0, bytes);
  for (const std::uint32_t bundle : route.bundles) {
    add(local_wan_[bundle / 2 - bundles_.first_wan()], bundle % 2, bytes);
  }
}

double PlacementCostModel::wan_us(const Spot& from, const Spot& to) const {
  return from.site == to.site ? 0 : bundles_.site_route(from.site, to.site).latency_us;
}

// Members of each NVLink domain together, domains in order of their first rank, members by rail: sorted_,
// first_of_slot_. Returns the number of domains.
std::uint32_t PlacementCostModel::sort_by_unit(Members members) {
  ++stamp_;
  first_of_slot_.clear();
  slot_of_member_.resize(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::uint32_t unit = members[i]->unit;
    if (slot_stamp_[unit] != stamp_) {
      slot_stamp_[unit] = stamp_;
      slot_of_unit_[unit] = static_cast<std::uint32_t>(first_of_slot_.size());
      first_of_slot_.push_back(0);
    }
    ++first_of_slot_[slot_of_member_[i] = slot_of_unit_[unit]];
  }
  const auto domains = static_cast<std::uint32_t>(first_of_slot_.size());
  least_members_ = *std::ranges::min_element(first_of_slot_);
  std::uint32_t next = 0;
  for (std::uint32_t& slot : first_of_slot_) next += std::exchange(slot, next);
  sorted_.resize(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) sorted_[first_of_slot_[slot_of_member_[i]]++] = members[i];
  for (std::size_t s = domains; s > 0; --s) first_of_slot_[s - 1] = s > 1 ? first_of_slot_[s - 2] : 0;
  first_of_slot_.push_back(static_cast<std::uint32_t>(members.size()));
  if (domains == members.size() || domains == 1) return domains;
  for (std::uint32_t s = 0; s < domains; ++s) {
    const auto from = sorted_.begin() + first_of_slot_[s], to = sorted_.begin() + first_of_slot_[s + 1];
    if (!std::is_sorted(from, to, by_rail)) std::sort(from, to, by_rail);
  }
  return domains;
}

// passes 2: all-reduce; 1: reduce-scatter or all-gather. Returns the domains it spans; so does the next.
std::uint32_t PlacementCostModel::add_ring(Members members, double bytes, double passes, bool in_network) {
  const CollectiveConstants& c = generation_.constants;
  const auto inside = [&](double m) {
    return bytes * (passes == 2 ? nvlink_all_reduce_load(c, generation_.nvls, m) : (m - 1) / m / c.ring_efficiency);
  };
  const std::uint32_t first_unit = members.front()->unit;
  if (std::ranges::all_of(members, [&](const Spot* spot) { return spot->unit == first_unit; })) {
    if (members.front()->nvlink == kNone) return 1;
    const double load = inside(static_cast<double>(members.size()));
    for (const Spot* spot : members) add_both(spot->nvlink, load);
    return 1;
  }
  const std::uint32_t domains = sort_by_unit(members);
  if (domains < members.size()) {
    std::uint32_t size = 0;
    double load = 0;
    for (std::uint32_t s = 0; s < domains; ++s) {
      const std::uint32_t own = first_of_slot_[s + 1] - first_of_slot_[s];
      if (own != size) load = inside(size = own);
      if (sorted_[first_of_slot_[s]]->nvlink == kNone || load == 0) continue;
      for (std::uint32_t i = first_of_slot_[s]; i < first_of_slot_[s + 1]; ++i) add_both(sorted_[i]->nvlink, load);
    }
  }
  if (spans_sites_) {
    double round_us = 0;
    for (std::uint32_t s = 0; s < domains; ++s) {
      round_us += wan_us(*sorted_[first_of_slot_[s]], *sorted_[first_of_slot_[s + 1 == domains ? 0 : s + 1]]);
    }
    far_us_ = std::max(far_us_, passes * round_us);
  }
  // Where switches of the network reduce, what a ring carries round twice passes each adapter once.
  const double hop =
      bytes * network_all_reduce_load(c, generation_.nvls, least_members_, domains) * (in_network ? 1 : passes) / 2;
  for (std::uint32_t s = 0; s < domains; ++s) {
    const std::uint32_t to = s + 1 == domains ? 0 : s + 1;
    for (std::uint32_t ring = 0; ring < least_members_; ++ring) {
      add_hop(*sorted_[first_of_slot_[s] + ring], *sorted_[first_of_slot_[to] + ring], hop, 0);
    }
  }
  return domains;
}

// Every member sends bytes / n to every member. What is bound for another rail crosses NVLink first (NCCL's PXN), so
// that a leaf's uplinks carry what leaves its leaf group alone.
std::uint32_t PlacementCostModel::add_all_to_all(Members members, double bytes) {
  const CollectiveConstants& c = generation_.constants;
  const std::uint32_t domains = sort_by_unit(members);
  count(members);
  const auto n = static_cast<double>(members.size());
  const double each = bytes / n, on_network = each / c.network_efficiency, on_nvlink = each / c.ring_efficiency;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Spot& spot = *members[i];
    const std::uint32_t slot = slot_of_member_[i];
    const double near = first_of_slot_[slot + 1] - first_of_slot_[slot];
    if (near > 1 && spot.nvlink != kNone) add_both(spot.nvlink, (near - 1) * on_nvlink);
    if (near == n) continue;
    if (spot.leaf == kNone) {
      add(kNowhere, 0, each);
      continue;
    }
    add_both(spot.nic, (n - near) * on_network);
    const double beyond_leaf = n - std::max<double>(near, leaf_group_count_[spot.leaf_group]);
    if (beyond_leaf > 0) add_both(spot.leaf, beyond_leaf * on_network);
    const double beyond_pod = spot.pod == kNone ? 0 : n - std::max<double>(near, pod_count_[spot.pod]);
    if (beyond_pod > 0) add_both(spot.pod, beyond_pod * on_network);
  }
  if (spans_sites_) add_all_to_all_between_sites(members, members, on_network);
  uncount(members);
  return domains;
}

void PlacementCostModel::count(Members members) {
  for (const Spot* spot : members) {
    ++leaf_group_count_[spot->leaf_group];
    if (spot->pod != kNone) ++pod_count_[spot->pod];
  }
}

void PlacementCostModel::uncount(Members members) {
  for (const Spot* spot : members) {
    leaf_group_count_[spot->leaf_group] = 0;
    if (spot->pod != kNone) pod_count_[spot->pod] = 0;
  }
}

// Every member sends a part of its bytes to each of the first `servers` members.
std::uint32_t PlacementCostModel::add_pushes(Members members, double bytes, std::uint32_t servers) {
  const CollectiveConstants& c = generation_.constants;
  const std::uint32_t domains = sort_by_unit(members);
  const std::size_t serving = std::min<std::size_t>(servers, members.size());
  const double each = bytes / static_cast<double>(serving);
  // From each member to the servers, then from all members to each server: how many are how near.
  for (const bool inwards : {false, true}) {
    const Members far = inwards ? members : members.first(serving), near = inwards ? members.first(serving) : members;
    count(far);
    slot_count_.assign(domains, 0);
    for (std::size_t i = 0; i < far.size(); ++i) ++slot_count_[slot_of_member_[i]];
    const auto n = static_cast<double>(far.size());
    for (std::size_t i = 0; i < near.size(); ++i) {
      const Spot& spot = *near[i];
      const double inside = slot_count_[slot_of_member_[i]];
      const double others = inside - (inwards || i < serving ? 1 : 0);  // itself is one of them
      if (others > 0 && spot.nvlink != kNone) add(spot.nvlink, inwards, others * each / c.ring_efficiency);
      if (inside == n) continue;
      if (spot.leaf == kNone) {
        add(kNowhere, 0, each);
        continue;
      }
      const double on_network = each / c.network_efficiency;
      add(spot.nic, inwards, (n - inside) * on_network);
      const double beyond_leaf = n - std::max<double>(inside, leaf_group_count_[spot.leaf_group]);
      if (beyond_leaf > 0) add(spot.leaf, inwards, beyond_leaf * on_network);
      const double beyond_pod = spot.pod == kNone ? 0 : n - std::max<double>(inside, pod_count_[spot.pod]);
      if (beyond_pod > 0) add(spot.pod, inwards, beyond_pod * on_network);
    }
    uncount(far);
  }
  if (spans_sites_) {
    add_all_to_all_between_sites(members, members.first(serving), each / c.network_efficiency);
  }
  return domains;
}

// What the group's members have put on bundles so far.
void PlacementCostModel::note_loads(CommGroup group, bool back) {
  GroupLoad& into = loads_->groups[static_cast<std::size_t>(group)];
  into.phases.assign(back ? 2 : 1, {});
  for (std::uint32_t i = 0; i < std::uint32_t{2} * static_cast<std::uint32_t>(pair_of_.size()); ++i) {
    if (load_[i] <= 0 || i / 2 == kNowhere) continue;
    const std::uint32_t bundle = 2 * pair_of_[i / 2] + i % 2;
    into.phases[0].push_back({bundle, load_[i], 1});
    if (back) into.phases[1].push_back({bundle ^ 1U, load_[i], 1});
  }
}

// `bytes` from each to each. Placement keeps groups that do so in one site; a placement that is given need not.
void PlacementCostModel::add_all_to_all_between_sites(Members from_all, Members to_all, double bytes) {
  std::map<std::uint32_t, double> senders, receivers;
  for (const Spot* spot : from_all) ++senders[spot->site];
  for (const Spot* spot : to_all) ++receivers[spot->site];
  for (const auto& [from, sending] : senders) {
    for (const auto& [to, receiving] : receivers) {
      if (from == to) continue;
      add_way_between_sites(from, to, sending * receiving * bytes);
      far_us_ = std::max(far_us_, bundles_.site_route(from, to).latency_us);
    }
  }
}

GroupCost PlacementCostModel::finish(CommGroup group, const GroupTraffic& traffic, std::uint64_t members,
                                     std::uint32_t domains) {
  GroupCost cost{.domains = domains};
  const bool back = there_and_back(group, traffic);
  if (loads_ != nullptr) note_loads(group, back);
  // Four maxima side by side: one would wait for itself at every step.
  static_assert(kLanes == 4);
  double a = 0, b = 0, c = 0, d = 0;
  for (std::size_t i = 0; i < load_.size(); i += kLanes) {
    a = std::max(a, load_[i] *= us_per_byte_[i]);
    b = std::max(b, load_[i + 1] *= us_per_byte_[i + 1]);
    c = std::max(c, load_[i + 2] *= us_per_byte_[i + 2]);
    d = std::max(d, load_[i + 3] *= us_per_byte_[i + 3]);
  }
  cost.transfer_us = std::max(std::max(a, b), std::max(c, d));
  const auto worst = static_cast<std::size_t>(std::ranges::find(load_, cost.transfer_us) - load_.begin());
  std::ranges::fill(load_, 0);
  if (cost.transfer_us > kUnreachable) {
    cost.transfer_us = std::numeric_limits<double>::infinity();
    cost.reachable = false;
  }
  if (cost.transfer_us > 0 && worst / 2 != kNowhere) {
    cost.bundle = 2 * pair_of_[worst / 2] + static_cast<std::uint32_t>(worst % 2);
    cost.bundle_kind = bundles_.kind(cost.bundle);
  }
  if (back) cost.transfer_us *= 2;
  cost.time_us = group_time_us(generation_, group, traffic, members, domains, cost.transfer_us);
  // Less than one a step where exchanges are less frequent (local SGD): their delay is far longer than a usual call.
  const double far_us = (traffic.calls > 0 ? traffic.calls : 1) * (back ? 2 : 1) * far_us_;
  cost.time_us += far_us;
  if (loads_ != nullptr) {
    loads_->groups[static_cast<std::size_t>(group)].domains = domains;
    loads_->groups[static_cast<std::size_t>(group)].far_us = far_us;
  }
  return cost;
}

double group_time_us(const GpuGeneration& generation, CommGroup group, const GroupTraffic& traffic,
                     std::uint64_t members, std::uint32_t domains, double transfer_us) {
  const double calls = std::max(traffic.calls, 1.0);
  if (there_and_back(group, traffic)) {  // each a message between two
    return 2 * calls *
           call_us(generation.constants, generation.nvls, 1, std::min(domains, 2U), traffic.bytes / calls,
                   transfer_us / 2 / calls, 1);
  }
  const double passes = group == CommGroup::context || group == CommGroup::expert ? 1 : 2;
  const std::uint64_t inside = (members + domains - 1) / domains;
  return calls * call_us(generation.constants, generation.nvls, inside, domains, traffic.bytes / calls,
                         transfer_us / calls, passes);
}

GroupCost PlacementCostModel::cost_of(CommGroup group, const GroupTraffic& traffic) {
  if (traffic.bytes <= 0) return {};
  std::uint32_t domains = 0;
  std::uint64_t members = 0;
  far_us_ = 0;
  const double passes = group == CommGroup::context || group == CommGroup::expert ? 1 : 2;
  const bool gradients = group == CommGroup::data || group == CommGroup::expert_data;
  const bool in_network = gradients && traffic.exchange == GradientExchange::in_network;
  for_each_group(group, [&](Members all) {
    members = all.size();
    if (group == CommGroup::pipeline) {
      const CollectiveConstants& c = generation_.constants;
      for (std::size_t i = 0; i + 1 < all.size(); ++i) {
        domains = std::max(domains, all[i]->unit == all[i + 1]->unit ? 1U : 2U);
        if (spans_sites_) far_us_ = std::max(far_us_, wan_us(*all[i], *all[i + 1]));
        add_hop(*all[i], *all[i + 1], traffic.bytes / c.network_efficiency, traffic.bytes / c.ring_efficiency);
      }
    } else if (group == CommGroup::expert) {
      domains = std::max(domains, add_all_to_all(all, traffic.bytes));
    } else if (there_and_back(group, traffic)) {
      domains = std::max(domains, add_pushes(all, traffic.bytes, traffic.servers));
    } else {
      domains = std::max(domains, add_ring(all, traffic.bytes, passes, in_network));
    }
  });
  if (domains == 0) return {};
  return finish(group, traffic, members, domains);
}

PlacementCost PlacementCostModel::predict(std::span<const fabric::GpuId> gpu_of_rank, const Parallelism& parallelism,
                                          const TrafficSpec& traffic, std::span<const double> capacity_mbps,
                                          std::span<const double> left_mbps, LinkTraffic* loads) {
  RAILWEAVE_CHECK(gpu_of_rank.size() == rank_count(parallelism), "every rank has a GPU");
  RAILWEAVE_CHECK(capacity_mbps.size() == bundles_.bundle_count(), "capacities are by bundle");
  RAILWEAVE_CHECK(left_mbps.empty() || left_mbps.size() == capacity_mbps.size(), "what is left is by bundle");
  parallelism_ = parallelism;
  capacity_mbps_ = capacity_mbps;
  left_mbps_ = left_mbps;
  loads_ = loads;
  number(gpu_of_rank);
  PlacementCost cost;
  for (std::size_t g = 0; g < kCommGroups; ++g) {
    const auto group = static_cast<CommGroup>(g);
    cost.groups[g] = cost_of(group, traffic_of_group(traffic, group));
    cost.total_us += cost.groups[g].time_us;
  }
  return cost;
}

PlacementCost placement_cost(const fabric::FabricView& view, const fabric::Locality& locality, const GpuPorts& ports,
                             const GpuGeneration& generation, std::span<const fabric::GpuId> gpu_of_rank,
                             const Parallelism& parallelism, const TrafficSpec& traffic,
                             std::span<const double> residual_mbps) {
  const FabricBundles bundles(view.topology(), locality, ports);
  const auto capacities = residual_mbps.empty() ? bundles.capacities(fabric::link_capacities_mbps(view))
                                                : bundles.capacities(residual_mbps);
  return PlacementCostModel(bundles, generation).predict(gpu_of_rank, parallelism, traffic, capacities);
}

}  // namespace railweave::scheduler
