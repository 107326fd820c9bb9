#include "services/rest/json/ranks/rank_nodes.h"

#include <algorithm>
#include <array>
#include <tuple>

#include <fmt/core.h>

namespace railweave::api {
namespace {

using scheduler::GpuNic;
using scheduler::PlacementFabric;
using scheduler::RankMap;

bool is_name_digit(char c) { return c >= '0' && c <= '9'; }

// rdma-core's rules: by PCI path, by slot, onboard, or by GUID, after the kind of link.
bool is_renamed_device(std::string_view name) {
  static constexpr std::array<std::string_view, 5> kKinds{"ib", "roce", "iw", "opa", "rdma"};
  const auto is_path = [](std::string_view rest) {
    if (rest.size() < 2) return false;
    const bool hexadecimal =
        std::ranges::all_of(rest.substr(1), [](char c) { return is_name_digit(c) || (c >= 'a' && c <= 'f'); });
    if (rest[0] == 'x') return hexadecimal && rest.size() > 12;
    return (rest[0] == 'p' || rest[0] == 'P' || rest[0] == 'o' || rest[0] == 's') && is_name_digit(rest[1]);
  };
  return std::ranges::any_of(kKinds,
                             [&](auto kind) { return name.starts_with(kind) && is_path(name.substr(kind.size())); });
}

void name_adapters(RankNode& node, const RankMap& map, const PlacementFabric& fabric) {
  const auto& topology = fabric.topology();
  std::vector<GpuNic> nics;
  const auto add = [&](std::span<const GpuNic> more) { nics.insert(nics.end(), more.begin(), more.end()); };
  node.adapters_assumed = fabric.gpu_nics().assumed(node.host);
  if (node.adapters_assumed) {
    for (const fabric::GpuId gpu : topology.gpus(node.host)) add(fabric.gpu_nics().nics(gpu));
  } else {
    for (const std::uint64_t rank : node.ranks) add(map[rank].nics);
  }
  const auto key = [](const GpuNic& nic) { return std::tuple(nic.rail, nic.port); };
  std::ranges::sort(nics, {}, key);
  const auto repeated = std::ranges::unique(nics, {}, key);
  nics.erase(repeated.begin(), repeated.end());
  node.adapters_unnamed =
      std::ranges::any_of(nics, [&](const GpuNic& nic) { return !is_rdma_device_name(topology.device(nic.hca)); });
  if (node.adapters_unnamed) return;
  for (const GpuNic& nic : nics) {
    node.adapters +=
        fmt::format("{}{}:{}", node.adapters.empty() ? "" : ",", topology.device(nic.hca), topology.number(nic.port));
  }
}

}  // namespace

std::vector<RankNode> rank_nodes(const RankMap& map, const PlacementFabric& fabric) {
  const auto& topology = fabric.topology();
  constexpr std::uint32_t kNew = UINT32_MAX;
  std::vector<std::uint32_t> at(topology.hosts().size(), kNew);
  std::vector<RankNode> nodes;
  for (std::uint64_t r = 0; r < map.size(); ++r) {
    const auto rank = map[r];
    std::uint32_t& known = at[rank.host.index()];
    if (known == kNew) {
      known = static_cast<std::uint32_t>(nodes.size());
      nodes.emplace_back().host = rank.host;
      nodes.back().name = topology.name(rank.host);
    }
    RankNode& node = nodes[known];
    node.gpus_by_local_rank = node.gpus_by_local_rank && rank.local_gpu == node.ranks.size();
    node.gpus += fmt::format("{}{}", node.gpus.empty() ? "" : ",", rank.local_gpu);
    node.ranks.push_back(r);
  }
  for (RankNode& node : nodes) name_adapters(node, map, fabric);
  return nodes;
}

bool numbered_by_node(const std::vector<RankNode>& nodes) {
  std::uint64_t next = 0;
  return std::ranges::all_of(nodes, [&](const RankNode& node) {
    return std::ranges::all_of(node.ranks, [&](std::uint64_t rank) { return rank == next++; });
  });
}

bool is_rdma_device_name(std::string_view name) {
  static constexpr std::array<std::string_view, 20> kDrivers{
      "mlx4_",  "mlx5_", "mthca", "hfi1_",  "qib",   "irdma",  "i40iw",  "bnxt_re",    "efa_", "erdma_",
      "cxgb4_", "qedr",  "hns_",  "ocrdma", "mana_", "ionic_", "usnic_", "vmw_pvrdma", "rxe",  "siw"};
  const bool plain = std::ranges::all_of(
      name, [](char c) { return is_name_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; });
  if (!plain || name.size() > 63) return false;
  return is_renamed_device(name) || std::ranges::any_of(kDrivers, [&](auto driver) {
           return name.starts_with(driver) && name.size() > driver.size();
         });
}

}  // namespace railweave::api
