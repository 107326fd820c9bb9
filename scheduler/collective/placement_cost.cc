#include "scheduler/collective/placement_cost.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "fabric/base/check.h"
#include "scheduler/collective/collective.h"
#include "scheduler/collective/role_flows.h"

namespace railweave::scheduler {

namespace {
constexpr std::uint32_t kNone = FabricBundles::kNone;
}  // namespace

PlacementCostModel::PlacementCostModel(const FabricBundles& bundles, const GpuGeneration& generation)
    : bundles_(bundles), parts_(&bundles.parts()), generation_(generation), job_(bundles) {
  leaf_group_count_.assign(bundles.leaf_group_count(), 0);
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
    case CommGroup::roles:
      return;
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
  const std::vector<Spot>& spots = job_.spots();
  group_.resize(offsets.size());
  for (const std::uint64_t base : bases) {
    for (std::size_t i = 0; i < offsets.size(); ++i) group_[i] = &spots[base + offsets[i]];
    visit(Members(group_));
  }
}

double PlacementCostModel::wan_us(const Spot& from, const Spot& to) const {
  return from.site == to.site ? 0 : bundles_.site_route(from.site, to.site).latency_us;
}

// passes 2: all-reduce; 1: reduce-scatter or all-gather. Returns the number of domains that the group spans, as the
// other add functions do.
std::uint32_t PlacementCostModel::add_ring(Members members, double bytes, double passes, bool in_network) {
  const CollectiveConstants& c = generation_.constants;
  const auto ranks = static_cast<double>(members.size());
  double over = 1;  // domains
  const auto inside = [&](double m) {
    return bytes * (passes == 2 ? nvlink_all_reduce_load(c, generation_.nvls, m, ranks, over)
                                : (m - 1) / m / c.ring_efficiency);
  };
  const std::uint32_t first_unit = members.front()->unit;
  if (std::ranges::all_of(members, [&](const Spot* spot) { return spot->unit == first_unit; })) {
    if (members.front()->nvlink == kNone) return 1;
    const double load = inside(static_cast<double>(members.size()));
    for (const Spot* spot : members) job_.add_both(spot->nvlink, load);
    return 1;
  }
  const std::uint32_t domains = domains_.sort(members);
  over = domains;
  if (domains < members.size()) {
    std::uint32_t size = 0;
    double load = 0;
    for (std::uint32_t s = 0; s < domains; ++s) {
      const Members own = domains_.of(s);
      if (own.size() != size) load = inside(size = static_cast<std::uint32_t>(own.size()));
      if (own.front()->nvlink == kNone || load == 0) continue;
      for (const Spot* spot : own) job_.add_both(spot->nvlink, load);
    }
  }
  if (job_.spans_sites()) {
    double round_us = 0;
    for (std::uint32_t s = 0; s < domains; ++s) {
      round_us += wan_us(*domains_.of(s).front(), *domains_.of(s + 1 == domains ? 0 : s + 1).front());
    }
    far_us_ = std::max(far_us_, passes * round_us);
  }
  const std::uint32_t least = domains_.least_size();
  const bool reduced = in_network && std::ranges::all_of(members, [&](const Spot* spot) {
                         return spot->reduces && spot->site == members.front()->site;
                       });
  in_network_ = in_network_ || reduced;
  const std::uint32_t rings = reduced ? least : std::min(least, kMaxAdapters);
  // A half of an all-reduce, a gather or a scatter, goes along rings of whole domains.
  const double half = generation_.nvls ? (over - 1) / over : (ranks - 1) / ranks;
  const double hop = reduced       ? bytes * in_network_reduction_load(c, least)
                     : passes == 2 ? bytes * network_all_reduce_load(c, generation_.nvls, least, ranks, over)
                                   : bytes * half / rings / c.network_efficiency;
  for (std::uint32_t s = 0; s < domains; ++s) {
    const Members from = domains_.of(s), to = domains_.of(s + 1 == domains ? 0 : s + 1);
    for (std::uint32_t ring = 0; ring < rings; ++ring) job_.add_hop(*from[ring], *to[ring], hop, 0);
  }
  return domains;
}

// Every member sends bytes / n to every member. Bytes for another rail cross NVLink first (NCCL's PXN), so that a
// leaf's uplinks carry only what leaves its leaf group.
std::uint32_t PlacementCostModel::add_all_to_all(Members members, double bytes) {
  const CollectiveConstants& c = generation_.constants;
  const std::uint32_t domains = domains_.sort(members);
  if (add_cut(members, members, bytes)) return domains;
  count(members);
  const auto n = static_cast<double>(members.size());
  const double each = bytes / n, on_network = each / c.network_efficiency, on_nvlink = each / c.ring_efficiency;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Spot& spot = *members[i];
    const double near = domains_.size(domains_.slot_of_member(i));
    if (near > 1 && spot.nvlink != kNone) job_.add_both(spot.nvlink, (near - 1) * on_nvlink);
    if (near == n) continue;
    if (spot.leaf == kNone) {
      job_.add_unreachable(spot, spot, each);
      continue;
    }
    job_.add_both(spot.nic, (n - near) * on_network);
    const double beyond_leaf = n - std::max<double>(near, leaf_group_count_[spot.leaf_group]);
    if (beyond_leaf > 0) job_.add_both(spot.leaf, beyond_leaf * on_network);
    const double beyond_pod = spot.pod == kNone ? 0 : n - std::max<double>(near, pod_count_[spot.pod]);
    if (beyond_pod > 0) job_.add_both(spot.pod, beyond_pod * on_network);
  }
  if (job_.spans_sites()) add_all_to_all_between_sites(members, members, on_network);
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
  const std::uint32_t domains = domains_.sort(members);
  const std::size_t serving = std::min<std::size_t>(servers, members.size());
  const double each = bytes / static_cast<double>(serving);
  if (add_cut(members, members.first(serving), each) || add_cut(members.first(serving), members, each)) return domains;
  // From each member to the servers, then from all members to each server: counts how many are in the same domain, leaf
  // group and pod.
  for (const bool inwards : {false, true}) {
    const Members far = inwards ? members : members.first(serving), near = inwards ? members.first(serving) : members;
    count(far);
    slot_count_.assign(domains, 0);
    for (std::size_t i = 0; i < far.size(); ++i) ++slot_count_[domains_.slot_of_member(i)];
    const auto n = static_cast<double>(far.size());
    for (std::size_t i = 0; i < near.size(); ++i) {
      const Spot& spot = *near[i];
      const double inside = slot_count_[domains_.slot_of_member(i)];
      const double others = inside - (inwards || i < serving ? 1 : 0);  // itself is one of them
      if (others > 0 && spot.nvlink != kNone) job_.add(spot.nvlink, inwards, others * each / c.ring_efficiency);
      if (inside == n) continue;
      if (spot.leaf == kNone) {
        job_.add_unreachable(spot, spot, each);
        continue;
      }
      const double on_network = each / c.network_efficiency;
      job_.add(spot.nic, inwards, (n - inside) * on_network);
      const double beyond_leaf = n - std::max<double>(inside, leaf_group_count_[spot.leaf_group]);
      if (beyond_leaf > 0) job_.add(spot.leaf, inwards, beyond_leaf * on_network);
      const double beyond_pod = spot.pod == kNone ? 0 : n - std::max<double>(inside, pod_count_[spot.pod]);
      if (beyond_pod > 0) job_.add(spot.pod, inwards, beyond_pod * on_network);
    }
    uncount(far);
  }
  if (job_.spans_sites()) {
    add_all_to_all_between_sites(members, members.first(serving), each / c.network_efficiency);
  }
  return domains;
}

