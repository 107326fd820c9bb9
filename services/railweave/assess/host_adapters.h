// The adapters of a host as libraries see them: device, port, rail, rate.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fabric/topology/topology.h"

namespace railweave::cli {

struct AdapterPort {
  std::string device;  // "mlx5_0", or on Ethernet its interface; empty: not told
  unsigned number = 0;
  fabric::SwitchId leaf;
  double gbps = 0;
  bool compute = true;  // else of a subnet of storage or management
};

struct HostAdapters {
  std::string host;
  std::vector<AdapterPort> ports;  // that are cabled, in natural order of devices

  [[nodiscard]] bool named() const;  // every one has a name
  [[nodiscard]] std::size_t compute_ports() const;
  [[nodiscard]] double compute_gbps() const;
  // Whether those for jobs lead to more than one leaf, as on a rail-optimized fabric.
  [[nodiscard]] bool on_rails() const;
  // "=mlx5_0,mlx5_1": those for jobs, as a value of NCCL_IB_HCA.
  [[nodiscard]] std::string compute_list() const;
};

HostAdapters adapters_of(const fabric::Topology& topology, fabric::HostId host);

// Those of each host that is asked for, worked out once; they stay where they are.
class AdaptersOfHosts {
 public:
  explicit AdaptersOfHosts(const fabric::Topology& topology) : topology_(topology) {}
  const HostAdapters& at(fabric::HostId host) {
    const auto known = known_.find(host);
    return known != known_.end() ? known->second : known_.emplace(host, adapters_of(topology_, host)).first->second;
  }

 private:
  const fabric::Topology& topology_;
  std::map<fabric::HostId, HostAdapters> known_;
};

// By its name, or by what is before the first dot of it.
fabric::HostId host_named(const fabric::Topology& topology, const std::string& name);

}  // namespace railweave::cli
