#include "fabric/generate/kind_readers.h"

#include <algorithm>

#include "fabric/generate/dragonfly.h"
#include "fabric/generate/fat_tree.h"
#include "fabric/generate/limits.h"
#include "fabric/generate/rail_optimized.h"
#include "fabric/generate/torus.h"

namespace railweave::fabric {
namespace {

constexpr std::uint32_t kMaxPortsPerSwitch = TopologyBuilder::kMaxPortsPerDevice;
constexpr std::uint32_t kMaxPerHost = 64;

// How a kind's parameters of a cluster differ from those of other kinds.
struct ClusterReading {
  std::uint32_t hosts_fallback = 0;  // 0: all that the network can hold
  std::string_view adapters_name = "nics-per-host";
  std::string_view adapters_meaning = "adapters, paired with GPUs in order; auto: one per GPU";
  bool planes = true;
};

constexpr std::string_view kRailsMeaning = "adapters per host, one on each rail; auto: one per GPU";

ClusterSpec read_cluster(ParameterReader& reader, const ClusterReading& how) {
  ClusterSpec cluster;
  HostsSpec& hosts = cluster.hosts;
  hosts.hosts =
      how.hosts_fallback > 0
          ? reader.number("hosts", "number of hosts", how.hosts_fallback, 1, kMaxGeneratedHosts)
          : reader.number_or_auto("hosts", "number of hosts; auto: all that fit", 1, kMaxGeneratedHosts).value_or(0);
  const auto domain = reader.number_or_auto(
      "nvlink-domain", "GPUs per NVLink domain: 8, 36, 72, 576 ...; 1: no NVLink; auto: those of a host", 1, 4608);
  const auto gpus = reader.number_or_auto(
      "gpus-per-host", "GPUs of a host; auto: 8, or 4 where an NVLink domain is larger than 8", 0, kMaxPerHost);
  hosts.gpus_per_host = gpus.value_or(domain.value_or(8) > 8 ? 4 : 8);
  hosts.nvlink_domain = domain.value_or(hosts.gpus_per_host);
  const auto nics = reader.number_or_auto(how.adapters_name, how.adapters_meaning, 1, kMaxPerHost);
  hosts.nics_per_host = nics.value_or(std::max(1U, hosts.gpus_per_host));
  hosts.hosts_per_rack =
      reader
          .number_or_auto("hosts-per-rack",
                          "hosts of a rack; auto: racks of 72 GPUs where NVLink domains span hosts, else no racks", 1,
                          kMaxGeneratedHosts)
          .value_or(0);
  const auto nvlink = reader.number_or_auto(
      "nvlink-gbps", "NVLink Gb/s per GPU and direction; auto: 3600 within a host, 7200 across hosts", 1, 1'000'000);
  if (nvlink) hosts.nvlink_rate = from_gbps(*nvlink);
  hosts.prefix = reader.word("prefix", "prefix of every name", "");
  if (how.planes) {
    cluster.planes = reader.number(
        "planes", "parallel networks, each a subnet, over which a host's adapters are spread", 1, 1, kMaxPerHost);
  }
  cluster.host_link =
      reader.link("speed", "speed of links to hosts: EDR, HDR, NDR, XDR, or Ethernet such as 400G", "NDR");
  const std::string_view uplink_meaning = "speed of links between switches; auto: that of links to hosts";
  cluster.switch_link = reader.link_or("uplink-speed", uplink_meaning, cluster.host_link);
  cluster.storage_servers =
      reader.number("storage-servers", "servers on a separate storage network, to which every host has an adapter", 0,
                    0, kMaxGeneratedHosts);
  return cluster;
}

ClosSpec read_clos(ParameterReader& reader) {
  ClosSpec clos;
  clos.tiers = reader.number("tiers", "tiers of switches", 2, 1, 3);
  clos.radix = reader.number("radix", "ports of a switch", 64, 2, kMaxPortsPerSwitch);
  clos.oversubscription = reader.ratio("oversubscription", "of a leaf: down ports to uplinks, as 1, 1.5 or 3:1");
  const auto count = [&](std::string_view name, std::string_view meaning, std::uint32_t most) {
    return reader.number_or_auto(name, meaning, 1, most).value_or(0);
  };
  clos.down_ports = count("down-ports", "down ports of a leaf", kMaxPortsPerSwitch);
  clos.uplinks = count("uplinks", "uplinks of a leaf", kMaxPortsPerSwitch);
  clos.spines =
      count("spines", "spines of a pod, or in total with two tiers; must divide the uplinks", kMaxPortsPerSwitch);
  clos.leaves_per_pod = count("leaves-per-pod", "leaves of a pod, with three tiers", kMaxPortsPerSwitch);
  clos.spine_uplinks =
      count("spine-uplinks", "uplinks of a spine, with three tiers; auto: not oversubscribed", kMaxPortsPerSwitch);
  clos.cores = count("cores", "cores in total, with three tiers", TopologyBuilder::kMaxSwitches);
  return clos;
}

GenerateStep read_fat_tree(ParameterReader& reader) {
  FatTreeSpec spec;
  spec.arity = reader
                   .number_or_auto("arity", "k of a k-ary n-tree, n being the tiers; sets all counts below it", 1,
                                   kMaxPortsPerSwitch / 2)
                   .value_or(0);
  spec.cluster = read_cluster(reader, {.hosts_fallback = spec.arity > 0 ? 0U : 128U});
  spec.clos = read_clos(reader);
  spec.hosts_per_leaf =
      reader.number_or_auto("hosts-per-leaf", "hosts of a leaf; auto: all that fit", 1, kMaxPortsPerSwitch).value_or(0);
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
                          kMaxPortsPerSwitch)
          .value_or(0);
  return [spec](TopologyBuilder& builder) { return generate_rail_optimized(spec, builder); };
}

GenerateStep read_rail_only(ParameterReader& reader) {
  RailOnlySpec spec;
  spec.cluster = read_cluster(
      reader, {.hosts_fallback = 32, .adapters_name = "rails", .adapters_meaning = kRailsMeaning, .planes = false});
  spec.radix = reader.number("radix", "ports of a switch", 64, 2, kMaxPortsPerSwitch);
  return [spec](TopologyBuilder& builder) { return generate_rail_only(spec, builder); };
}

GenerateStep read_dragonfly(ParameterReader& reader) {
  DragonflySpec spec;
  spec.cluster = read_cluster(reader, {});
  spec.switches_per_group = reader.number("switches-per-group", "switches of a group (a)", 4, 1, kMaxPortsPerSwitch);
  spec.hosts_per_switch = reader.number("hosts-per-switch", "hosts of a switch (p)", 2, 1, kMaxPortsPerSwitch);
  spec.global_links =
      reader.number("global-links", "links of one switch to other groups (h)", 2, 0, kMaxPortsPerSwitch);
  spec.groups =
      reader.number_or_auto("groups", "number of groups (g); auto: for the hosts given, else a * h + 1", 1, 1U << 16U)
          .value_or(0);
  spec.radix =
      reader.number_or_auto("radix", "ports of a switch; auto: the number needed", 2, kMaxPortsPerSwitch).value_or(0);
  return [spec](TopologyBuilder& builder) { return generate_dragonfly(spec, builder); };
}

GenerateStep read_dragonfly_plus(ParameterReader& reader) {
  DragonflyPlusSpec spec;
  spec.cluster = read_cluster(reader, {});
  spec.leaves_per_group = reader.number("leaves-per-group", "leaves of a group, each joined to every spine of it", 4, 1,
                                        kMaxPortsPerSwitch);
  spec.spines_per_group =
      reader.number("spines-per-group", "spines of a group, with links to other groups", 4, 1, kMaxPortsPerSwitch);
  spec.hosts_per_leaf = reader.number("hosts-per-leaf", "hosts of a leaf", 4, 1, kMaxPortsPerSwitch);
  spec.global_links = reader.number("global-links", "links of one spine to other groups", 4, 0, kMaxPortsPerSwitch);
  spec.groups =
      reader.number_or_auto("groups", "number of groups; auto: for the hosts given, else the maximum", 1, 1U << 16U)
          .value_or(0);
  spec.radix =
      reader.number_or_auto("radix", "ports of a switch; auto: the number needed", 2, kMaxPortsPerSwitch).value_or(0);
  return [spec](TopologyBuilder& builder) { return generate_dragonfly_plus(spec, builder); };
}

GenerateStep read_torus(ParameterReader& reader) {
  TorusSpec spec;
  spec.cluster = read_cluster(reader, {});
  spec.x = reader.number("x", "switches in the first dimension", 4, 1, 1024);
  spec.y = reader.number("y", "switches in the second dimension", 4, 1, 1024);
  spec.z = reader.number("z", "switches in the third dimension", 4, 1, 1024);
  spec.hosts_per_switch = reader.number("hosts-per-switch", "hosts of a switch", 1, 1, kMaxPortsPerSwitch);
  spec.links_per_neighbour = reader.number("links-per-neighbour", "parallel links between neighbours", 1, 1, 128);
  return [spec](TopologyBuilder& builder) { return generate_torus(spec, builder); };
}

}  // namespace

const std::vector<KindReader>& kind_readers() {
  static const std::vector<KindReader> readers{
      {"fat-tree", "fat tree of 1 to 3 tiers: any radix and oversubscription, or a k-ary n-tree", read_fat_tree},
      {"rail-optimized", "one leaf per rail and rail unit, joined by spines and, with three tiers, cores",
       read_rail_optimized},
      {"rail-only", "one leaf per rail and no spines: every rail is a separate network", read_rail_only},
      {"dragonfly", "groups of fully meshed switches, every two groups joined", read_dragonfly},
      {"dragonfly-plus", "groups of leaves and spines, every two groups joined by their spines", read_dragonfly_plus},
      {"torus", "3D torus with wrap-around", read_torus},
  };
  return readers;
}

}  // namespace railweave::fabric