// Whether some sender does not reach some receiver; then `bytes` are on no link. Only where ranks are on several parts of
// the network are pairs looked at, one sender of each domain for all of it.
bool PlacementCostModel::add_cut(Members from_all, Members to_all, double bytes) {
  if (!job_.parts_matter()) return false;
  ++cut_stamp_;
  cut_checked_.resize(job_.unit_count(), 0);
  for (const Spot* from : from_all) {
    if (std::exchange(cut_checked_[from->unit], cut_stamp_) == cut_stamp_) continue;
    for (const Spot* to : to_all) {
      if (job_.reaches(*from, *to)) continue;
      job_.add_unreachable(*from, *to, bytes);
      return true;
    }
  }
  return false;
}

// `bytes` from each sender to each receiver. The placer keeps such groups in one site; a given placement need not.
void PlacementCostModel::add_all_to_all_between_sites(Members from_all, Members to_all, double bytes) {
  struct Side {
    const Spot* any = nullptr;
    double count = 0;
  };
  std::map<std::uint32_t, Side> senders, receivers;
  const auto count_sites = [](Members members, std::map<std::uint32_t, Side>& sides) {
    for (const Spot* spot : members) {
      Side& side = sides[spot->site];
      side.any = spot;
      ++side.count;
    }
  };
  count_sites(from_all, senders);
  count_sites(to_all, receivers);
  for (const auto& [from, sending] : senders) {
    for (const auto& [to, receiving] : receivers) {
      if (from == to) continue;
      job_.add_between_sites(*sending.any, *receiving.any, sending.count * receiving.count * bytes);
      far_us_ = std::max(far_us_, bundles_.site_route(from, to).latency_us);
    }
  }
}

