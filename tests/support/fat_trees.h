// Fat trees of any shape for tests and benchmarks, as TopologyBuilder calls. Independent of fabric/generate.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "fabric/topology/topology.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric::testing {

// Three tiers; two where cores_per_spine is 0. A pod's leaves are each joined to all its spines; spine i of every pod
// to the cores of plane i.
struct FatTreeShape {
  unsigned hosts_per_leaf = 2;
  unsigned leaves_per_pod = 2;
  unsigned spines_per_pod = 2;
  unsigned pods = 2;
  unsigned cores_per_spine = 2;
  unsigned leaf_cables = 1;    // between a leaf and a spine
  unsigned spine_cables = 1;   // between a spine and a core
  unsigned gpus_per_host = 0;  // in an NVLink domain of the host, all on its adapter of the first plane
  bool aggregation_nodes = false;
  unsigned planes = 1;          // copies of the whole
  std::uint64_t guid_seed = 0;  // not 0: GUIDs in random order

  [[nodiscard]] unsigned hosts() const { return planes * pods * leaves_per_pod * hosts_per_leaf; }
};

inline Topology build_fat_tree(const FatTreeShape& shape) {
  TopologyBuilder builder;
  const LinkSpec cable = infiniband_link(4, LinkSpeed::ndr);
  const unsigned leaves = shape.pods * shape.leaves_per_pod, spines = shape.pods * shape.spines_per_pod;
  const unsigned cores = shape.spines_per_pod * shape.cores_per_spine;
  const unsigned per_plane = leaves + spines + cores;
  std::vector<std::uint64_t> guids(std::size_t{per_plane} * shape.planes);
  std::iota(guids.begin(), guids.end(), 0x1000U);
  if (shape.guid_seed != 0) {
    std::mt19937_64 random(shape.guid_seed);
    std::shuffle(guids.begin(), guids.end(), random);
  }
  std::uint64_t hca_guid = 0x1000000;
  std::size_t next = 0;
  for (unsigned plane = 0; plane < shape.planes; ++plane) {
    const SubnetId subnet = builder.subnet("plane-" + std::to_string(plane), SubnetKind::compute);
    const auto add = [&](const std::string& name, unsigned ports) {
      const std::string full = "p" + std::to_string(plane) + "-" + name;
      const SwitchDraft sw = builder.add_switch({.guid = Guid(guids[next++]),
                                                 .name = full,
                                                 .description = {},
                                                 .ports = ports + 1,
                                                 .subnet = subnet,
                                                 .rack = {},
                                                 .group = {}});
      if (shape.aggregation_nodes) {
        const HcaDraft node = builder.add_hca({.guid = Guid(hca_guid),
                                               .kind = HcaKind::aggregation,
                                               .host = {},
                                               .device = {},
                                               .description = "Aggregation Node",
                                               .ports = 1});
        builder.set_port(node, 1, {.guid = Guid(hca_guid++), .rail = {}});
        builder.connect(CableEnd(sw, ports + 1), CableEnd(node, 1), cable);
      }
      return sw;
    };
    std::vector<SwitchDraft> leaf, spine, core;
    for (unsigned i = 0; i < leaves; ++i) {
      leaf.push_back(add("leaf-" + std::to_string(i), shape.hosts_per_leaf + shape.spines_per_pod * shape.leaf_cables));
    }
    for (unsigned i = 0; i < spines; ++i) {
      spine.push_back(add("spine-" + std::to_string(i),
                          shape.leaves_per_pod * shape.leaf_cables + shape.cores_per_spine * shape.spine_cables));
    }
    for (unsigned i = 0; i < cores; ++i)
      core.push_back(add("core-" + std::to_string(i), shape.pods * shape.spine_cables));
    for (unsigned i = 0; i < leaves; ++i) {
      const unsigned pod = i / shape.leaves_per_pod, in_pod = i % shape.leaves_per_pod;
      for (unsigned h = 0; h < shape.hosts_per_leaf; ++h) {
        const HostDraft host = builder.host("node-" + std::to_string(i * shape.hosts_per_leaf + h));
        const HcaDraft hca = builder.add_hca({.guid = Guid(hca_guid),
                                              .host = host,
                                              .device = "mlx5_" + std::to_string(plane),
                                              .description = {},
                                              .ports = 1});
        builder.set_port(hca, 1, {.guid = Guid(hca_guid++), .rail = {}});
        builder.connect(CableEnd(leaf[i], h + 1), CableEnd(hca, 1), cable);
        if (shape.gpus_per_host == 0 || plane != 0) continue;
        const auto domain =
            builder.nvlink_domain("node-" + std::to_string(i * shape.hosts_per_leaf + h), "", from_gbps(3600));
        for (unsigned g = 0; g < shape.gpus_per_host; ++g) {
          const auto gpu = builder.add_gpu(host);
          builder.set_nvlink_domain(gpu, domain);
          builder.add_nic(gpu, hca);
        }
      }
      for (unsigned s = 0; s < shape.spines_per_pod; ++s) {
        for (unsigned c = 0; c < shape.leaf_cables; ++c) {
          builder.connect(CableEnd(leaf[i], shape.hosts_per_leaf + s * shape.leaf_cables + c + 1),
                          CableEnd(spine[pod * shape.spines_per_pod + s], in_pod * shape.leaf_cables + c + 1), cable);
        }
      }
    }
    for (unsigned i = 0; i < spines; ++i) {
      const unsigned pod = i / shape.spines_per_pod, in_pod = i % shape.spines_per_pod;
      for (unsigned k = 0; k < shape.cores_per_spine; ++k) {
        for (unsigned c = 0; c < shape.spine_cables; ++c) {
          builder.connect(CableEnd(spine[i], shape.leaves_per_pod * shape.leaf_cables + k * shape.spine_cables + c + 1),
                          CableEnd(core[in_pod * shape.cores_per_spine + k], pod * shape.spine_cables + c + 1), cable);
        }
      }
    }
  }
  return std::move(builder).build().value();
}

inline TopologyPtr make_fat_tree(const FatTreeShape& shape) {
  return std::make_shared<const Topology>(build_fat_tree(shape));
}

// The sizes the benchmarks and the issue speak of.
inline FatTreeShape tree_of_648() {  // 3 tiers
  return {.hosts_per_leaf = 6, .leaves_per_pod = 6, .spines_per_pod = 6, .pods = 18, .cores_per_spine = 6};
}
inline FatTreeShape tree_of_1728() {
  return {.hosts_per_leaf = 12, .leaves_per_pod = 12, .spines_per_pod = 12, .pods = 12, .cores_per_spine = 12};
}
inline FatTreeShape tree_of_11664() {  // 1,620 switches of 36 ports, 23,328 links
  return {.hosts_per_leaf = 18, .leaves_per_pod = 18, .spines_per_pod = 18, .pods = 36, .cores_per_spine = 18};
}
inline FatTreeShape tree_of_65536() {  // two planes of 32,768: a subnet has 49,151 unicast LIDs
  return {
      .hosts_per_leaf = 32, .leaves_per_pod = 32, .spines_per_pod = 32, .pods = 32, .cores_per_spine = 32, .planes = 2};
}

}  // namespace railweave::fabric::testing
