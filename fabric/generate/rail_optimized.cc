#include "fabric/generate/rail_optimized.h"

#include <algorithm>
#include <string>

#include <fmt/core.h>

#include "fabric/generate/limits.h"
#include "fabric/generate/storage.h"

namespace railweave::fabric {
namespace {

// Whole racks, and whole NVLink domains or a whole fraction of one, so that units, racks and domains nest.
std::uint32_t choose_unit(const HostsSpec& hosts, std::uint32_t down_ports) {
  const std::uint32_t rack = std::max(1U, hosts.rack_size());
  const std::uint32_t domain = hosts.hosts_per_domain();
  for (std::uint32_t unit = down_ports / rack * rack; unit > 0; unit -= rack) {
    if (unit % domain == 0 || domain % unit == 0) return unit;
  }
  return down_ports;
}

}  // namespace

Result<void> generate_rail_optimized(const RailOptimizedSpec& spec, TopologyBuilder& builder) {
  const HostsSpec& hosts = spec.cluster.hosts;
  if (auto ok = check_cluster(spec.cluster); !ok) return ok;
  const auto ports = leaf_ports(spec.clos);
  if (!ports) return std::unexpected(ports.error());
  const std::uint32_t unit = spec.hosts_per_unit > 0 ? spec.hosts_per_unit : choose_unit(hosts, ports->down);
  if (unit > ports->down) {
    return impossible(
        fmt::format("rail units of {} hosts do not fit on the {} down ports of a leaf", unit, ports->down),
        "use fewer hosts per unit or a larger radix");
  }
  const std::uint32_t units = (hosts.hosts + unit - 1) / unit;
  const std::uint32_t rails = hosts.nics_per_host / spec.cluster.planes;  // of one plane
  const auto plan = plan_clos(spec.clos, std::uint64_t{units} * rails, rails);
  if (!plan) return std::unexpected(plan.error());
  const NetworkSize size{plan->switches(), plan->radix, std::uint64_t{hosts.hosts} * rails};
  if (auto ok = check_size(size, spec.cluster); !ok) return ok;

  const auto added = add_hosts(hosts, builder);
  if (!added) return std::unexpected(added.error());
  const HostBlock& block = *added;
  for (std::uint32_t plane = 0; plane < spec.cluster.planes; ++plane) {
    const PlaneAdapters adapters = plane_adapters(block, plane, spec.cluster.planes);
    NetworkDraft network(builder, plane_network(spec.cluster, plane));
    std::vector<SwitchDraft> leaves;  // unit by unit
    for (std::uint32_t u = 0; u < units; ++u) {
      for (std::uint32_t r = 0; r < rails; ++r) {
        const std::uint32_t rail = adapters.first + r;
        leaves.push_back(network.add_switch(fmt::format("{}-r{}", numbered("leaf-u", u, units), rail), plan->radix,
                                            pod_name(*plan, u * rails + r)));
      }
    }
    for (std::uint32_t r = 0; r < rails; ++r) {
      const RailId rail = builder.rail(fmt::format("{}rail-{}", hosts.prefix, adapters.first + r));
      for (std::uint32_t host = 0; host < hosts.hosts; ++host) {
        network.attach(leaves[host / unit * rails + r], host % unit + 1, adapters.at(host, r), rail);
      }
    }
    build_clos_above(*plan, leaves, network);
  }
  return add_storage(spec.cluster, block, builder);
}

Result<void> generate_rail_only(RailOnlySpec spec, TopologyBuilder& builder) {
  HostsSpec& hosts = spec.cluster.hosts;
  if (hosts.hosts > spec.radix) {
    return impossible(fmt::format("{} hosts do not fit on one leaf per rail with {} ports", hosts.hosts, spec.radix),
                      fmt::format("use at most {} hosts, or rail-optimized with one plane per rail", spec.radix));
  }
  spec.cluster.planes = hosts.nics_per_host;
  RailOptimizedSpec rails{.cluster = spec.cluster, .clos = {}, .hosts_per_unit = hosts.hosts};
  rails.clos.tiers = 1;
  rails.clos.radix = spec.radix;
  return generate_rail_optimized(rails, builder);
}

}  // namespace railweave::fabric
