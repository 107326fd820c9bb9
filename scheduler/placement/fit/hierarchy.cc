#include "scheduler/placement/fit/hierarchy.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

#include "fabric/base/check.h"

namespace railweave::scheduler {
namespace {

using fabric::HostId;
using fabric::LevelKind;
using fabric::NvlinkDomainId;

constexpr std::size_t kKinds = fabric::kLevelKinds;

// The GPUs of one host that share an NVLink domain, or that have none.
struct Island {
  HostId host;
  NvlinkDomainId domain;
  std::uint64_t gpus = 0;
};

std::vector<Island> islands_of(const fabric::Topology& topology) {
  std::vector<Island> islands;
  for (const HostId host : topology.hosts()) {
    const std::size_t first = islands.size();
    for (const auto gpu : topology.gpus(host)) {
      const NvlinkDomainId domain = topology.nvlink_domain(gpu);
      const auto same = std::find_if(islands.begin() + static_cast<std::ptrdiff_t>(first), islands.end(),
                                     [&](const Island& island) { return island.domain == domain; });
      Island& island = same != islands.end() ? *same : islands.emplace_back(host, domain);
      island.gpus |= std::uint64_t{1} << topology.local_index(gpu);
    }
  }
  return islands;
}

}  // namespace

// Numbers leaves so that every group is a run, and fills the columns. `grouping[l]` maps each leaf, in the order given,
// to its group of level l + 1. Returns the order: new leaf number -> given leaf.
std::vector<std::uint32_t> Hierarchy::lay_out(std::span<const std::uint32_t> capacity,
                                              std::span<const std::vector<std::uint32_t>> grouping) {
  std::vector<std::uint32_t> order(capacity.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
    for (std::size_t level = grouping.size(); level-- > 0;) {
      if (grouping[level][a] != grouping[level][b]) return grouping[level][a] < grouping[level][b];
    }
    return false;
  });

  levels_.resize(grouping.size() + 1);
  LevelColumns& leaves = levels_.front();
  leaves.first_leaf.resize(capacity.size() + 1);
  std::iota(leaves.first_leaf.begin(), leaves.first_leaf.end(), 0U);
  leaves.group_of_leaf.resize(capacity.size());
  std::iota(leaves.group_of_leaf.begin(), leaves.group_of_leaf.end(), 0U);
  for (const auto leaf : order) leaves.capacity.push_back(capacity[leaf]);

  for (std::size_t level = 1; level < levels_.size(); ++level) {
    const auto& group_of = grouping[level - 1];
    LevelColumns& below = levels_[level - 1];
    LevelColumns& here = levels_[level];
    here.group_of_leaf.resize(order.size());
    for (std::size_t child = 0; child + 1 < below.first_leaf.size(); ++child) {
      const LeafIndex first = below.first_leaf[child];
      const LeafIndex end = below.first_leaf[child + 1];
      const bool starts_group = first == 0 || group_of[order[first]] != group_of[order[first - 1]];
      for (LeafIndex leaf = first; leaf < end; ++leaf) {
        RAILWEAVE_CHECK(group_of[order[leaf]] == group_of[order[first]], "levels of locality are nested");
      }
      if (starts_group) {
        here.first_child.push_back(static_cast<GroupIndex>(child));
        here.first_leaf.push_back(first);
        here.capacity.push_back(0);
      }
      const auto group = static_cast<GroupIndex>(here.first_leaf.size() - 1);
      below.parent.push_back(group);
      here.capacity[group] += below.capacity[child];
      std::fill(here.group_of_leaf.begin() + first, here.group_of_leaf.begin() + end, group);
    }
    here.first_child.push_back(static_cast<GroupIndex>(below.capacity.size()));
    here.first_leaf.push_back(static_cast<LeafIndex>(order.size()));
  }
  total_capacity_ = std::accumulate(capacity.begin(), capacity.end(), std::uint64_t{0});
  for (auto& level : levels_) {
    level.pooled.assign(level.capacity.size(), 0);
    level.max_capacity = level.capacity.empty() ? 0 : std::ranges::max(level.capacity);
  }
  find_uniform();
  return order;
}

