#include "scheduler/queue/repair/spares.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "fabric/base/check.h"
#include "scheduler/placement/fit/gpu_choice.h"
#include "scheduler/placement/fit/placement_transaction.h"
#include "scheduler/placement/search/claims.h"

namespace railweave::scheduler {

using fabric::GpuId;

Spares::Spares(Placer& placer, const DamagedJob& job, std::span<const GpuId> lost)
    : placer_(placer),
      topology_(placer.fabric().topology()),
      hierarchy_(placer.fabric().hierarchy()),
      job_(job),
      lost_(lost.begin(), lost.end()) {
  std::ranges::sort(lost_);
  for (const GpuId gpu : job.idle_gpus) {
    if (!is_lost(gpu)) idle_.push_back(gpu);
  }
  std::ranges::sort(idle_);
  if (job.spec->exclusive) find_own_parts();
}

LeafIndex Spares::leaf_of(GpuId gpu) const {
  const fabric::HostId host = topology_.host(gpu);
  const LeafIndex first = hierarchy_.host_first_leaf(host);
  for (LeafIndex leaf = first; leaf < first + hierarchy_.host_leaf_count(host); ++leaf) {
    if ((hierarchy_.gpu_mask(leaf) >> topology_.local_index(gpu) & 1U) != 0) return leaf;
  }
  return first;
}

void Spares::find_own_parts() {
  part_ = parts_at(hierarchy_, *job_.spec->exclusive);
  if (part_.empty()) return;
  PlacementTransaction without_job(placer_.tree(), topology_);
  RAILWEAVE_CHECK(without_job.release(job_.gpu_of_rank) && without_job.release(job_.idle_gpus),
                  "a running job holds its GPUs");
  open_ = unused_parts(placer_.tree(), part_);
}

std::vector<GpuId> Spares::free_of(LeafIndex leaf, std::uint32_t count) const {
  std::vector<GpuId> gpus;
  if (!open(leaf)) return gpus;
  const std::uint64_t island = hierarchy_.gpu_mask(leaf);
  std::uint64_t free = placer_.tree().free_mask(leaf);
  const auto host_gpus = topology_.gpus(hierarchy_.host(leaf));
  std::uint64_t own = 0;
  for (std::uint64_t rest = idle_.empty() ? 0 : free; rest != 0; rest &= rest - 1) {
    if (is_own(host_gpus[static_cast<std::size_t>(std::countr_zero(rest))])) own |= rest & (~rest + 1);
  }
  if (static_cast<std::uint32_t>(std::popcount(own)) >= count) free = own;
  count = std::min(count, static_cast<std::uint32_t>(std::popcount(free)));
  for (std::uint64_t chosen = choose_gpus(island, free, count); chosen != 0; chosen &= chosen - 1) {
    gpus.push_back(host_gpus[static_cast<std::size_t>(std::countr_zero(chosen))]);
  }
  return gpus;
}

std::optional<GpuId> Spares::in_domain(GpuId lost, const RankBlock& block, std::span<const GpuId> gpu_of_rank) const {
  const auto domain = topology_.nvlink_domain(lost);
  std::vector<GpuId> spare = free_of(leaf_of(lost), 1);
  std::erase_if(spare, [&](GpuId gpu) { return is_lost(gpu) || topology_.nvlink_domain(gpu) != domain; });
  const std::optional<GpuId> here = spare.empty() ? std::nullopt : std::optional(spare.front());
  // Another node of the domain, unless every node gives a fixed number; one that the block uses already first.
  if ((here && (is_own(*here) || idle_.empty())) || !domain || job_.spec->gpus_per_node) return here;
  std::optional<std::tuple<bool, bool, std::uint32_t, GpuId>> best;
  for (const GpuId gpu : topology_.gpus(domain)) {
    const LeafIndex leaf = leaf_of(gpu);
    const bool free = (placer_.tree().free_mask(leaf) >> topology_.local_index(gpu) & 1U) != 0;
    if (!free || is_lost(gpu) || !open(leaf)) continue;
    const bool other_node = std::ranges::none_of(block, [&](std::uint64_t rank) {
      return topology_.host(gpu_of_rank[rank]) == topology_.host(gpu) && !is_lost(gpu_of_rank[rank]);
    });
    const std::tuple rating(!is_own(gpu), other_node, placer_.tree().free(0, leaf), gpu);
    if (!best || rating < *best) best = rating;
  }
  if (!best || (here && !is_own(std::get<GpuId>(*best)))) return here;
  return std::get<GpuId>(*best);
}

std::vector<GpuId> Spares::near(LeafIndex old, std::uint32_t gpus, unsigned level) const {
  const PlacementTree& tree = placer_.tree();
  const GroupIndex around = hierarchy_.group_of_leaf(level, old);
  const LeafIndex first = hierarchy_.first_leaf(level, around);
  const LeafIndex end = hierarchy_.first_leaf(level, around + 1);
  std::optional<LeafIndex> best;
  for (LeafIndex leaf = first; leaf < end; ++leaf) {
    if (tree.free(0, leaf) < gpus || (gpus > 1 && !hierarchy_.has_nvlink(leaf)) || !open(leaf)) continue;
    if (!best || tree.free(0, leaf) < tree.free(0, *best)) best = leaf;
  }
  if (best) return free_of(*best, gpus);
  return over_nodes(first, end, gpus, level);
}

// Over several nodes of one domain, those that give most first; a fixed number of each where the job asks for it.
std::vector<GpuId> Spares::over_nodes(LeafIndex first, LeafIndex end, std::uint32_t gpus, unsigned level) const {
  const PlacementTree& tree = placer_.tree();
  const std::uint32_t each = job_.spec->gpus_per_node.value_or(0);
  for (unsigned within = 1; within <= level; ++within) {
    std::optional<GroupIndex> pool;
    for (GroupIndex group = hierarchy_.group_of_leaf(within, first);
         group < hierarchy_.group_count(within) && hierarchy_.first_leaf(within, group) < end; ++group) {
      if (!hierarchy_.pooled(within, group) || tree.free(within, group) < gpus) continue;
      if (!pool || tree.free(within, group) < tree.free(within, *pool)) pool = group;
    }
    if (!pool) continue;
    std::vector<LeafIndex> leaves;
    for (LeafIndex leaf = hierarchy_.first_leaf(within, *pool); leaf < hierarchy_.first_leaf(within, *pool + 1);
         ++leaf) {
      if (tree.free(0, leaf) >= std::max(1U, each) && open(leaf)) leaves.push_back(leaf);
    }
    std::ranges::stable_sort(leaves, [&](LeafIndex a, LeafIndex b) { return tree.free(0, a) > tree.free(0, b); });
    std::vector<GpuId> found;
    for (const LeafIndex leaf : leaves) {
      const auto rest = gpus - static_cast<std::uint32_t>(found.size());
      const auto some = free_of(leaf, each == 0 ? rest : std::min(rest, each));
      found.insert(found.end(), some.begin(), some.end());
      if (found.size() == gpus) return found;
    }
  }
  return {};
}

}  // namespace railweave::scheduler
