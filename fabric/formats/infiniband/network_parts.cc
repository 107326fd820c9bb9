#include "fabric/formats/infiniband/network_parts.h"

#include <algorithm>
#include <map>

#include "fabric/formats/infiniband/host_names.h"
#include "fabric/topology/disjoint_sets.h"

namespace railweave::fabric {

std::vector<std::uint32_t> storage_networks(std::size_t devices, std::span<const NamedSwitch> switches,
                                            std::span<const std::pair<std::uint32_t, std::uint32_t>> cables) {
  DisjointSets parts(devices);
  for (const auto& [a, b] : cables) parts.unite(a, b);
  std::map<std::uint32_t, bool> is_storage;  // by part: all of its switches are called so
  for (const NamedSwitch& one : switches) {
    const bool is_called_so = !one.name.empty() && guess_host_kind(one.name) == HostKind::storage;
    const auto [at, is_new] = is_storage.try_emplace(parts.find(one.device), is_called_so);
    at->second = at->second && is_called_so;
  }
  std::vector<std::uint32_t> networks(devices, 0);
  if (std::ranges::all_of(is_storage, [](const auto& part) { return part.second; })) return networks;
  std::map<std::uint32_t, std::uint32_t> numbers;  // by part, in the order of the switches
  for (const NamedSwitch& one : switches) {
    const auto part = parts.find(one.device);
    if (is_storage.at(part)) numbers.try_emplace(part, static_cast<std::uint32_t>(numbers.size() + 1));
  }
  for (std::uint32_t device = 0; device < devices; ++device) {
    const auto at = numbers.find(parts.find(device));
    if (at != numbers.end()) networks[device] = at->second;
  }
  return networks;
}

}  // namespace railweave::fabric
