// One network of a generated cluster: a subnet of switches in the making. Names carry its prefix, LIDs are given in the
// order in which switches and adapters are added, as a subnet manager would on an empty fabric.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fabric/base/error.h"
#include "fabric/generate/cluster.h"

namespace railweave::fabric {

inline constexpr std::size_t kUnicastLids = 0xBFFF;  // 0x0001 to 0xBFFF (InfiniBand Architecture Specification, 4.1.1)

struct NetworkSpec {
  std::string subnet;
  SubnetKind kind = SubnetKind::compute;
  std::string prefix;  // before every switch name
  LinkSpec host_link;
  LinkSpec switch_link;
};

// What a plan comes to, so that an impossible one is refused before anything is built.
struct NetworkSize {
  std::uint64_t switches = 0;
  std::uint64_t ports_per_switch = 0;
  std::uint64_t adapter_ports = 0;
};
// More LIDs than a subnet has (InfiniBand), or more ports than a generator makes.
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

// The network of a plane: "compute" alone, else "compute-0" with switches "p0-leaf-01" and so on.
NetworkSpec plane_network(const ClusterSpec& cluster, std::uint32_t plane);

}  // namespace railweave::fabric
