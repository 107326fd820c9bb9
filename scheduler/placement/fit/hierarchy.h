// The nested groups of a fabric that jobs are placed in, from leaves up to the whole: the static shape that all
// PlacementTrees share. Immutable after construction; any number of threads may read it.
//
// A leaf is the part of one host's GPUs that shares an NVLink domain (an "island"): the whole host on most machines,
// half of it on some. A group is *pooled* when all of its GPUs share one NVLink domain, so that a tensor group may
// straddle its hosts. Leaves are numbered so that every group of every level is one run of consecutive leaves and of
// child groups.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fabric/topology/locality.h"
#include "fabric/topology/topology.h"

namespace railweave::scheduler {

using LeafIndex = std::uint32_t;
using GroupIndex = std::uint32_t;

class Hierarchy {
 public:
  static constexpr unsigned kNoLevel = UINT32_MAX;

  // For a real fabric.
  Hierarchy(const fabric::Topology& topology, const fabric::Locality& locality);

  // For leaves that are just numbers of places: one level per entry, each mapping every leaf to a group, from near to
  // far and each a union of groups of the one before. Level 0, the leaves themselves, is implied. Not for Placer; for
  // BestFit alone.
  struct PlainLevel {
    std::vector<std::uint32_t> group_of_leaf;
  };
  Hierarchy(std::span<const std::uint32_t> leaf_capacity, std::span<const PlainLevel> levels);

  [[nodiscard]] unsigned level_count() const { return static_cast<unsigned>(levels_.size()); }
  [[nodiscard]] unsigned top() const { return level_count() - 1; }
  // The farthest level that a job may use, one that may span sites or not. Where no links join sites: top().
  [[nodiscard]] unsigned top(bool across_sites) const { return across_sites ? top() : within_site_; }
  // Levels above top(false) exist: some jobs may go farther than others.
  [[nodiscard]] bool joins_sites() const { return within_site_ != top(); }
  // The name of the level in messages: "site" for the cluster level where there are several sites, else its kind.
  [[nodiscard]] fabric::LevelKind called(unsigned level) const;
  [[nodiscard]] std::uint32_t group_count(unsigned level) const {
    return static_cast<std::uint32_t>(levels_[level].first_leaf.size() - 1);
  }
  [[nodiscard]] std::uint32_t leaf_count() const { return group_count(0); }
  [[nodiscard]] fabric::LevelKind kind(unsigned level) const { return levels_[level].kind; }
  // Children of a group of level >= 1 are groups [first_child(level, g), first_child(level, g + 1)) of level - 1.
  [[nodiscard]] GroupIndex first_child(unsigned level, GroupIndex group) const {
    return levels_[level].first_child[group];
  }
  [[nodiscard]] LeafIndex first_leaf(unsigned level, GroupIndex group) const {
    return levels_[level].first_leaf[group];
  }
  [[nodiscard]] GroupIndex parent(unsigned level, GroupIndex group) const { return levels_[level].parent[group]; }
  // The lowest level from `level` on that has both leaves in one group. top() where none has: after an import ranks may be
  // in parts of the fabric that nothing joins.
  [[nodiscard]] unsigned joining_level(unsigned level, LeafIndex a, LeafIndex b) const {
    while (level < top() && group_of_leaf(level, a) != group_of_leaf(level, b)) ++level;
    return level;
  }
  [[nodiscard]] GroupIndex group_of_leaf(unsigned level, LeafIndex leaf) const {
    return levels_[level].group_of_leaf[leaf];
  }
  [[nodiscard]] bool pooled(unsigned level, GroupIndex group) const { return levels_[level].pooled[group] != 0; }
  [[nodiscard]] std::uint32_t capacity(unsigned level, GroupIndex group) const {
    return levels_[level].capacity[group];
  }
  // Its children are alike: as many places in as many groups of as many groups.
  [[nodiscard]] bool uniform(unsigned level, GroupIndex group) const { return levels_[level].uniform[group] != 0; }
  [[nodiscard]] std::uint32_t max_capacity(unsigned level) const { return levels_[level].max_capacity; }

  [[nodiscard]] std::uint64_t total_capacity() const { return total_capacity_; }