void Hierarchy::find_uniform() {
  constexpr std::uint32_t kOwn = UINT32_MAX;                    // a shape like no other
  std::vector<std::uint32_t> shape = levels_.front().capacity;  // of the groups of the level below, as a number
  levels_.front().uniform.assign(shape.size(), 1);
  for (unsigned level = 1; level < levels_.size(); ++level) {
    LevelColumns& here = levels_[level];
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> number_of;  // shape of a child, and how many
    std::vector<std::uint32_t> shapes;
    here.uniform.clear();
    for (GroupIndex group = 0; group < here.capacity.size(); ++group) {
      const auto begin = shape.begin() + here.first_child[group], end = shape.begin() + here.first_child[group + 1];
      const bool alike =
          *begin != kOwn && std::all_of(begin, end, [&](std::uint32_t child) { return child == *begin; });
      here.uniform.push_back(alike ? 1 : 0);
      const std::pair key(*begin, static_cast<std::uint32_t>(end - begin));
      const auto next = static_cast<std::uint32_t>(number_of.size());
      shapes.push_back(alike ? number_of.try_emplace(key, next).first->second : kOwn);
    }
    shape = std::move(shapes);
  }
}

Hierarchy::Hierarchy(std::span<const std::uint32_t> leaf_capacity, std::span<const PlainLevel> levels) {
  std::vector<std::vector<std::uint32_t>> grouping;
  for (const auto& level : levels) grouping.push_back(level.group_of_leaf);
  plain_leaf_ = lay_out(leaf_capacity, grouping);
  levels_.front().pooled.assign(leaf_capacity.size(), 1);
  level_of_kind_.assign(kKinds, kNoLevel);
  within_site_ = top();
}

Hierarchy::Hierarchy(const fabric::Topology& topology, const fabric::Locality& locality) {
  const std::vector<Island> islands = islands_of(topology);
  host_first_leaf_.assign(topology.hosts().size(), 0);
  host_leaf_count_.assign(topology.hosts().size(), 0);
  for (const auto& island : islands) ++host_leaf_count_[island.host.index()];
  const bool hosts_split = std::ranges::any_of(host_leaf_count_, [](auto count) { return count > 1; });

  std::vector<std::uint32_t> capacity;
  std::vector<std::vector<std::uint32_t>> grouping;
  std::vector<LevelKind> kinds;
  const auto add_level = [&](LevelKind kind, const auto& group_of_host) {
    auto& groups = grouping.emplace_back();
    for (const auto& island : islands) groups.push_back(group_of_host(island.host));
    kinds.push_back(kind);
  };
  for (const auto& island : islands) capacity.push_back(static_cast<std::uint32_t>(std::popcount(island.gpus)));
  kinds.push_back(hosts_split ? LevelKind::nvlink_domain : LevelKind::node);
  if (hosts_split) add_level(LevelKind::node, [](HostId host) { return host.value(); });
  for (const auto& level : locality.levels) {
    if (level.kind == LevelKind::node) continue;
    RAILWEAVE_CHECK(level.group_of_host.size() == topology.hosts().size(), "locality is of this topology");
    add_level(level.kind, [&](HostId host) { return level.group_of_host[host.index()]; });
  }
  host_level_ = hosts_split ? 1 : 0;

  const auto order = lay_out(capacity, grouping);
  for (std::size_t level = 0; level < levels_.size(); ++level) levels_[level].kind = kinds[level];
  std::vector<NvlinkDomainId> domains;
  for (const auto i : order) {
    leaf_host_.push_back(islands[i].host.value());
    leaf_mask_.push_back(islands[i].gpus);
    leaf_nvlink_.push_back(islands[i].domain ? 1 : 0);
    domains.push_back(islands[i].domain);
  }
  for (LeafIndex leaf = leaf_count(); leaf-- > 0;) host_first_leaf_[leaf_host_[leaf]] = leaf;
  for (auto& level : levels_) {
    for (std::size_t group = 0; group < level.pooled.size(); ++group) {
      const auto first = domains.begin() + level.first_leaf[group];
      const auto end = domains.begin() + level.first_leaf[group + 1];
      level.pooled[group] = *first && std::all_of(first, end, [&](auto domain) { return domain == *first; }) ? 1 : 0;
    }
  }
  number_domains(domains);
  name_kinds(topology, locality);
}

