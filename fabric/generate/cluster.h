// The part of a generated cluster that does not depend on its kind of network: hosts with GPUs and adapters, NVLink
// domains, racks, and the number of parallel networks (planes) over which its adapters are spread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {

// GPUs and adapters are paired as PCIe switches pair them: with as many adapters as GPUs, GPU i has adapter i; with
// fewer, neighbours share one; with more, each GPU has several.
//
// NVLink domains of up to gpus_per_host GPUs are within a host (HGX: 8). Larger ones span consecutive hosts, have a
// clusterUuid and one clique, and are in racks: NVL36 is 9 hosts x 4 GPUs or 18 x 2 in one rack, NVL72 18 x 4 in one
// rack, and NVL576 is one domain over 8 such racks of 72 GPUs, its second NVLink switch level included in the one
// domain.
struct HostsSpec {
  std::string prefix;               // of every name, so that several clusters can be in one topology
  std::uint32_t hosts = 0;          // 0: all that the network can hold, for kinds of a fixed size
  std::uint32_t gpus_per_host = 8;  // 0: none
  std::uint32_t nics_per_host = 8;
  std::uint32_t nvlink_domain = 8;   // GPUs per domain; 0 and 1: no NVLink
  std::uint32_t hosts_per_rack = 0;  // 0: racks only where NVLink domains span hosts
  RateMbps nvlink_rate;              // per GPU and direction; 0: 3.6 Tb/s within a host, 7.2 Tb/s across hosts

  [[nodiscard]] std::uint32_t hosts_per_domain() const {  // 1 where domains are within a host
    return nvlink_domain > gpus_per_host && gpus_per_host > 0 ? nvlink_domain / gpus_per_host : 1;
  }
  [[nodiscard]] std::uint32_t rack_size() const;  // hosts; 0: no racks
};

struct ClusterSpec {
  HostsSpec hosts;
  std::uint32_t planes = 1;  // networks, each a subnet, over which the adapters of a host are spread evenly
  LinkSpec host_link = infiniband_link(4, LinkSpeed::ndr);
  LinkSpec switch_link = infiniband_link(4, LinkSpeed::ndr);
  std::uint32_t storage_servers = 0;  // with one adapter each, and one more per host, on a subnet called "storage"
};

// The hosts and adapters of one cluster in a builder.
struct HostBlock {
  std::vector<HostDraft> hosts;
  std::vector<HcaDraft> nics;  // of host h: [h * nics_per_host, (h + 1) * nics_per_host)
  std::uint32_t nics_per_host = 0;

  [[nodiscard]] HcaDraft nic(std::size_t host, std::size_t nic_index) const {
    return nics[host * nics_per_host + nic_index];
  }
};

// The adapters of a HostBlock that belong to one plane.
struct PlaneAdapters {
  const HostBlock* block = nullptr;
  std::uint32_t first = 0;  // of each host's adapters
  std::uint32_t per_host = 0;
  [[nodiscard]] HcaDraft at(std::size_t host, std::size_t i) const { return block->nic(host, first + i); }
  [[nodiscard]] std::size_t hosts() const { return block->hosts.size(); }
};

// Refuses parameters that contradict each other. hosts must be set.
Result<void> check_cluster(const ClusterSpec& spec);

// Errors: conflict if a name is used already: clusters in one builder need a prefix each.
Result<HostBlock> add_hosts(const HostsSpec& spec, TopologyBuilder& builder);
PlaneAdapters plane_adapters(const HostBlock& block, std::uint32_t plane, std::uint32_t planes);

// "leaf-07": numbered from 1, padded with zeros to the width of `count`.
std::string numbered(std::string_view stem, std::size_t index, std::size_t count);

// The GUID of the n-th adapter or switch of a builder: the same in every run, locally administered, never 0. The low 4
// bits are free for ports.
Guid generated_hca_guid(std::size_t n);
Guid generated_switch_guid(std::size_t n);

}  // namespace railweave::fabric
