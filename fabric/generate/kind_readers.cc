#include "fabric/generate/kind_readers.h"

#include <algorithm>

#include "fabric/generate/dragonfly.h"
#include "fabric/generate/fat_tree.h"
#include "fabric/generate/limits.h"
#include "fabric/generate/rail_optimized.h"
#include "fabric/generate/torus.h"

namespace railweave::fabric {
namespace {

constexpr std::uint32_t kMostPorts = TopologyBuilder::kMaxPortsPerDevice;
constexpr std::uint32_t kMostOfAHost = 64;

// What differs between the kinds in how they describe a cluster.
struct ClusterReading {
  std::uint32_t hosts_fallback = 0;  // 0: as many as the network holds
  std::string_view adapters_name = "nics-per-host";
  std::string_view adapters_meaning = "adapters, paired with GPUs in order; auto: one per GPU";
  bool planes = true;
};

constexpr std::string_view kRailsMeaning = "adapters per host, one on each rail; auto: one per GPU";

ClusterSpec read_cluster(ParameterReader& reader, const ClusterReading& how) {
  ClusterSpec cluster;
  HostsSpec& hosts = cluster.hosts;
  hosts.hosts = how.hosts_fallback > 0
                    ? reader.number("hosts", "hosts in all", how.hosts_fallback, 1, kMostHosts)
                    : reader.number_or_auto("hosts", "hosts in all; auto: all that fit", 1, kMostHosts).value_or(0);
  const auto domain = reader.number_or_auto(
      "nvlink-domain", "GPUs per NVLink domain: 8, 36, 72, 576 ...; 1: no NVLink; auto: those of a host", 1, 4608);
  const auto gpus =
      reader.number_or_auto("gpus-per-host", "auto: 8, and 4 where an NVLink domain is larger than 8", 0, kMostOfAHost);
  hosts.gpus_per_host = gpus.value_or(domain.value_or(8) > 8 ? 4 : 8);
  hosts.nvlink_domain = domain.value_or(hosts.gpus_per_host);
  const auto nics = reader.number_or_auto(how.adapters_name, how.adapters_meaning, 1, kMostOfAHost);
  hosts.nics_per_host = nics.value_or(std::max(1U, hosts.gpus_per_host));
  hosts.hosts_per_rack =
      reader
          .number_or_auto("hosts-per-rack", "auto: racks of 72 GPUs where NVLink domains span hosts, else no racks", 1,
                          kMostHosts)
          .value_or(0);
  const auto nvlink = reader.number_or_auto(
      "nvlink-gbps", "per GPU and direction; auto: 3600 within a host, 7200 across", 1, 1'000'000);
  if (nvlink) hosts.nvlink_rate = from_gbps(*nvlink);
  hosts.prefix = reader.word("prefix", "before every name", "");
  if (how.planes) {
    cluster.planes = reader.number(
        "planes", "parallel networks, each a subnet, over which a host's adapters are spread", 1, 1, kMostOfAHost);
  }
  cluster.host_link = reader.link("speed", "of links to hosts: EDR, HDR, NDR, XDR, or Ethernet such as 400G", "NDR");
  const std::string_view uplink_meaning = "of links between switches; auto: as speed";
  cluster.switch_link = reader.link_or("uplink-speed", uplink_meaning, cluster.host_link);
  cluster.storage_servers =
      reader.number("storage-servers", "servers on a storage network of their own, to which every host has an adapter",
                    0, 0, kMostHosts);
  return cluster;
}

ClosSpec read_clos(ParameterReader& reader) {
  ClosSpec clos;
  clos.tiers = reader.number("tiers", "of switches", 2, 1, 3);
  clos.radix = reader.number("radix", "ports of a switch", 64, 2, kMostPorts);
  clos.oversubscription = reader.ratio("oversubscription", "of a leaf, down ports to uplinks: 1, 1.5, 3:1");
  const auto count = [&](std::string_view name, std::string_view meaning, std::uint32_t most) {
    return reader.number_or_auto(name, meaning, 1, most).value_or(0);
  };
  clos.down_ports = count("down-ports", "of a leaf", kMostPorts);
  clos.uplinks = count("uplinks", "of a leaf", kMostPorts);
  clos.spines = count("spines", "of a pod, or in all with two tiers; must divide the uplinks", kMostPorts);
  clos.leaves_per_pod = count("leaves-per-pod", "three tiers", kMostPorts);
  clos.spine_uplinks = count("spine-uplinks", "three tiers; auto: not oversubscribed", kMostPorts);
  clos.cores = count("cores", "three tiers, in all", TopologyBuilder::kMaxSwitches);
  return clos;
}

GenerateStep read_fat_tree(ParameterReader& reader) {
  FatTreeSpec spec;
  spec.arity =
      reader.number_or_auto("arity", "k of a k-ary n-tree, n being the tiers; sets all counts below", 1, kMostPorts / 2)
          .value_or(0);
  spec.cluster = read_cluster(reader, {.hosts_fallback = spec.arity > 0 ? 0U : 128U});
  spec.clos = read_clos(reader);
  spec.hosts_per_leaf = reader.number_or_auto("hosts-per-leaf", "auto: all that fit", 1, kMostPorts).value_or(0);
  return [spec](TopologyBuilder& builder) { return generate_fat_tree(spec, builder); };
}

GenerateStep read_rail_optimized(ParameterReader& reader) {
  RailOptimizedSpec spec;
  spec.cluster =
      read_cluster(reader, {.hosts_fallback = 128, .adapters_name = "rails", .adapters_meaning = kRailsMeaning});
  spec.clos = read_clos(reader);
  spec.hosts_per_unit =
      reader
          .number_or_auto("hosts-per-unit", "hosts that share their leaves, one per rail; auto: all that fit", 1,
                          kMostPorts)
          .value_or(0);
  return [spec](TopologyBuilder& builder) { return generate_rail_optimized(spec, builder); };
}

GenerateStep read_rail_only(ParameterReader& reader) {
  RailOnlySpec spec;
  spec.cluster = read_cluster(
      reader, {.hosts_fallback = 32, .adapters_name = "rails", .adapters_meaning = kRailsMeaning, .planes = false});
  spec.radix = reader.number("radix", "ports of a switch", 64, 2, kMostPorts);
  return [spec](TopologyBuilder& builder) { return generate_rail_only(spec, builder); };
}

GenerateStep read_dragonfly(ParameterReader& reader) {
  DragonflySpec spec;
  spec.cluster = read_cluster(reader, {});
  spec.switches_per_group = reader.number("switches-per-group", "a", 4, 1, kMostPorts);
  spec.hosts_per_switch = reader.number("hosts-per-switch", "p", 2, 1, kMostPorts);
  spec.global_links = reader.number("global-links", "h, of one switch to other groups", 2, 0, kMostPorts);
  spec.groups =
      reader.number_or_auto("groups", "g; auto: for the hosts given, else a * h + 1", 1, 1U << 16U).value_or(0);
  spec.radix = reader.number_or_auto("radix", "ports of a switch; auto: those needed", 2, kMostPorts).value_or(0);
  return [spec](TopologyBuilder& builder) { return generate_dragonfly(spec, builder); };
}

GenerateStep read_dragonfly_plus(ParameterReader& reader) {
  DragonflyPlusSpec spec;
  spec.cluster = read_cluster(reader, {});
  spec.leaves_per_group =
      reader.number("leaves-per-group", "each joined to every spine of its group", 4, 1, kMostPorts);
  spec.spines_per_group = reader.number("spines-per-group", "with the links to other groups", 4, 1, kMostPorts);
  spec.hosts_per_leaf = reader.number("hosts-per-leaf", "hosts of a leaf", 4, 1, kMostPorts);
  spec.global_links = reader.number("global-links", "of one spine to other groups", 4, 0, kMostPorts);
  spec.groups =
      reader.number_or_auto("groups", "auto: for the hosts given, else all there can be", 1, 1U << 16U).value_or(0);
  spec.radix = reader.number_or_auto("radix", "ports of a switch; auto: those needed", 2, kMostPorts).value_or(0);
  return [spec](TopologyBuilder& builder) { return generate_dragonfly_plus(spec, builder); };
}

GenerateStep read_torus(ParameterReader& reader) {
  TorusSpec spec;
  spec.cluster = read_cluster(reader, {});
  spec.x = reader.number("x", "switches in this dimension", 4, 1, 1024);
  spec.y = reader.number("y", "switches in this dimension", 4, 1, 1024);
  spec.z = reader.number("z", "switches in this dimension", 4, 1, 1024);
  spec.hosts_per_switch = reader.number("hosts-per-switch", "hosts of a switch", 1, 1, kMostPorts);
  spec.links_per_neighbour = reader.number("links-per-neighbour", "parallel links between neighbours", 1, 1, 128);
  return [spec](TopologyBuilder& builder) { return generate_torus(spec, builder); };
}

}  // namespace

const std::vector<KindReader>& kind_readers() {
  static const std::vector<KindReader> readers{
      {"fat-tree", "fat tree of 1 to 3 tiers: any radix and oversubscription, or a k-ary n-tree", read_fat_tree},
      {"rail-optimized", "one leaf per rail and rail unit, joined by spines and, with three tiers, cores",
       read_rail_optimized},
      {"rail-only", "one leaf per rail and nothing above: every rail a network of its own", read_rail_only},
      {"dragonfly", "fully meshed groups of switches, every two groups joined", read_dragonfly},
      {"dragonfly-plus", "groups of leaves and spines, every two groups joined by their spines", read_dragonfly_plus},
      {"torus", "3D torus with wrap-around", read_torus},
  };
  return readers;
}

}  // namespace railweave::fabric
