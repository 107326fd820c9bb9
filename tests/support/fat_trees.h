// Fat trees of any shape for tests and benchmarks, made with TopologyBuilder; independent of fabric/generate.
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

// Three tiers; two where cores_per_spine is 0. Every leaf of a pod is cabled to all spines of the pod, and spine i of
// every pod to the i-th group of cores.
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
  unsigned planes = 1;          // number of copies of the tree, each a subnet
  std::uint64_t guid_seed = 0;  // not 0: GUIDs in random order
  unsigned lost_permille = 0;   // of the cables between switches, by a fixed seed

  [[nodiscard]] unsigned hosts() const { return planes * pods * leaves_per_pod * hosts_per_leaf; }
};

// Builds a tree plane by plane.
class FatTreeBuilder {
 public:
  explicit FatTreeBuilder(const FatTreeShape& shape)
      : shape_(shape),
        leaves_(shape.pods * shape.leaves_per_pod),
        spines_(shape.pods * shape.spines_per_pod),
        cores_(shape.spines_per_pod * shape.cores_per_spine),
        guids_(std::size_t{leaves_ + spines_ + cores_} * shape.planes) {
    std::iota(guids_.begin(), guids_.end(), 0x1000U);
    if (shape.guid_seed == 0) return;
    std::mt19937_64 random(shape.guid_seed);
    std::shuffle(guids_.begin(), guids_.end(), random);
  }

  Topology build() && {
    for (unsigned plane = 0; plane < shape_.planes; ++plane) add_plane(plane);
    return std::move(builder_).build().value();
  }

 private:
  struct PlaneDraft {
    unsigned number = 0;
    SubnetId subnet;
    std::vector<SwitchDraft> leaf, spine, core;
  };

  void add_plane(unsigned number) {
    PlaneDraft plane{number, builder_.subnet("plane-" + std::to_string(number), SubnetKind::compute), {}, {}, {}};
    for (unsigned i = 0; i < leaves_; ++i) {
      const unsigned ports = shape_.hosts_per_leaf + shape_.spines_per_pod * shape_.leaf_cables;
      plane.leaf.push_back(add_switch(plane, "leaf-" + std::to_string(i), ports));
    }
    for (unsigned i = 0; i < spines_; ++i) {
      const unsigned ports = shape_.leaves_per_pod * shape_.leaf_cables + shape_.cores_per_spine * shape_.spine_cables;
      plane.spine.push_back(add_switch(plane, "spine-" + std::to_string(i), ports));
    }
    for (unsigned i = 0; i < cores_; ++i) {
      plane.core.push_back(add_switch(plane, "core-" + std::to_string(i), shape_.pods * shape_.spine_cables));
    }
    for (unsigned i = 0; i < leaves_; ++i) {
      for (unsigned h = 0; h < shape_.hosts_per_leaf; ++h) add_host(plane, i, h);
      cable_leaf(plane, i);
    }
    for (unsigned i = 0; i < spines_; ++i) cable_spine(plane, i);
  }

  SwitchDraft add_switch(const PlaneDraft& plane, const std::string& name, unsigned ports) {
    const std::string full = "p" + std::to_string(plane.number) + "-" + name;
    const SwitchDraft sw = builder_.add_switch({.guid = Guid(guids_[next_guid_++]),
                                                .name = full,
                                                .description = {},
                                                .ports = ports + 1,
                                                .subnet = plane.subnet,
                                                .rack = {},
                                                .group = {}});
    if (!shape_.aggregation_nodes) return sw;
    const HcaDraft node = builder_.add_hca({.guid = Guid(next_hca_guid_),
                                            .kind = HcaKind::aggregation,
                                            .host = {},
                                            .device = {},
                                            .description = "Aggregation Node",
                                            .ports = 1});
    builder_.set_port(node, 1, {.guid = Guid(next_hca_guid_++), .rail = {}});
    builder_.connect(CableEnd(sw, ports + 1), CableEnd(node, 1), cable_);
    return sw;
  }

