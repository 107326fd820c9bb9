#include "scheduler/placement/search/claims.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "scheduler/placement/fit/gpu_choice.h"
#include "scheduler/placement/search/job_shape.h"

namespace railweave::scheduler {

std::vector<std::uint32_t> parts_at(const Hierarchy& hierarchy, fabric::LevelKind kind) {
  const unsigned level = hierarchy.level_of(kind);
  const bool domains = kind == fabric::LevelKind::nvlink_domain;
  if (level == Hierarchy::kNoLevel && !domains) return {};
  std::vector<std::uint32_t> part(hierarchy.leaf_count());
  for (LeafIndex leaf = 0; leaf < part.size(); ++leaf) {
    part[leaf] = domains ? hierarchy.domain(leaf) : hierarchy.group_of_leaf(level, leaf);
  }
  return part;
}

LeafFilter unused_parts(const PlacementTree& tree, std::span<const std::uint32_t> part_of_leaf) {
  const Hierarchy& hierarchy = tree.hierarchy();
  std::vector<std::uint8_t> used;
  for (LeafIndex leaf = 0; leaf < part_of_leaf.size(); ++leaf) {
    if (part_of_leaf[leaf] >= used.size()) used.resize(std::size_t{part_of_leaf[leaf]} + 1, 0);
    if ((tree.allocation(hierarchy.host(leaf)).used & hierarchy.gpu_mask(leaf)) != 0) used[part_of_leaf[leaf]] = 1;
  }
  LeafFilter filter(part_of_leaf.size(), 0);
  for (LeafIndex leaf = 0; leaf < filter.size(); ++leaf) filter[leaf] = used[part_of_leaf[leaf]] == 0 ? 1 : 0;
  return filter;
}

Claims::Claims(JobSearch& search, PlacementTree& tree, const JobSpec& spec, const JobSearch::Filter& filter)
    : search_(search), tree_(tree), hierarchy_(tree.hierarchy()), spec_(spec), filter_(filter) {
  any_ = spec.exclusive || spec.spares_per_domain > 0;
  if (!any_) return;
  if (spec.exclusive) part_of_leaf_ = parts_at(hierarchy_, *spec.exclusive);
  if (!part_of_leaf_.empty()) {
    LeafFilter own = unused_parts(tree, part_of_leaf_);
    for (LeafIndex leaf = 0; filter && leaf < own.size(); ++leaf) own[leaf] &= (*filter)[leaf];
    filter_ = search.shared_filter(std::move(own));
  }
  if (spec.spares_per_domain > 0) take_spares();
}

Claims::~Claims() {
  for (const Taken& taken : taken_) give_back(taken.leaf, taken.gpus);
}

void Claims::take(LeafIndex leaf, std::uint64_t gpus) {
  HostAllocation allocation = tree_.allocation(hierarchy_.host(leaf));
  allocation.used |= gpus;
  tree_.set(hierarchy_.host(leaf), allocation);
}

void Claims::give_back(LeafIndex leaf, std::uint64_t gpus) {
  HostAllocation allocation = tree_.allocation(hierarchy_.host(leaf));
  allocation.used &= ~gpus;
  tree_.set(hierarchy_.host(leaf), allocation);
}

void Claims::take_spares() {
  const auto choices = level_choices_of(spec_, hierarchy_);
  if (!choices) return;
  const auto shape = shape_of(spec_, hierarchy_, choices->required(), filter_);
  if (!shape) return;
  for (std::uint32_t domain = 0; domain < hierarchy_.domain_count(); ++domain) take_spares_of(domain, *shape);
}

// Whole pieces of the leaf's domain; of the whole fabric where domains are no level: the differences are the same.
std::uint64_t Claims::pieces_around(LeafIndex leaf, const JobShape& shape) {
  unsigned level = hierarchy_.level_of(fabric::LevelKind::nvlink_domain);
  if (level == Hierarchy::kNoLevel) level = hierarchy_.top();
  const FitIndex& index = tree_.fit_index(shape.fit);
  return search_.best_fit().pieces_in(index, shape.rungs, level, hierarchy_.group_of_leaf(level, leaf));
}

void Claims::take_spares_of(std::uint32_t domain, const JobShape& shape) {
  const auto leaves = hierarchy_.leaves_of_domain(domain);
  std::uint64_t free = 0;
  for (const LeafIndex leaf : leaves) free += open(leaf) ? tree_.free(0, leaf) : 0;
  if (free == 0) return;
  const auto choose = [&](LeafIndex leaf, unsigned count) {
    return choose_gpus(hierarchy_.gpu_mask(leaf), tree_.free_mask(leaf), count);
  };
  if (free <= spec_.spares_per_domain || leaves.size() == 1) {
    for (const LeafIndex leaf : leaves) {
      if (!open(leaf) || tree_.free(0, leaf) == 0) continue;
      const std::uint64_t gpus = choose(leaf, std::min(tree_.free(0, leaf), spec_.spares_per_domain));
      taken_.push_back({leaf, gpus});
      take(leaf, gpus);
    }
    return;
  }
  // One by one, from a leaf with a GPU that no whole piece needs, as long as there is one.
  const FitShape& fit = shape.fit;
  const std::uint32_t unit = fit.per_node != 0 ? fit.per_node : fit.grain > 1 ? fit.grain : fit.block;
  std::vector<LeafIndex> order;
  for (const LeafIndex leaf : leaves) {
    if (open(leaf)) order.push_back(leaf);
  }
  bool slack = fit.block > 1 || fit.per_node > 0 || !shape.rungs.empty();
  for (std::uint32_t spare = 0; spare < spec_.spares_per_domain; ++spare) {
    std::erase_if(order, [&](LeafIndex leaf) { return tree_.free(0, leaf) == 0; });
    std::ranges::stable_sort(order, [&](LeafIndex a, LeafIndex b) {
      const std::uint32_t free_a = tree_.free(0, a);
      const std::uint32_t free_b = tree_.free(0, b);
      const bool beside_a = free_a % unit != 0;
      const bool beside_b = free_b % unit != 0;
      return std::pair(!beside_a, free_a) < std::pair(!beside_b, free_b);
    });
    LeafIndex from = order.front();
    const std::uint64_t before = slack ? pieces_around(from, shape) : 0;
    std::uint64_t gpu = 0;
    bool free_of_charge = false;
    for (std::size_t i = 0; slack && i < order.size() && !free_of_charge; ++i) {
      gpu = choose(order[i], 1);
      take(order[i], gpu);
      free_of_charge = pieces_around(order[i], shape) == before;
      if (free_of_charge) from = order[i];
      give_back(order[i], gpu);
    }
    // The rest of a broken piece can be used as spares.
    slack = free_of_charge || fit.block > 1 || fit.per_node > 1 || !shape.rungs.empty();
    gpu = choose(from, 1);
    taken_.push_back({from, gpu});
    take(from, gpu);
  }
}

std::vector<fabric::GpuId> Claims::idle_gpus(const PlacementFabric& fabric,
                                             std::span<const fabric::GpuId> gpu_of_rank) const {
  std::vector<fabric::GpuId> idle;
  if (!any_) return idle;
  std::vector<std::uint8_t> domain_used(hierarchy_.domain_count(), 0);
  std::vector<std::uint8_t> leaf_used(hierarchy_.leaf_count(), 0);
  for (const auto gpu : gpu_of_rank) {
    const LeafIndex leaf = fabric.leaf(gpu);
    leaf_used[leaf] = 1;
    domain_used[hierarchy_.domain(leaf)] = 1;
  }
  const auto add = [&](LeafIndex leaf, std::uint64_t mask) {
    const auto gpus = fabric.topology().gpus(hierarchy_.host(leaf));
    for (; mask != 0; mask &= mask - 1) idle.push_back(gpus[static_cast<std::size_t>(std::countr_zero(mask))]);
  };
  for (const Taken& taken : taken_) {
    if (domain_used[hierarchy_.domain(taken.leaf)] == 0) continue;
    leaf_used[taken.leaf] = 1;
    if (part_of_leaf_.empty()) add(taken.leaf, taken.gpus);
  }
  if (!part_of_leaf_.empty()) {
    std::vector<std::uint8_t> own(hierarchy_.leaf_count(), 0);  // by part; there are no more parts than leaves
    for (LeafIndex leaf = 0; leaf < leaf_used.size(); ++leaf) {
      if (leaf_used[leaf] != 0) own[part_of_leaf_[leaf]] = 1;
    }
    for (LeafIndex leaf = 0; leaf < leaf_used.size(); ++leaf) {
      if (own[part_of_leaf_[leaf]] != 0) add(leaf, hierarchy_.gpu_mask(leaf));
    }
  }
  std::ranges::sort(idle);
  if (part_of_leaf_.empty()) return idle;
  std::vector<fabric::GpuId> ranks(gpu_of_rank.begin(), gpu_of_rank.end());
  std::ranges::sort(ranks);
  std::vector<fabric::GpuId> rest;
  std::ranges::set_difference(idle, ranks, std::back_inserter(rest));
  return rest;
}

}  // namespace railweave::scheduler
