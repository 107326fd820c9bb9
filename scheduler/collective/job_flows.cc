#include "scheduler/collective/job_flows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "scheduler/collective/calibration.h"

namespace railweave::scheduler {

namespace {

using Ranks = std::vector<std::uint32_t>;

std::vector<Ranks> groups_of(const Parallelism& p, CommGroup group) {
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>, Ranks> groups;
  const auto ranks = static_cast<std::uint32_t>(rank_count(p));
  for (std::uint32_t r = 0; r < ranks; ++r) {
    RankCoordinates at = coordinates_of(p, r);
    const bool data = group == CommGroup::data, expert_data = group == CommGroup::expert_data;
    if (group == CommGroup::tensor) at.tp = 0;
    if (group == CommGroup::context || data || expert_data) at.cp = 0;
    if (group == CommGroup::expert || data) at.ep = 0;
    if (data || expert_data) at.dp = 0;
    if (group == CommGroup::pipeline) at.pp = 0;
    groups[{at.tp, at.cp, at.ep, at.dp, at.pp}].push_back(r);
  }
  std::vector<Ranks> result;
  for (auto& [key, members] : groups) {
    if (members.size() > 1) result.push_back(std::move(members));
  }
  return result;
}

void add_ring(std::vector<RankFlow>& flows, const Ranks& ring, double bytes) {
  if (ring.size() < 2 || bytes <= 0) return;
  for (std::size_t i = 0; i < ring.size(); ++i) flows.push_back({ring[i], ring[(i + 1) % ring.size()], bytes});
}

}  // namespace

std::vector<RankFlow> job_flows(const FabricBundles& bundles, std::span<const fabric::GpuId> gpu_of_rank,
                                const Parallelism& parallelism, const TrafficSpec& traffic, CommGroup group,
                                bool nvls) {
  const GroupTraffic& own = traffic_of_group(traffic, group);
  const double bytes = own.bytes;
  const bool pushes = group != CommGroup::pipeline && there_and_back(group, own);
  const bool in_network =
      (group == CommGroup::data || group == CommGroup::expert_data) && own.exchange == GradientExchange::in_network;
  std::vector<RankFlow> flows;
  if (bytes <= 0 || group == CommGroup::roles) return flows;
  const auto place = [&](std::uint32_t rank) -> const FabricBundles::Place& {
    return bundles.place(gpu_of_rank[rank]);
  };
  for (const Ranks& members : groups_of(parallelism, group)) {
    if (group == CommGroup::pipeline) {
      for (std::size_t i = 0; i + 1 < members.size(); ++i) {
        flows.push_back({members[i], members[i + 1], bytes});
        flows.push_back({members[i + 1], members[i], bytes});
      }
      continue;
    }
    const auto n = static_cast<double>(members.size());
    if (pushes) {
      const std::size_t servers = std::min<std::size_t>(own.servers, members.size());
      for (std::size_t s = 0; s < servers; ++s) {
        for (const std::uint32_t rank : members) {
          if (rank == members[s]) continue;
          flows.push_back({rank, members[s], bytes / static_cast<double>(servers)});
          flows.push_back({members[s], rank, bytes / static_cast<double>(servers)});
        }
      }
      continue;
    }
    if (group == CommGroup::expert) {
      for (const std::uint32_t a : members) {
        for (const std::uint32_t b : members) {
          if (a != b) flows.push_back({a, b, bytes / n});
        }
      }
      continue;
    }
    const double passes = group == CommGroup::context ? 1 : 2;
    std::map<std::uint32_t, std::size_t> slot_of_unit;
    std::vector<Ranks> domains;
    for (const std::uint32_t rank : members) {
      const auto [at, is_new] = slot_of_unit.try_emplace(place(rank).unit, domains.size());
      if (is_new) domains.emplace_back();
      domains[at->second].push_back(rank);
    }
    std::size_t rings = members.size();
    for (Ranks& domain : domains) {
      std::ranges::sort(domain, {}, [&](std::uint32_t r) { return std::tuple(place(r).rail, place(r).nic, r); });
      const auto m = static_cast<double>(domain.size());
      add_ring(flows, domain, passes * (m - 1) / m * bytes);
      rings = std::min(rings, domain.size());
    }
    const auto k = static_cast<double>(domains.size());
    if (domains.size() < 2) continue;
    // Switches that reduce take a member's whole part once and send the sum once.
    const bool reduced = in_network && std::ranges::all_of(members, [&](std::uint32_t rank) {
                           return place(rank).reduces && place(rank).site == place(members.front()).site;
                         });
    if (!reduced) rings = std::min<std::size_t>(rings, kMaxAdapters);
    const auto m = static_cast<double>(rings);
    const double part = passes == 2 ? network_passes(nvls, n, k) : nvls ? (k - 1) / k : (n - 1) / n;
    for (std::size_t ring = 0; ring < rings; ++ring) {
      Ranks across;
      for (const Ranks& domain : domains) across.push_back(domain[ring]);
      add_ring(flows, across, (reduced ? 1 : part) * bytes / m);
    }
  }
  return flows;
}

Result<double> routed_transfer_us(const PathModel& paths, std::span<const fabric::GpuId> gpu_of_rank,
                                  std::span<const RankFlow> flows, const GpuGeneration& generation,
                                  const BackgroundFlows* background) {
  // Efficiencies are counted as additional bytes: they depend on the kind of link that a flow uses.
  PhasePlan plan{.phases = {{.flows = {flows.begin(), flows.end()}}},
                 .ranks = static_cast<std::uint32_t>(gpu_of_rank.size())};
  std::vector<std::uint32_t> links;
  for (RankFlow& flow : plan.phases.front().flows) {
    PathShape shape;
    links.clear();
    if (!paths.append(gpu_of_rank[flow.from], gpu_of_rank[flow.to], links, shape)) continue;  // reported below
    flow.bytes /= shape.network ? generation.constants.network_efficiency : generation.constants.ring_efficiency;
  }
  const auto time = collective_time(plan, paths, gpu_of_rank, {.background = background, .latency_off = true});
  if (!time) return std::unexpected(time.error());
  return time->transfer_us;
}

}  // namespace railweave::scheduler
