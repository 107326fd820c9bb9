#include "planned_fabric.h"

#include <algorithm>
#include <map>
#include <optional>

#include <gtest/gtest.h>

namespace railweave::scheduler::testing_support {

using fabric::LevelKind;

std::size_t PlannedFabric::gpus() const {
  std::size_t count = 0;
  for (const auto& host : hosts) count += host.domain_of_gpu.size();
  return count;
}

PlacementFabricPtr PlannedFabric::build() const {
  fabric::TopologyBuilder builder;
  std::map<unsigned, fabric::SwitchDraft> leaf_of_rail;
  std::map<unsigned, unsigned> ports_used;
  std::uint64_t guid = 1;
  std::optional<fabric::SwitchDraft> spine;
  unsigned spine_ports = 0;
  const auto subnet = builder.subnet("compute", fabric::SubnetKind::compute);
  for (std::size_t h = 0; h < hosts.size(); ++h) {
    const PlannedHost& plan = hosts[h];
    const auto host = builder.host("node-" + std::to_string(h));
    for (const auto& [key, value] : plan.labels) builder.add_label(host, key, value);
    std::vector<fabric::HcaDraft> nics;
    for (std::size_t n = 0; n < plan.rail_of_nic.size(); ++n) {
      const unsigned rail = plan.rail_of_nic[n];
      const std::string device = "mlx5_" + std::to_string(n);
      const auto nic =
          builder.add_hca({.guid = Guid(0x100000 + guid++), .host = host, .device = device, .description = device});
      fabric::HcaPortSpec port;
      port.guid = Guid(0x200000 + guid++);
      port.rail = builder.rail("rail-" + std::to_string(rail));
      builder.set_port(nic, 1, port);
      if (!leaf_of_rail.contains(rail)) {
        const std::string name = "leaf-" + std::to_string(rail);
        fabric::SwitchSpec leaf;
        leaf.guid = Guid(0x300000 + guid++);
        leaf.name = name;
        leaf.ports = 512;
        leaf.subnet = subnet;
        leaf_of_rail[rail] = builder.add_switch(leaf);
        if (!rails_apart) {
          fabric::SwitchSpec above{.guid = Guid(0x400000), .name = "spine", .ports = 512, .subnet = subnet};
          if (!spine) spine = builder.add_switch(above);
          builder.connect({leaf_of_rail[rail], 512}, {*spine, ++spine_ports},
                          fabric::infiniband_link(4, fabric::LinkSpeed::ndr));
        }
      }
      builder.connect({nic, 1}, {leaf_of_rail[rail], ++ports_used[rail]},
                      fabric::infiniband_link(4, fabric::LinkSpeed::ndr));
      nics.push_back(nic);
    }
    for (std::size_t g = 0; g < plan.domain_of_gpu.size(); ++g) {
      const auto gpu = builder.add_gpu(host);
      const int domain = plan.domain_of_gpu[g];
      if (domain >= 0) {
        builder.set_nvlink_domain(gpu, builder.nvlink_domain("domain-" + std::to_string(domain), "", from_gbps(900)));
      }
      if (g < plan.nics_of_gpu.size()) {
        for (const unsigned nic : plan.nics_of_gpu[g]) builder.add_nic(gpu, nics[nic]);
      }
    }
  }
  auto topology = std::move(builder).build();
  EXPECT_TRUE(topology) << topology.error().text();

  fabric::Locality locality;
  for (std::size_t l = 0; l < levels.size(); ++l) {
    fabric::Level level{.kind = levels[l], .group_of_host = {}, .group_count = 0, .group_names = {}};
    std::map<std::uint32_t, std::uint32_t> dense;
    for (const auto& host : hosts) {
      const auto [at, added] = dense.try_emplace(host.groups[l], static_cast<std::uint32_t>(dense.size()));
      if (added) level.group_names.push_back(std::string(to_string(levels[l])) + "-" + std::to_string(host.groups[l]));
      level.group_of_host.push_back(at->second);
    }
    level.group_count = static_cast<std::uint32_t>(dense.size());
    locality.levels.push_back(std::move(level));
  }
  return std::make_shared<const PlacementFabric>(std::make_shared<const fabric::Topology>(std::move(*topology)),
                                                 std::move(locality));
}

PlannedFabric regular_fabric(std::size_t hosts, unsigned gpus,
                             const std::vector<std::pair<LevelKind, unsigned>>& sizes) {
  PlannedFabric plan;
  for (const auto& [kind, size] : sizes) plan.levels.push_back(kind);
  plan.levels.push_back(LevelKind::cluster);
  for (std::size_t h = 0; h < hosts; ++h) {
    PlannedHost host;
    host.domain_of_gpu.assign(gpus, static_cast<int>(h));
    for (const auto& [kind, size] : sizes) host.groups.push_back(static_cast<std::uint32_t>(h / size));
    host.groups.push_back(0);
    plan.hosts.push_back(std::move(host));
  }
  return plan;
}

PlannedFabric random_fabric(Random& random, std::size_t most_hosts, unsigned most_gpus) {
  PlannedFabric plan;
  // Hosts per group, rising; a level is there or not.
  const bool domains_span_hosts = below(random, 3) == 0;
  std::vector<std::pair<LevelKind, std::uint64_t>> sizes;
  if (domains_span_hosts) sizes.emplace_back(LevelKind::nvlink_domain, 2 + below(random, 3));
  for (const auto kind : {LevelKind::rack, LevelKind::leaf_group, LevelKind::pod}) {
    const std::uint64_t before = sizes.empty() ? 1 : sizes.back().second;
    if (below(random, 3) > 0) sizes.emplace_back(kind, before * (1 + below(random, 3)) + (sizes.empty() ? 1 : 0));
  }
  for (const auto& [kind, size] : sizes) plan.levels.push_back(kind);
  plan.levels.push_back(LevelKind::cluster);

  const std::size_t hosts = 1 + below(random, most_hosts);
  const bool uniform = below(random, 2) == 0;
  const auto usual = static_cast<unsigned>(1 + below(random, most_gpus));
  const std::uint64_t domain_style = below(random, 4);
  std::vector<std::uint32_t> group(sizes.size(), 0);
  for (std::size_t h = 0; h < hosts; ++h) {
    // A group ends with about its usual size, and only where the one inside it ends, so that they nest.
    bool ends = h > 0;
    for (std::size_t l = 0; l < sizes.size(); ++l) {
      const std::uint64_t share =
          l == 0 ? sizes[0].second : std::max<std::uint64_t>(1, sizes[l].second / sizes[l - 1].second);
      ends = ends && below(random, share) == 0;
      if (ends) ++group[l];
    }
    PlannedHost host;
    const auto gpus = uniform ? usual : static_cast<unsigned>(below(random, most_gpus + 1));
    for (unsigned g = 0; g < gpus; ++g) {
      int domain = static_cast<int>(h) * 8;
      if (domains_span_hosts)
        domain = static_cast<int>(group[0]);
      else if (domain_style == 1)
        domain += static_cast<int>(g * 2 / gpus);
      else if (domain_style == 2 && h % 3 == 0)
        domain = -1;
      else if (domain_style == 3)
        domain += static_cast<int>(g % 2);
      host.domain_of_gpu.push_back(domain);
    }
    host.groups = group;
    host.groups.push_back(0);
    host.labels.emplace_back("zone", below(random, 3) == 0 ? "b" : "a");
    plan.hosts.push_back(std::move(host));
  }
  if (below(random, 2) == 0) std::ranges::shuffle(plan.hosts, random);  // numbers need not follow groups
  return plan;
}

Allocations random_allocations(Random& random, const PlacementFabric& fabric, double fill) {
  const auto& topology = fabric.topology();
  Allocations allocations = no_allocations(topology);
  for (const auto host : topology.hosts()) {
    for (std::size_t g = 0; g < topology.gpus(host).size(); ++g) {
      if (static_cast<double>(below(random, 1000)) < fill * 1000)
        allocations.write(host.index()).used |= std::uint64_t{1} << g;
    }
    if (below(random, 20) == 0) allocations.write(host.index()).unavailable = true;
  }
  return allocations;
}

}  // namespace railweave::scheduler::testing_support
