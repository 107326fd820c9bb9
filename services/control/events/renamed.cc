// What a job, a drain and a list of nodes are in another topology; declared in apply.h.
#include <algorithm>
#include <set>
#include <utility>

#include "services/control/events/apply.h"

namespace railweave::control {

std::optional<std::vector<fabric::GpuId>> map_gpus(const fabric::Topology& from, const fabric::Topology& to,
                                                   const std::vector<fabric::GpuId>& gpus,
                                                   const fabric::RenamedHosts& renamed) {
  std::vector<fabric::GpuId> mapped;
  mapped.reserve(gpus.size());
  fabric::HostId last_from;
  fabric::HostId last_to;
  for (const auto gpu : gpus) {
    if (const auto host = from.host(gpu); host != last_from) {
      last_from = host;
      last_to =
          to.find_host(renamed.empty() ? from.name(host) : fabric::name_after(renamed, std::string(from.name(host))));
    }
    const unsigned local = from.local_index(gpu);
    if (!last_to || local >= to.gpus(last_to).size()) return std::nullopt;
    mapped.push_back(to.gpus(last_to)[local]);
  }
  return mapped;
}

std::optional<DrainTarget> renamed_target(const DrainTarget& target, const fabric::RenamedHosts& renamed) {
  if (target.kind != DrainKind::node && target.kind != DrainKind::gpu) return target;
  const std::string node(node_of(target));
  const std::string& now = fabric::name_after(renamed, node);
  if (now.empty()) return std::nullopt;
  return DrainTarget{target.kind, now + target.id.substr(node.size())};
}

std::vector<std::string> node_names(const fabric::Topology& topology, const std::vector<fabric::GpuId>& gpus) {
  std::vector<std::string> names;
  std::set<fabric::HostId> seen;
  fabric::HostId last;
  for (const auto gpu : gpus) {
    const auto host = topology.host(gpu);
    if (host == last) continue;
    last = host;
    if (seen.insert(host).second) names.emplace_back(topology.name(host));
  }
  return names;
}

}  // namespace railweave::control
