#include "services/railweave/assess/job_partitions.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "fabric/formats/sources/ufm_join.h"

namespace railweave::cli {

bool share_a_partition(const fabric::Topology& topology, std::span<const fabric::HostId> hosts) {
  struct Members {
    std::size_t hosts = 0, limited = 0;
  };
  std::map<std::string_view, Members> partitions;
  for (const fabric::HostId host : hosts) {
    bool told = false;
    for (const auto& [key, value] : topology.labels(host)) {
      if (!topology.text(key).starts_with(fabric::kPartitionLabel)) continue;
      told = true;
      Members& members = partitions[topology.text(key)];
      ++members.hosts;
      if (topology.text(value) == "limited") ++members.limited;
    }
    if (!told) return true;
  }
  return hosts.size() < 2 ||
         std::ranges::any_of(
             partitions,
             [&](const auto& entry) { return entry.second.hosts == hosts.size() && entry.second.limited < 2; });
}

}  // namespace railweave::cli