namespace {

AssumedAlgorithm algorithm_of(const GpuGeneration& generation, CommGroup group, const GroupTraffic& traffic,
                              std::uint64_t members, std::uint32_t domains, bool reduced) {
  if (group == CommGroup::pipeline || group == CommGroup::roles) return AssumedAlgorithm::point_to_point;
  if (group == CommGroup::expert) return AssumedAlgorithm::all_to_all;
  if (there_and_back(group, traffic)) return AssumedAlgorithm::parameter_servers;
  if (reduced) return AssumedAlgorithm::in_network;
  if (group == CommGroup::context) return AssumedAlgorithm::ring;
  return all_reduce_algorithm(generation.constants, generation.nvls, static_cast<double>(members), domains);
}

}  // namespace

GroupCost PlacementCostModel::finish(CommGroup group, const GroupTraffic& traffic, std::uint64_t members,
                                     std::uint32_t domains) {
  GroupCost cost{.domains = domains};
  const bool back = there_and_back(group, traffic);
  GroupLoad* const load = loads_ == nullptr ? nullptr : &loads_->groups[static_cast<std::size_t>(group)];
  if (load != nullptr) job_.append_phases(back, *load);
  const JobBundles::Worst worst = job_.take_worst();
  uplink_gpu_us_ += worst.uplink_gpu_us;
  squares_ += worst.squares;
  cost.transfer_us = worst.transfer_us;
  cost.reachable = !std::isinf(worst.transfer_us);
  cost.algorithm = algorithm_of(generation_, group, traffic, members, domains, in_network_);
  cost.bundle = worst.bundle;
  if (worst.bundle != kNone) cost.bundle_kind = bundles_.kind(worst.bundle);
  if (back) cost.transfer_us *= 2;
  cost.time_us = group_time_us(generation_, group, traffic, members, domains, cost.transfer_us);
  // Less than one call a step where exchanges are less frequent (local SGD): their delay is far longer than a usual
  // call.
  const double far_us = (traffic.calls > 0 ? traffic.calls : 1) * (back ? 2 : 1) * far_us_;
  cost.time_us += far_us;
  if (load != nullptr) {
    load->domains = domains;
    load->far_us = far_us;
  }
  return cost;
}

