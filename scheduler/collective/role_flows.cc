#include "scheduler/collective/role_flows.h"

#include <algorithm>
#include <cstdint>

namespace railweave::scheduler {
namespace {

std::size_t pairs_of(std::size_t ranks, const PlacedPeer& with) {
  const std::size_t others = with.gpu_of_rank.size();
  if (ranks == 0 || others == 0) return 0;
  const std::size_t all = with.peer.spread == RoleSpread::by_rank ? std::max(ranks, others) : ranks * others;
  return std::min(all, kMaxRoleFlows);
}

}  // namespace

double role_flow_count(std::size_t ranks, const TrafficSpec& traffic) {
  double count = 0;
  for (const PlacedPeer& with : traffic.peers) count += static_cast<double>(pairs_of(ranks, with));
  return count;
}

std::vector<RankFlow> role_flows(std::size_t ranks, const TrafficSpec& traffic) {
  std::vector<RankFlow> flows;
  std::size_t first = ranks;
  for (const PlacedPeer& with : traffic.peers) {
    const std::size_t others = with.gpu_of_rank.size();
    const std::size_t count = pairs_of(ranks, with);
    const bool all_pairs = with.peer.spread == RoleSpread::all_to_all;
    for (std::size_t i = 0; i < count; ++i) {
      // Pairs in the order of own ranks; where there are too many of them, each turn of the own ranks meets the others a
      // step farther on.
      const bool some = all_pairs && count < ranks * others;
      const std::size_t own = all_pairs && !some ? i / others : i % ranks;
      const std::size_t other = some ? (i + i / ranks) % others : i % others;
      const auto a = static_cast<std::uint32_t>(own);
      const auto b = static_cast<std::uint32_t>(first + other);
      const double bytes = with.peer.bytes / static_cast<double>(count);
      flows.push_back(with.peer.sends ? RankFlow{a, b, bytes} : RankFlow{b, a, bytes});
    }
    first += others;
  }
  return flows;
}

std::vector<fabric::GpuId> gpus_with_peers(std::span<const fabric::GpuId> gpu_of_rank, const TrafficSpec& traffic) {
  std::vector<fabric::GpuId> gpus(gpu_of_rank.begin(), gpu_of_rank.end());
  for (const PlacedPeer& with : traffic.peers)
    gpus.insert(gpus.end(), with.gpu_of_rank.begin(), with.gpu_of_rank.end());
  return gpus;
}

}  // namespace railweave::scheduler