  // Host h of leaf i: its adapter of the plane, and with the first plane its GPUs.
  void add_host(const PlaneDraft& plane, unsigned i, unsigned h) {
    const std::string name = "node-" + std::to_string(i * shape_.hosts_per_leaf + h);
    const HostDraft host = builder_.host(name);
    const HcaDraft hca = builder_.add_hca({.guid = Guid(next_hca_guid_),
                                           .host = host,
                                           .device = "mlx5_" + std::to_string(plane.number),
                                           .description = {},
                                           .ports = 1});
    builder_.set_port(hca, 1, {.guid = Guid(next_hca_guid_++), .rail = {}});
    builder_.connect(CableEnd(plane.leaf[i], h + 1), CableEnd(hca, 1), cable_);
    if (shape_.gpus_per_host == 0 || plane.number != 0) return;
    const auto domain = builder_.nvlink_domain(name, "", from_gbps(3600));
    for (unsigned g = 0; g < shape_.gpus_per_host; ++g) {
      const auto gpu = builder_.add_gpu(host);
      builder_.set_nvlink_domain(gpu, domain);
      builder_.add_nic(gpu, hca);
    }
  }

  void cable_leaf(const PlaneDraft& plane, unsigned i) {
    const unsigned pod = i / shape_.leaves_per_pod, in_pod = i % shape_.leaves_per_pod;
    for (unsigned s = 0; s < shape_.spines_per_pod; ++s) {
      for (unsigned c = 0; c < shape_.leaf_cables; ++c) {
        if (is_lost()) continue;
        builder_.connect(CableEnd(plane.leaf[i], shape_.hosts_per_leaf + s * shape_.leaf_cables + c + 1),
                         CableEnd(plane.spine[pod * shape_.spines_per_pod + s], in_pod * shape_.leaf_cables + c + 1),
                         cable_);
      }
    }
  }

  void cable_spine(const PlaneDraft& plane, unsigned i) {
    const unsigned pod = i / shape_.spines_per_pod, in_pod = i % shape_.spines_per_pod;
    const unsigned first_up = shape_.leaves_per_pod * shape_.leaf_cables;
    for (unsigned k = 0; k < shape_.cores_per_spine; ++k) {
      for (unsigned c = 0; c < shape_.spine_cables; ++c) {
        if (is_lost()) continue;
        builder_.connect(CableEnd(plane.spine[i], first_up + k * shape_.spine_cables + c + 1),
                         CableEnd(plane.core[in_pod * shape_.cores_per_spine + k], pod * shape_.spine_cables + c + 1),
                         cable_);
      }
    }
  }

  bool is_lost() { return shape_.lost_permille > 0 && lost_() % 1000 < shape_.lost_permille; }

  const FatTreeShape& shape_;
  std::mt19937_64 lost_{1};
  unsigned leaves_, spines_, cores_;
  TopologyBuilder builder_;
  LinkSpec cable_ = infiniband_link(4, LinkSpeed::ndr);
  std::vector<std::uint64_t> guids_;  // of switches
  std::size_t next_guid_ = 0;
  std::uint64_t next_hca_guid_ = 0x1000000;
};

inline Topology build_fat_tree(const FatTreeShape& shape) { return FatTreeBuilder(shape).build(); }

inline TopologyPtr make_fat_tree(const FatTreeShape& shape) {
  return std::make_shared<const Topology>(build_fat_tree(shape));
}

// The sizes of the benchmarks.
inline FatTreeShape tree_of_648() {  // 3 tiers
  return {.hosts_per_leaf = 6, .leaves_per_pod = 6, .spines_per_pod = 6, .pods = 18, .cores_per_spine = 6};
}
inline FatTreeShape tree_of_1728() {
  return {.hosts_per_leaf = 12, .leaves_per_pod = 12, .spines_per_pod = 12, .pods = 12, .cores_per_spine = 12};
}
inline FatTreeShape tree_of_3456() {
  return {.hosts_per_leaf = 12, .leaves_per_pod = 12, .spines_per_pod = 12, .pods = 24, .cores_per_spine = 12};
}
inline FatTreeShape tree_of_11664() {  // 1,620 switches of 36 ports, 23,328 links
  return {.hosts_per_leaf = 18, .leaves_per_pod = 18, .spines_per_pod = 18, .pods = 36, .cores_per_spine = 18};
}
inline FatTreeShape tree_of_65536() {  // two planes of 32,768: a subnet has 49,151 unicast LIDs
  return {
      .hosts_per_leaf = 32, .leaves_per_pod = 32, .spines_per_pod = 32, .pods = 32, .cores_per_spine = 32, .planes = 2};
}

}  // namespace railweave::fabric::testing
