// NVLink partitions: which tenant owns which GPUs of an NVLink domain. The partitions of one domain are disjoint, and
// each has one owner. A value.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/topology/topology.h"
#include "scheduler/admission/contract.h"

namespace railweave::scheduler {

struct NvlinkPartition {
  std::string owner;  // the tenant
  std::string job;
  fabric::NvlinkDomainId domain;
  std::uint32_t number = 0;         // within the domain, from 1; 0 is the default partition, of GPUs without an owner
  std::vector<fabric::GpuId> gpus;  // ascending
};

class NvlinkPartitions {
 public:
  static constexpr std::uint32_t kMaxNumber = 32766;

  // One partition for each domain that the job's GPUs are in; GPUs without NVLink get none. Errors, with nothing
  // changed: conflict, "nvlink.taken", which names the owner, and "nvlink.overQuota".
  Result<std::vector<NvlinkPartition>> assign(const fabric::Topology& topology, const Contract& contract,
                                              const std::string& job, std::span<const fabric::GpuId> gpus);
  void release(const std::string& job);

  [[nodiscard]] std::vector<NvlinkPartition> of(const std::string& job) const;
  [[nodiscard]] std::size_t domains_of(const std::string& tenant) const;
  [[nodiscard]] const std::vector<NvlinkPartition>& all() const { return partitions_; }

 private:
  std::vector<NvlinkPartition> partitions_;  // by domain and number
};

// nodes_config.cfg of an IMEX daemon: the hosts of the partition, one a line, in order.
std::string imex_nodes(const fabric::Topology& topology, const NvlinkPartition& partition);

// The request for a partition as an NMX controller expects it: {"name", "partitionId", "domainUuid", "gpuLocations":
// [{"host", "gpu"}]}.
std::string partition_request(const fabric::Topology& topology, const NvlinkPartition& partition);

}  // namespace railweave::scheduler
