#include "scheduler/admission/nvlink_partitions.h"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "fabric/base/text/json_string.h"

namespace railweave::scheduler {

Result<std::vector<NvlinkPartition>> NvlinkPartitions::assign(const fabric::Topology& topology,
                                                              const Contract& contract, const std::string& job,
                                                              std::span<const fabric::GpuId> gpus) {
  std::map<fabric::NvlinkDomainId, std::set<fabric::GpuId>> by_domain;
  for (const fabric::GpuId gpu : gpus) {
    if (const auto domain = topology.nvlink_domain(gpu)) by_domain[domain].insert(gpu);
  }
  for (const NvlinkPartition& held : partitions_) {
    const auto wanted = by_domain.find(held.domain);
    if (wanted == by_domain.end()) continue;
    for (const fabric::GpuId gpu : held.gpus) {
      if (!wanted->second.contains(gpu)) continue;
      return fail(ErrorKind::conflict, "nvlink.taken",
                  fmt::format("GPU {} of {} is in a partition of {} ({})", topology.local_index(gpu),
                              topology.name(topology.host(gpu)), held.owner, held.job));
    }
  }
  if (contract.max_nvlink_domains) {
    std::size_t held = 0;
    for (const NvlinkPartition& one : partitions_) held += one.owner == contract.tenant ? 1U : 0U;
    if (held + by_domain.size() > *contract.max_nvlink_domains) {
      return fail(ErrorKind::conflict, "nvlink.overQuota",
                  fmt::format("{} holds {} partitions of NVLink domains and asks for {} more, of at most {}",
                              contract.tenant, held, by_domain.size(), *contract.max_nvlink_domains));
    }
  }
  std::vector<NvlinkPartition> made;
  for (const auto& [domain, members] : by_domain) {
    std::uint32_t number = 1;
    for (const NvlinkPartition& one : partitions_) {  // in order of numbers: the lowest that is free
      if (one.domain == domain && one.number == number) ++number;
    }
    made.push_back({contract.tenant, job, domain, number, {members.begin(), members.end()}});
  }
  partitions_.insert(partitions_.end(), made.begin(), made.end());
  std::ranges::sort(partitions_, {}, [](const NvlinkPartition& one) { return std::pair(one.domain, one.number); });
  return made;
}

void NvlinkPartitions::release(const std::string& job) {
  std::erase_if(partitions_, [&](const NvlinkPartition& one) { return one.job == job; });
}

std::vector<NvlinkPartition> NvlinkPartitions::of(const std::string& job) const {
  std::vector<NvlinkPartition> own;
  std::ranges::copy_if(partitions_, std::back_inserter(own), [&](const auto& one) { return one.job == job; });
  return own;
}

std::size_t NvlinkPartitions::domains_of(const std::string& tenant) const {
  std::set<fabric::NvlinkDomainId> domains;
  for (const NvlinkPartition& one : partitions_) {
    if (one.owner == tenant) domains.insert(one.domain);
  }
  return domains.size();
}

std::string imex_nodes(const fabric::Topology& topology, const NvlinkPartition& partition) {
  std::string text;
  fabric::HostId last;
  for (const fabric::GpuId gpu : partition.gpus) {
    if (topology.host(gpu) == last) continue;
    last = topology.host(gpu);
    text += std::string(topology.name(last)) + "\n";
  }
  return text;
}

std::string partition_request(const fabric::Topology& topology, const NvlinkPartition& partition) {
  std::string text = "{\"name\":";
  append_json_string(text, partition.owner + "/" + partition.job);
  text += fmt::format(",\"partitionId\":{},\"domainUuid\":", partition.number);
  append_json_string(text, topology.cluster_uuid(partition.domain));
  text += ",\"gpuLocations\":[";
  for (std::size_t i = 0; i < partition.gpus.size(); ++i) {
    text += i == 0 ? "{\"host\":" : ",{\"host\":";
    append_json_string(text, topology.name(topology.host(partition.gpus[i])));
    text += fmt::format(",\"gpu\":{}}}", topology.local_index(partition.gpus[i]));
  }
  return text + "]}\n";
}

}  // namespace railweave::scheduler
