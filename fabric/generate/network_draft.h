// One network of a generated cluster: adds switches, adapters and cables of one subnet to a builder. Names get the
// prefix of the network, and LIDs are assigned in order of addition, as by a subnet manager on an empty fabric.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fabric/base/error.h"
#include "fabric/generate/cluster.h"

namespace railweave::fabric {

struct NetworkSpec {
  std::string subnet;
  SubnetKind kind = SubnetKind::compute;
  std::string prefix;  // of every switch name
  LinkSpec host_link;
  LinkSpec switch_link;
};

// The size of a planned network, so that an impossible one is refused before anything is built.
struct NetworkSize {
  std::uint64_t switches = 0;
  std::uint64_t ports_per_switch = 0;
  std::uint64_t adapter_ports = 0;
};
// Errors: more LIDs than a subnet has (InfiniBand), or more ports than a generator makes.
Result<void> check_size(const NetworkSize& size, const ClusterSpec& cluster);

class NetworkDraft {
 public:
  NetworkDraft(TopologyBuilder& builder, NetworkSpec spec);

  SwitchDraft add_switch(std::string_view name, std::uint32_t ports, std::string_view group = {}, RackId rack = {});
  void attach(SwitchDraft sw, std::uint32_t port, HcaDraft hca, RailId rail = {});
  void join(SwitchDraft a, std::uint32_t port_a, SwitchDraft b, std::uint32_t port_b);
  [[nodiscard]] TopologyBuilder& builder() { return builder_; }
  [[nodiscard]] const std::string& prefix() const { return spec_.prefix; }

 private:
  Lid next_lid();

  TopologyBuilder& builder_;
  NetworkSpec spec_;
  SubnetId subnet_;
  std::size_t lids_ = 0;
};

// The network of a plane: "compute" if it is the only one, else "compute-0" with switches "p0-leaf-01" and so on.
NetworkSpec plane_network(const ClusterSpec& cluster, std::uint32_t plane);

}  // namespace railweave::fabric
