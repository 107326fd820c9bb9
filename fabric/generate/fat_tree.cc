#include "fabric/generate/fat_tree.h"

#include <algorithm>
#include <string>

#include <fmt/core.h>

#include "fabric/generate/limits.h"
#include "fabric/generate/storage.h"

namespace railweave::fabric {
namespace {

// Sets the counts of a k-ary n-tree and returns its number of leaves; 0: not supported.
std::uint64_t apply_arity(std::uint32_t k, ClosSpec& clos) {
  if (k < 1 || k > TopologyBuilder::kMaxPortsPerDevice / 2 || clos.tiers < 1 || clos.tiers > 3) return 0;
  clos.radix = 2 * k;
  clos.down_ports = k;
  clos.uplinks = clos.tiers == 1 ? 0 : k;
  clos.spines = clos.tiers == 1 ? 0 : k;
  if (clos.tiers == 3) {
    clos.leaves_per_pod = k;
    clos.spine_uplinks = k;
    clos.cores = k * k;
  }
  std::uint64_t leaves = 1;
  for (std::uint32_t tier = 1; tier < clos.tiers; ++tier) leaves *= k;
  return leaves;
}

}  // namespace

Result<void> generate_fat_tree(FatTreeSpec spec, TopologyBuilder& builder) {
  HostsSpec& hosts = spec.cluster.hosts;
  const std::uint64_t whole_tree = spec.arity > 0 ? apply_arity(spec.arity, spec.clos) : 0;
  if (spec.arity > 0 && whole_tree == 0) {
    return impossible(fmt::format("a {}-ary tree of {} tiers is not supported", spec.arity, spec.clos.tiers),
                      "arity 1 to 512 and 1 to 3 tiers are possible");
  }
  const auto ports = leaf_ports(spec.clos);
  if (!ports) return std::unexpected(ports.error());
  const std::uint32_t per_host = hosts.nics_per_host / std::max(1U, spec.cluster.planes);
  const std::uint32_t fit = ports->down / std::max(1U, per_host);
  const std::uint32_t per_leaf = spec.hosts_per_leaf > 0 ? spec.hosts_per_leaf : fit;
  if (per_leaf == 0 || per_leaf > fit) {
    return impossible(fmt::format("{} hosts of {} adapters do not fit the {} down ports of a leaf",
                                  std::max(1U, per_leaf), per_host, ports->down),
                      "use fewer adapters or hosts per leaf, a larger radix or more planes");
  }
  if (hosts.hosts == 0 && whole_tree > 0) {
    hosts.hosts = static_cast<std::uint32_t>(std::min<std::uint64_t>(whole_tree * per_leaf, UINT32_MAX));
  }
  if (auto ok = check_cluster(spec.cluster); !ok) return ok;
  const std::uint64_t leaves = whole_tree > 0 ? whole_tree : (hosts.hosts + per_leaf - 1) / per_leaf;
  if (leaves * per_leaf < hosts.hosts) {
    return impossible(fmt::format("{} hosts do not fit in a tree of {}", hosts.hosts, leaves * per_leaf),
                      "use a larger arity or more tiers");
  }
  const auto plan = plan_clos(spec.clos, leaves);
  if (!plan) return std::unexpected(plan.error());
  const NetworkSize size{plan->switches(), plan->radix, std::uint64_t{hosts.hosts} * per_host};
  if (auto ok = check_size(size, spec.cluster); !ok) return ok;

  const auto added = add_hosts(hosts, builder);
  if (!added) return std::unexpected(added.error());
  const HostBlock& block = *added;
  for (std::uint32_t plane = 0; plane < spec.cluster.planes; ++plane) {
    const PlaneAdapters adapters = plane_adapters(block, plane, spec.cluster.planes);
    NetworkDraft network(builder, plane_network(spec.cluster, plane));
    std::vector<SwitchDraft> leaf_switches;
    for (std::uint32_t leaf = 0; leaf < plan->leaves; ++leaf) {
      leaf_switches.push_back(
          network.add_switch(numbered("leaf-", leaf, plan->leaves), plan->radix, pod_name(*plan, leaf)));
    }
    for (std::uint32_t host = 0; host < hosts.hosts; ++host) {
      for (std::uint32_t n = 0; n < per_host; ++n) {
        network.attach(leaf_switches[host / per_leaf], host % per_leaf * per_host + n + 1, adapters.at(host, n));
      }
    }
    build_clos_above(*plan, leaf_switches, network);
  }
  return add_storage(spec.cluster, block, builder);
}

}  // namespace railweave::fabric
