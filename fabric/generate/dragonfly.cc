#include "fabric/generate/dragonfly.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "fabric/generate/global_links.h"
#include "fabric/generate/limits.h"
#include "fabric/generate/storage.h"

namespace railweave::fabric {
namespace {

// The ports of a switch: the number needed, or the radix given if that is enough.
Result<std::uint32_t> choose_radix(std::uint32_t given, std::uint64_t needed) {
  if ((given == 0 || given >= needed) && needed <= TopologyBuilder::kMaxPortsPerDevice) {
    return given == 0 ? static_cast<std::uint32_t>(needed) : given;
  }
  return impossible(fmt::format("a switch needs {} ports and has {}", needed,
                                given == 0 ? TopologyBuilder::kMaxPortsPerDevice : given),
                    "use smaller groups, fewer hosts per switch, fewer global links or more planes");
}

// Hosts in order, all adapters of a host on one switch, on ports 1 and up.
void attach_hosts(const PlaneAdapters& adapters, std::uint32_t hosts_per_switch,
                  const std::vector<SwitchDraft>& switches, NetworkDraft& network) {
  for (std::uint32_t host = 0; host < adapters.hosts(); ++host) {
    for (std::uint32_t n = 0; n < adapters.per_host; ++n) {
      network.attach(switches[host / hosts_per_switch], host % hosts_per_switch * adapters.per_host + n + 1,
                     adapters.at(host, n));
    }
  }
}

}  // namespace

Result<void> generate_dragonfly(DragonflySpec spec, TopologyBuilder& builder) {
  const std::uint32_t a = spec.switches_per_group;
  if (a == 0 || spec.hosts_per_switch == 0 || spec.cluster.planes == 0) {
    return impossible("a dragonfly has no switches, hosts or planes", "use at least one of each");
  }
  HostsSpec& hosts = spec.cluster.hosts;
  const std::uint32_t host_ports = spec.hosts_per_switch * (hosts.nics_per_host / spec.cluster.planes);
  const auto radix = choose_radix(spec.radix, std::uint64_t{host_ports} + a - 1 + spec.global_links);
  if (!radix) return std::unexpected(radix.error());
  GlobalPorts global{0, a, spec.global_links, host_ports + a};
  const auto groups = plan_groups(spec.groups, global, a * spec.hosts_per_switch, hosts);
  if (!groups) return std::unexpected(groups.error());
  global.groups = *groups;
  if (auto ok = check_cluster(spec.cluster); !ok) return ok;
  const std::uint64_t adapter_ports = std::uint64_t{hosts.hosts} * hosts.nics_per_host / spec.cluster.planes;
  if (auto ok = check_size({std::uint64_t{a} * *groups, *radix, adapter_ports}, spec.cluster); !ok) return ok;

  const auto added = add_hosts(hosts, builder);
  if (!added) return std::unexpected(added.error());
  const HostBlock& block = *added;
  for (std::uint32_t plane = 0; plane < spec.cluster.planes; ++plane) {
    NetworkDraft network(builder, plane_network(spec.cluster, plane));
    std::vector<SwitchDraft> switches;
    for (std::uint32_t g = 0; g < *groups; ++g) {
      const std::string group = numbered("group-", g, *groups);
      for (std::uint32_t s = 0; s < a; ++s) {
        switches.push_back(network.add_switch(numbered("sw-", g * a + s, std::size_t{*groups} * a), *radix, group));
      }
      // Switch i's port to switch j is number j of its local ports, which have no port to itself.
      for (std::uint32_t i = 0; i < a; ++i) {
        for (std::uint32_t j = i + 1; j < a; ++j) {
          network.join(switches[g * a + i], host_ports + j, switches[g * a + j], host_ports + i + 1);
        }
      }
    }
    attach_hosts(plane_adapters(block, plane, spec.cluster.planes), spec.hosts_per_switch, switches, network);
    join_groups(global, switches, network);
  }
  return add_storage(spec.cluster, block, builder);
}

Result<void> generate_dragonfly_plus(DragonflyPlusSpec spec, TopologyBuilder& builder) {
  const std::uint32_t leaves = spec.leaves_per_group;
  const std::uint32_t spines = spec.spines_per_group;
  if (leaves == 0 || spines == 0 || spec.hosts_per_leaf == 0 || spec.cluster.planes == 0) {
    return impossible("a dragonfly+ has no leaves, spines, hosts or planes", "use at least one of each");
  }
  HostsSpec& hosts = spec.cluster.hosts;
  const std::uint32_t host_ports = spec.hosts_per_leaf * (hosts.nics_per_host / spec.cluster.planes);
  const auto radix =
      choose_radix(spec.radix, std::max(std::uint64_t{host_ports} + spines, std::uint64_t{leaves} + spec.global_links));
  if (!radix) return std::unexpected(radix.error());
  GlobalPorts global{0, spines, spec.global_links, leaves + 1};
  const auto groups = plan_groups(spec.groups, global, leaves * spec.hosts_per_leaf, hosts);
  if (!groups) return std::unexpected(groups.error());
  global.groups = *groups;
  if (auto ok = check_cluster(spec.cluster); !ok) return ok;
  const std::uint64_t adapter_ports = std::uint64_t{hosts.hosts} * hosts.nics_per_host / spec.cluster.planes;
  const std::uint64_t switch_count = std::uint64_t{leaves + spines} * *groups;
  if (auto ok = check_size({switch_count, *radix, adapter_ports}, spec.cluster); !ok) return ok;

  const auto added = add_hosts(hosts, builder);
  if (!added) return std::unexpected(added.error());
  const HostBlock& block = *added;
  for (std::uint32_t plane = 0; plane < spec.cluster.planes; ++plane) {
    NetworkDraft network(builder, plane_network(spec.cluster, plane));
    std::vector<SwitchDraft> leaf_switches;
    std::vector<SwitchDraft> spine_switches;
    for (std::uint32_t g = 0; g < *groups; ++g) {
      const std::string group = numbered("group-", g, *groups);
      for (std::uint32_t l = 0; l < leaves; ++l) {
        leaf_switches.push_back(
            network.add_switch(numbered("leaf-", g * leaves + l, std::size_t{*groups} * leaves), *radix, group));
      }
    }
    for (std::uint32_t g = 0; g < *groups; ++g) {
      const std::string group = numbered("group-", g, *groups);
      for (std::uint32_t s = 0; s < spines; ++s) {
        spine_switches.push_back(
            network.add_switch(numbered("spine-", g * spines + s, std::size_t{*groups} * spines), *radix, group));
        for (std::uint32_t l = 0; l < leaves; ++l) {
          network.join(leaf_switches[g * leaves + l], host_ports + s + 1, spine_switches.back(), l + 1);
        }
      }
    }
    attach_hosts(plane_adapters(block, plane, spec.cluster.planes), spec.hosts_per_leaf, leaf_switches, network);
    join_groups(global, spine_switches, network);
  }
  return add_storage(spec.cluster, block, builder);
}

}  // namespace railweave::fabric