fabric::LevelKind Hierarchy::called(unsigned level) const {
  const bool is_site = level == level_of(LevelKind::site) && group_count(level) > 1;
  return is_site && kind(level) == LevelKind::cluster ? LevelKind::site : kind(level);
}

void Hierarchy::number_domains(std::span<const NvlinkDomainId> domain_of_leaf) {
  std::map<std::uint32_t, std::uint32_t> number_of;
  std::vector<std::vector<LeafIndex>> leaves;
  for (LeafIndex leaf = 0; leaf < leaf_count(); ++leaf) {
    auto number = static_cast<std::uint32_t>(leaves.size());
    if (domain_of_leaf[leaf]) number = number_of.emplace(domain_of_leaf[leaf].value(), number).first->second;
    if (number == leaves.size()) leaves.emplace_back();
    leaves[number].push_back(leaf);
    domain_of_leaf_.push_back(number);
  }
  for (const auto& of_domain : leaves) {
    leaves_by_domain_.insert(leaves_by_domain_.end(), of_domain.begin(), of_domain.end());
    first_of_domain_.push_back(static_cast<std::uint32_t>(leaves_by_domain_.size()));
  }
}

// The lowest level whose groups are exactly the leaves with equal keys.
unsigned Hierarchy::level_with_groups(std::span<const std::uint32_t> key_of_leaf) const {
  for (unsigned level = 0; level < level_count(); ++level) {
    std::vector<std::uint32_t> seen;
    bool whole = true;
    for (GroupIndex group = 0; group < group_count(level) && whole; ++group) {
      const std::uint32_t key = key_of_leaf[first_leaf(level, group)];
      for (LeafIndex leaf = first_leaf(level, group); leaf < first_leaf(level, group + 1); ++leaf) {
        whole = whole && key_of_leaf[leaf] == key;
      }
      seen.push_back(key);
    }
    std::ranges::sort(seen);
    if (whole && std::ranges::adjacent_find(seen) == seen.end()) return level;
  }
  return kNoLevel;
}

// Which level each kind means here. Locality merges levels that coincide; both names then mean the same level.
void Hierarchy::name_kinds(const fabric::Topology& topology, const fabric::Locality& locality) {
  level_of_kind_.assign(kKinds, kNoLevel);
  const auto named = [&](LevelKind kind) -> unsigned& { return level_of_kind_[static_cast<std::size_t>(kind)]; };
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    const fabric::Level* found = locality.find(static_cast<LevelKind>(kind));
    if (found == nullptr) continue;
    for (unsigned level = host_level_; level < level_count(); ++level) {
      if (levels_[level].kind == found->kind) level_of_kind_[kind] = level;
    }
  }
  named(LevelKind::node) = host_level_;
  if (named(LevelKind::cluster) == kNoLevel) named(LevelKind::cluster) = top();
  within_site_ = named(LevelKind::cluster);

  // Domains no larger than a host are no level of Locality.
  if (named(LevelKind::nvlink_domain) == kNoLevel && !leaf_nvlink_.empty()) {
    std::vector<std::uint32_t> domain;
    for (LeafIndex leaf = 0; leaf < leaf_count(); ++leaf) {
      const auto gpus = topology.gpus(host(leaf));
      const auto first = gpus[static_cast<std::size_t>(std::countr_zero(leaf_mask_[leaf]))];
      // A leaf without NVLink is a domain of its own.
      domain.push_back(has_nvlink(leaf) ? topology.nvlink_domain(first).value()
                                        : static_cast<std::uint32_t>(topology.nvlink_domains().size()) + leaf);
    }
    named(LevelKind::nvlink_domain) = level_with_groups(domain);
  }
  const unsigned domain_level = named(LevelKind::nvlink_domain);
  domains_are_a_level_ = domain_level != kNoLevel &&
                         std::ranges::all_of(levels_[domain_level].pooled, [](auto pooled) { return pooled != 0; });
}

}  // namespace railweave::scheduler
