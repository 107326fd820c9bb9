// Small fabrics described by hand, for tests of what is derived from a topology.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {

// Switches and hosts by name; ports are used in the order in which cables are added.
class SmallFabric {
 public:
  static constexpr unsigned kPorts = 64;

  SwitchDraft sw(const std::string& name, std::string_view group = {}) {
    const auto [at, added] = switches_.try_emplace(name);
    if (added) {
      const Guid guid(0x1000 + switches_.size());
      at->second = {builder.add_switch({.guid = guid, .name = name, .ports = kPorts, .group = group}), 0};
    }
    return at->second.first;
  }
  HostDraft host(const std::string& name, HostKind kind = HostKind::compute) { return builder.host(name, kind); }

  // A new adapter with one port, cabled to the switch.
  HcaDraft plug(const std::string& host_name, const std::string& device, const std::string& switch_name,
                HostKind kind = HostKind::compute, const LinkSpec& spec = infiniband_link(4, LinkSpeed::ndr)) {
    const Guid guid(0x100000 + 16 * builder.hca_count());
    const HcaDraft hca = builder.add_hca({.guid = guid, .host = host(host_name, kind), .device = device});
    builder.connect({sw(switch_name), next_port(switch_name)}, {hca, 1}, spec);
    return hca;
  }
  void join(const std::string& a, const std::string& b, unsigned links = 1,
            const LinkSpec& spec = infiniband_link(4, LinkSpeed::ndr)) {
    for (unsigned i = 0; i < links; ++i) {
      builder.connect({sw(a), next_port(a)}, {sw(b), next_port(b)}, spec);
    }
  }
  unsigned next_port(const std::string& name) {
    sw(name);
    return ++switches_[name].second;
  }
  Topology build() {
    auto topology = std::move(builder).build();
    EXPECT_TRUE(topology.has_value()) << (topology ? "" : topology.error().text());
    return std::move(topology).value();
  }

  TopologyBuilder builder;

 private:
  std::map<std::string, std::pair<SwitchDraft, unsigned>> switches_;
};

}  // namespace railweave::fabric
