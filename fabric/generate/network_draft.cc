#include "fabric/generate/network_draft.h"

#include <utility>

#include <fmt/core.h>

#include "fabric/base/check.h"

namespace railweave::fabric {

Result<void> check_size(const NetworkSize& size, const ClusterSpec& cluster) {
  static constexpr std::uint64_t kMaxGeneratedPorts = 4'000'000;  // of all planes; half of what a topology may hold
  const std::uint64_t lids = size.switches + size.adapter_ports;
  if (cluster.host_link.kind == LinkKind::infiniband && lids > kUnicastLids) {
    const bool can_spread = cluster.planes < cluster.hosts.nics_per_host;
    return fail(ErrorKind::impossible, "generate.tooManyLids",
                fmt::format("{} adapter ports and {} switches need {} LIDs, but a subnet has {}", size.adapter_ports,
                            size.switches, lids, kUnicastLids),
                {},
                can_spread ? fmt::format("spread the adapters over more planes, each its own subnet: planes up to {}",
                                         cluster.hosts.nics_per_host)
                           : "use fewer hosts, or Ethernet");
  }
  const std::uint64_t ports = size.switches * size.ports_per_switch + size.adapter_ports;
  if (ports > kMaxGeneratedPorts / cluster.planes) {
    return fail(ErrorKind::tooLarge, "generate.tooLarge",
                fmt::format("the fabric has {} ports, more than the {} that can be generated", ports * cluster.planes,
                            kMaxGeneratedPorts),
                {}, "use fewer hosts, switches or planes");
  }
  return {};
}

NetworkDraft::NetworkDraft(TopologyBuilder& builder, NetworkSpec spec)
    : builder_(builder), spec_(std::move(spec)), subnet_(builder.subnet(spec_.subnet, spec_.kind)) {}

Lid NetworkDraft::next_lid() {
  if (spec_.host_link.kind != LinkKind::infiniband) return 0;
  ++lids_;
  RAILWEAVE_CHECK(lids_ <= kUnicastLids, "check_size() counted the LIDs");
  return static_cast<Lid>(lids_);
}

SwitchDraft NetworkDraft::add_switch(std::string_view name, std::uint32_t ports, std::string_view group, RackId rack) {
  const std::string full_name = spec_.prefix + std::string(name);
  const std::string full_group = group.empty() ? std::string() : spec_.prefix + std::string(group);
  return builder_.add_switch({.guid = generated_switch_guid(builder_.switch_count()),
                              .name = full_name,
                              .description = {},
                              .ports = ports,
                              .subnet = subnet_,
                              .rack = rack,
                              .group = full_group,
                              .lid = next_lid(),
                              .lmc = 0});
}

void NetworkDraft::attach(SwitchDraft sw, std::uint32_t port, HcaDraft hca, RailId rail) {
  const Guid guid(generated_hca_guid(hca.index()).value() + 1);
  builder_.set_port(hca, 1, {.guid = guid, .lid = next_lid(), .lmc = 0, .rail = rail});
  builder_.connect({sw, port}, {hca, 1}, spec_.host_link);
}

void NetworkDraft::join(SwitchDraft a, std::uint32_t port_a, SwitchDraft b, std::uint32_t port_b) {
  builder_.connect({a, port_a}, {b, port_b}, spec_.switch_link);
}

NetworkSpec plane_network(const ClusterSpec& cluster, std::uint32_t plane) {
  const std::string& prefix = cluster.hosts.prefix;
  const bool alone = cluster.planes == 1;
  const std::string number = std::to_string(plane);
  return {.subnet = prefix + (alone ? "compute" : "compute-" + number),
          .kind = SubnetKind::compute,
          .prefix = prefix + (alone ? "" : "p" + number + "-"),
          .host_link = cluster.host_link,
          .switch_link = cluster.switch_link};
}

}  // namespace railweave::fabric