  // The level whose groups are hosts, and the level that an asked-for kind means here; kNoLevel: this fabric has none.
  [[nodiscard]] unsigned host_level() const { return host_level_; }
  [[nodiscard]] unsigned level_of(fabric::LevelKind kind) const {
    return level_of_kind_[static_cast<std::size_t>(kind)];
  }

  // Every leaf has NVLink and level_of(nvlink_domain) is a level: being in one group of it is being in one domain.
  [[nodiscard]] bool domains_are_a_level() const { return domains_are_a_level_; }

  // --- for a plain hierarchy only: the leaf as it was given

  [[nodiscard]] std::uint32_t given_leaf(LeafIndex leaf) const { return plain_leaf_[leaf]; }

  // --- for a real fabric only

  [[nodiscard]] fabric::HostId host(LeafIndex leaf) const { return fabric::HostId(leaf_host_[leaf]); }
  [[nodiscard]] std::uint64_t gpu_mask(LeafIndex leaf) const { return leaf_mask_[leaf]; }
  [[nodiscard]] bool has_nvlink(LeafIndex leaf) const { return leaf_nvlink_[leaf] != 0; }
  // NVLink domains, numbered from 0; a leaf without NVLink is a domain of its own. Leaves of one need not be
  // consecutive where domains are no level.
  [[nodiscard]] std::uint32_t domain_count() const { return static_cast<std::uint32_t>(first_of_domain_.size() - 1); }
  [[nodiscard]] std::uint32_t domain(LeafIndex leaf) const { return domain_of_leaf_[leaf]; }
  [[nodiscard]] std::span<const LeafIndex> leaves_of_domain(std::uint32_t domain) const {
    return std::span(leaves_by_domain_)
        .subspan(first_of_domain_[domain], first_of_domain_[domain + 1] - first_of_domain_[domain]);
  }
  // Leaves of a host: consecutive.
  [[nodiscard]] LeafIndex host_first_leaf(fabric::HostId host) const { return host_first_leaf_[host.index()]; }
  [[nodiscard]] std::uint32_t host_leaf_count(fabric::HostId host) const { return host_leaf_count_[host.index()]; }
  [[nodiscard]] std::size_t host_count() const { return host_first_leaf_.size(); }

 private:
  struct LevelColumns {
    fabric::LevelKind kind = fabric::LevelKind::node;
    std::vector<GroupIndex> first_child;  // n + 1; empty at level 0
    std::vector<LeafIndex> first_leaf;    // n + 1
    std::vector<GroupIndex> parent;       // empty at the top
    std::vector<GroupIndex> group_of_leaf;
    std::vector<std::uint32_t> capacity;
    std::vector<std::uint8_t> pooled;
    std::vector<std::uint8_t> uniform;
    std::uint32_t max_capacity = 0;
  };

  std::vector<std::uint32_t> lay_out(std::span<const std::uint32_t> capacity,
                                     std::span<const std::vector<std::uint32_t>> grouping);
  void find_uniform();
  [[nodiscard]] unsigned level_with_groups(std::span<const std::uint32_t> key_of_leaf) const;
  void number_domains(std::span<const fabric::NvlinkDomainId> domain_of_leaf);
  void name_kinds(const fabric::Topology& topology, const fabric::Locality& locality);

  std::vector<LevelColumns> levels_;
  std::uint64_t total_capacity_ = 0;
  unsigned host_level_ = 0;
  unsigned within_site_ = 0;
  std::vector<unsigned> level_of_kind_;
  bool domains_are_a_level_ = false;
  std::vector<std::uint32_t> leaf_host_;
  std::vector<std::uint64_t> leaf_mask_;
  std::vector<std::uint8_t> leaf_nvlink_;
  std::vector<std::uint32_t> domain_of_leaf_;
  std::vector<LeafIndex> leaves_by_domain_;
  std::vector<std::uint32_t> first_of_domain_{0};  // by domain, and the end
  std::vector<LeafIndex> host_first_leaf_;
  std::vector<std::uint32_t> host_leaf_count_;
  std::vector<std::uint32_t> plain_leaf_;
};

using HierarchyPtr = std::shared_ptr<const Hierarchy>;

}  // namespace railweave::scheduler