double group_time_us(const GpuGeneration& generation, CommGroup group, const GroupTraffic& traffic,
                     std::uint64_t members, std::uint32_t domains, double transfer_us) {
  const double calls = std::max(traffic.calls, 1.0);
  if (group == CommGroup::roles) {  // messages, one way
    return calls * call_us(generation.constants, generation.nvls, 1, std::min(domains, 2U), traffic.bytes / calls,
                           transfer_us / calls, 1);
  }
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
  in_network_ = false;
  const double passes = group == CommGroup::context || group == CommGroup::expert ? 1 : 2;
  const bool gradients = group == CommGroup::data || group == CommGroup::expert_data;
  const bool in_network = gradients && traffic.exchange == GradientExchange::in_network;
  for_each_group(group, [&](Members all) {
    members = all.size();
    if (group == CommGroup::pipeline) {
      const CollectiveConstants& c = generation_.constants;
      for (std::size_t i = 0; i + 1 < all.size(); ++i) {
        domains = std::max(domains, all[i]->unit == all[i + 1]->unit ? 1U : 2U);
        if (job_.spans_sites()) far_us_ = std::max(far_us_, wan_us(*all[i], *all[i + 1]));
        job_.add_hop(*all[i], *all[i + 1], traffic.bytes / c.network_efficiency, traffic.bytes / c.ring_efficiency);
        if (!job_.reaches(*all[i + 1], *all[i])) job_.add_unreachable(*all[i + 1], *all[i], traffic.bytes);
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

// All flows with ranks of other jobs at once.
GroupCost PlacementCostModel::cost_of_roles(std::size_t ranks, const TrafficSpec& traffic) {
  if (traffic.roles.bytes <= 0 || traffic.peers.empty()) return {};
  const CollectiveConstants& c = generation_.constants;
  const std::vector<Spot>& spots = job_.spots();
  std::uint32_t domains = 0;
  far_us_ = 0;
  in_network_ = false;
  for (const RankFlow& flow : role_flows(ranks, traffic)) {
    const Spot &from = spots[flow.from], &to = spots[flow.to];
    domains = std::max(domains, from.unit == to.unit ? 1U : 2U);
    if (job_.spans_sites()) far_us_ = std::max(far_us_, wan_us(from, to));
    job_.add_hop(from, to, flow.bytes / c.network_efficiency, flow.bytes / c.ring_efficiency);
  }
  if (domains == 0) return {};
  return finish(CommGroup::roles, traffic.roles, 2, domains);
}

std::optional<std::pair<std::uint32_t, std::uint32_t>> PlacementCostModel::cut() const {
  const auto& cut = job_.cut();
  const std::uint64_t ranks = rank_count(parallelism_);
  if (cut && (cut->first >= ranks || cut->second >= ranks)) return std::nullopt;
  return cut;
}

PlacementCost PlacementCostModel::predict(std::span<const fabric::GpuId> gpu_of_rank, const Parallelism& parallelism,
                                          const TrafficSpec& traffic, std::span<const double> capacity_mbps,
                                          std::span<const double> residual_mbps, LinkTraffic* loads) {
  RAILWEAVE_CHECK(gpu_of_rank.size() == rank_count(parallelism), "every rank has a GPU");
  RAILWEAVE_CHECK(capacity_mbps.size() == bundles_.bundle_count(), "capacities are by bundle");
  RAILWEAVE_CHECK(residual_mbps.empty() || residual_mbps.size() == capacity_mbps.size(),
                  "residual capacities are by bundle");
  parallelism_ = parallelism;
  loads_ = loads;
  const std::size_t ranks = gpu_of_rank.size();
  if (!traffic.peers.empty()) {
    with_peers_ = gpus_with_peers(gpu_of_rank, traffic);
    gpu_of_rank = with_peers_;
  }
  job_.set_job(gpu_of_rank, capacity_mbps, residual_mbps, *parts_);
  domains_.set_unit_count(job_.unit_count());
  pod_count_.assign(job_.pair_count(), 0);
  uplink_gpu_us_ = squares_ = 0;
  PlacementCost cost;
  for (std::size_t g = 0; g < kCommGroups; ++g) {
    const auto group = static_cast<CommGroup>(g);
    cost.groups[g] =
        group == CommGroup::roles ? cost_of_roles(ranks, traffic) : cost_of(group, traffic_of_group(traffic, group));
    cost.total_us += cost.groups[g].time_us;
  }
  cost.uplink_gpu_us = uplink_gpu_us_;
  cost.unevenness_us = std::sqrt(squares_);
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
