#include "scheduler/placement/score/data_rings.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace railweave::scheduler {
namespace {

using fabric::HostId;
using fabric::RailId;
using Member = std::pair<HostId, RailId>;

bool on_one_rail(std::vector<Member>& members) {
  if (!std::ranges::is_sorted(members)) std::ranges::sort(members);  // mostly they come in order of hosts
  if (members.front().first == members.back().first) return true;    // inside one node
  std::vector<RailId> common;
  std::vector<RailId> rails;
  for (std::size_t i = 0; i < members.size();) {
    rails.clear();
    const HostId host = members[i].first;
    for (; i < members.size() && members[i].first == host; ++i) {
      if (members[i].second) rails.push_back(members[i].second);
    }
    if (host == members.front().first) {
      common = rails;
    } else {
      std::erase_if(common, [&](RailId rail) { return !std::ranges::binary_search(rails, rail); });
    }
    if (common.empty()) return false;
  }
  return true;
}

}  // namespace

bool data_rings_on_rails(const PlacementFabric& fabric, const Parallelism& parallelism,
                         std::span<const fabric::GpuId> gpu_of_rank) {
  if (fabric.topology().rails().empty()) return false;
  const auto& nics = fabric.gpu_nics();
  const std::size_t inner = std::size_t{parallelism.tensor} * parallelism.context * parallelism.expert;
  const std::size_t stage = inner * parallelism.data;
  std::vector<Member> members;
  for (std::size_t begin = 0; begin < gpu_of_rank.size(); begin += stage) {
    for (std::size_t i = begin; i < begin + inner; ++i) {
      const RailId rail = nics.rail(gpu_of_rank[i]);
      bool same = rail.valid();
      for (std::size_t member = i + inner; same && member < begin + stage; member += inner) {
        same = nics.rail(gpu_of_rank[member]) == rail;
      }
      if (same) continue;
      members.clear();
      for (std::size_t member = i; member < begin + stage; member += inner) {
        members.emplace_back(fabric.topology().host(gpu_of_rank[member]), nics.rail(gpu_of_rank[member]));
      }
      if (!on_one_rail(members)) return false;
    }
  }
  return true;
}

}  // namespace railweave::scheduler
