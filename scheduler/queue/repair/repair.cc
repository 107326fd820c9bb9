#include "scheduler/queue/repair/repair.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "fabric/base/check.h"
#include "scheduler/placement/fit/placement_transaction.h"
#include "scheduler/queue/repair/spares.h"

namespace railweave::scheduler {
namespace {

using fabric::GpuId;

// Which block a rank is in: ranks that differ only in what the block spans.
std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint64_t> block_of(const Parallelism& p,
                                                                                               std::uint32_t gpus,
                                                                                               std::uint64_t rank) {
  const RankCoordinates at = coordinates_of(p, rank);
  const std::uint64_t t = p.tensor;
  if (gpus == t) return {at.cp, at.ep, at.dp, at.pp, 0};
  if (gpus == t * p.context) return {0, at.ep, at.dp, at.pp, 0};
  if (gpus == t * p.expert) return {at.cp, 0, at.dp, at.pp, 0};
  if (gpus == t * p.context * p.expert) return {0, 0, at.dp, at.pp, 0};
  if (gpus == t * p.context * p.expert * p.data) return {0, 0, 0, at.pp, 0};
  return {0, 0, 0, 0, rank / std::max(1U, gpus)};
}

class Repair {
 public:
  Repair(Placer& placer, const DamagedJob& job, std::span<const GpuId> lost)
      : placer_(placer),
        topology_(placer.fabric().topology()),
        hierarchy_(placer.fabric().hierarchy()),
        job_(job),
        spares_(placer, job, lost),
        tree_(placer.tree(), topology_) {
    plan_.gpu_of_rank.assign(job.gpu_of_rank.begin(), job.gpu_of_rank.end());
  }

  Result<RepairPlan> plan();

 private:
  void stay_in_site();
  void take_lost();
  [[nodiscard]] std::vector<GpuId> idle_afterwards();
  [[nodiscard]] std::vector<GpuId> idle_of_own_parts(std::span<const GpuId> ranks, std::span<const std::uint8_t> used);
  [[nodiscard]] std::vector<RankBlock> damaged_blocks() const;
  [[nodiscard]] std::vector<std::uint64_t> lost_ranks(const RankBlock& block) const;
  bool swap_inside_domain(const RankBlock& block);
  bool move_block(const RankBlock& block);
  void move(std::uint64_t rank, GpuId to);
  [[nodiscard]] unsigned farthest_level() const;  // within which a block may move and keep what is required
  Result<RepairPlan> place_again();
  RepairPlan finish();

  Placer& placer_;
  const fabric::Topology& topology_;
  const Hierarchy& hierarchy_;
  const DamagedJob& job_;
  const Spares spares_;
  PlacementTransaction tree_;  // the job's own spares are free in it
  RepairPlan plan_;
};

std::vector<RankBlock> Repair::damaged_blocks() const {
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint64_t>, RankBlock> blocks;
  for (std::uint64_t rank = 0; rank < job_.gpu_of_rank.size(); ++rank) {
    blocks[block_of(job_.spec->parallelism, job_.block_gpus, rank)].push_back(rank);
  }
  std::vector<RankBlock> damaged;
  for (auto& [key, block] : blocks) {
    if (!lost_ranks(block).empty()) damaged.push_back(std::move(block));
  }
  // Blocks that need the fewest spares first: then more blocks stay where they are.
  std::ranges::stable_sort(damaged, {}, [&](const RankBlock& block) { return lost_ranks(block).size(); });
  return damaged;
}

std::vector<std::uint64_t> Repair::lost_ranks(const RankBlock& block) const {
  std::vector<std::uint64_t> ranks;
  for (const std::uint64_t rank : block) {
    if (spares_.is_lost(job_.gpu_of_rank[rank])) ranks.push_back(rank);
  }
  return ranks;
}

void Repair::move(std::uint64_t rank, GpuId to) {
  RAILWEAVE_CHECK(tree_.take(std::span(&to, 1)), "a spare is free");
  plan_.gpu_of_rank[rank] = to;
}

bool Repair::swap_inside_domain(const RankBlock& block) {
  const auto before = tree_.checkpoint();
  const auto was = plan_.gpu_of_rank;
  for (const std::uint64_t rank : lost_ranks(block)) {
    const auto spare = spares_.in_domain(job_.gpu_of_rank[rank], block, plan_.gpu_of_rank);
    if (!spare) {
      tree_.rollback(before);
      plan_.gpu_of_rank = was;
      return false;
    }
    move(rank, *spare);
  }
  return true;
}

unsigned Repair::farthest_level() const {
  const JobSpec& spec = *job_.spec;
  const bool groups_over_blocks = spec.parallelism.context > 1 || spec.parallelism.expert > 1;
  unsigned level = hierarchy_.top(spec.across_sites && !groups_over_blocks);
  for (const LevelRequest* request : {&spec.tensor, &spec.context, &spec.expert, &spec.stage, &spec.job}) {
    if (!request->required) continue;
    const bool below_hosts = *request->required == fabric::LevelKind::nvlink_domain;
    unsigned of_kind = hierarchy_.level_of(*request->required);
    if (of_kind == Hierarchy::kNoLevel) of_kind = below_hosts ? hierarchy_.host_level() : hierarchy_.top();
    // A block moves whole, so what is required inside it moves along.
    const bool inside_block = request == &spec.tensor;
    if (!inside_block) level = std::min(level, of_kind);
  }
  return level;
}

bool Repair::move_block(const RankBlock& block) {
  std::vector<std::uint64_t> moving = block;
  if (job_.spec->gpus_per_node && *job_.spec->gpus_per_node > block.size())
    return false;  // nodes are shared with other blocks
  const LeafIndex old = spares_.leaf_of(job_.gpu_of_rank[block.front()]);
  for (unsigned level = hierarchy_.host_level(); level <= farthest_level(); ++level) {
    const auto target = spares_.near(old, static_cast<std::uint32_t>(moving.size()), level);
    if (target.size() != moving.size()) continue;
    for (std::size_t i = 0; i < moving.size(); ++i) move(moving[i], target[i]);
    return true;
  }
  return false;
}

// Its remaining spares, replenished from free GPUs in each domain that it then uses; and for an exclusive job
// everything else in its parts.
std::vector<GpuId> Repair::idle_afterwards() {
  std::vector<GpuId> ranks(plan_.gpu_of_rank);
  std::ranges::sort(ranks);
  for (std::uint64_t rank = 0; rank < plan_.gpu_of_rank.size(); ++rank) {
    const GpuId from = job_.gpu_of_rank[rank];  // released by a block that moved whole: it can serve as a spare
    if (from == plan_.gpu_of_rank[rank] || spares_.is_lost(from)) continue;
    RAILWEAVE_CHECK(tree_.release(std::span(&from, 1)), "a running job holds its GPUs");
  }
  std::vector<std::uint8_t> leaf_used(hierarchy_.leaf_count(), 0);
  std::vector<std::uint32_t> domains;
  for (const GpuId gpu : ranks) {
    leaf_used[spares_.leaf_of(gpu)] = 1;
    domains.push_back(hierarchy_.domain(spares_.leaf_of(gpu)));
  }
  std::ranges::sort(domains);
  const auto repeated = std::ranges::unique(domains);
  domains.erase(repeated.begin(), repeated.end());
  std::vector<GpuId> idle;
  for (const std::uint32_t domain : domains) {
    std::uint32_t missing = job_.spec->spares_per_domain;
    for (const bool own : {true, false}) {
      for (const LeafIndex leaf : hierarchy_.leaves_of_domain(domain)) {
        for (const GpuId gpu : spares_.free_of(leaf, missing == 0 ? 0 : UINT32_MAX)) {
          if (missing == 0 || spares_.is_lost(gpu) || spares_.is_own(gpu) != own) continue;
          RAILWEAVE_CHECK(tree_.take(std::span(&gpu, 1)), "a spare is free");
          idle.push_back(gpu);
          leaf_used[leaf] = 1;
          --missing;
        }
      }
    }
  }
  if (!spares_.parts().empty()) idle = idle_of_own_parts(ranks, leaf_used);
  std::ranges::sort(idle);
  return idle;
}

// Everything that the job does not compute on, in the parts that it has to itself.
std::vector<GpuId> Repair::idle_of_own_parts(std::span<const GpuId> ranks, std::span<const std::uint8_t> used) {
  const auto part = spares_.parts();
  std::vector<std::uint8_t> own_part(hierarchy_.leaf_count(), 0);
  for (LeafIndex leaf = 0; leaf < used.size(); ++leaf) {
    if (used[leaf] != 0) own_part[part[leaf]] = 1;
  }
  std::vector<GpuId> idle;
  for (const GpuId gpu : topology_.gpus()) {
    if (own_part[part[spares_.leaf_of(gpu)]] != 0 && !std::ranges::binary_search(ranks, gpu)) idle.push_back(gpu);
  }
  return idle;
}

// Lost GPUs are no spares, even where the state still shows them free.
void Repair::take_lost() {
  for (const GpuId gpu : spares_.lost()) static_cast<void>(tree_.take(std::span(&gpu, 1)));
}

RepairPlan Repair::finish() {
  if (!plan_.moved_whole && (job_.spec->spares_per_domain > 0 || !spares_.parts().empty()))
    plan_.idle_gpus = idle_afterwards();
  unsigned farthest = hierarchy_.host_level();
  for (std::uint64_t rank = 0; rank < plan_.gpu_of_rank.size(); ++rank) {
    const GpuId from = job_.gpu_of_rank[rank];
    const GpuId to = plan_.gpu_of_rank[rank];
    if (from == to) continue;
    plan_.moves.push_back({rank, from, to});
    while (hierarchy_.group_of_leaf(farthest, spares_.leaf_of(from)) !=
           hierarchy_.group_of_leaf(farthest, spares_.leaf_of(to))) {
      if (farthest == hierarchy_.top()) break;
      ++farthest;
    }
  }
  plan_.nearest = hierarchy_.kind(farthest);
  return std::move(plan_);
}

// Its data is where it runs: a job that may not span sites does not change sites either.
void Repair::stay_in_site() {
  const unsigned level = hierarchy_.level_of(fabric::LevelKind::site);
  if (job_.spec->across_sites || level == Hierarchy::kNoLevel || hierarchy_.group_count(level) == 1) return;
  const GroupIndex site = hierarchy_.group_of_leaf(level, spares_.leaf_of(job_.gpu_of_rank.front()));
  for (LeafIndex leaf = 0; leaf < hierarchy_.leaf_count(); ++leaf) {
    if (hierarchy_.group_of_leaf(level, leaf) != site) tree_.set_available(hierarchy_.host(leaf), false);
  }
}

Result<RepairPlan> Repair::place_again() {
  tree_.rollback();
  std::vector<GpuId> kept;
  for (const GpuId gpu : job_.gpu_of_rank) {
    if (!spares_.is_lost(gpu)) kept.push_back(gpu);
  }
  std::ranges::sort(kept);
  RAILWEAVE_CHECK(tree_.release(kept) && tree_.release(spares_.idle()), "a running job holds its GPUs");
  take_lost();
  stay_in_site();
  PlacementResult result = placer_.place(*job_.spec);
  if (result.outcome != Outcome::placed) {
    return fail(ErrorKind::conflict, "repair.noSpare",
                "no spare keeps what the job requires, and the whole job does not fit elsewhere either: " +
                    result.explanation.message,
                {}, result.explanation.free_gpus < spares_.lost().size() ? "fewer GPUs are free than were lost" : "");
  }
  plan_.gpu_of_rank = std::move(result.placement.gpu_of_rank);
  plan_.idle_gpus = std::move(result.placement.idle_gpus);
  plan_.moved_whole = true;
  return finish();
}

Result<RepairPlan> Repair::plan() {
  RAILWEAVE_CHECK(tree_.release(spares_.idle()), "a running job holds what it holds idle");
  take_lost();
  const auto blocks = damaged_blocks();
  std::vector<const RankBlock*> without_spare;
  for (const RankBlock& block : blocks) {
    if (!swap_inside_domain(block)) without_spare.push_back(&block);
  }
  for (const RankBlock* block : without_spare) {
    if (!move_block(*block)) return place_again();
  }
  return finish();
}

}  // namespace

Result<RepairPlan> plan_repair(Placer& placer, const DamagedJob& job, std::span<const GpuId> lost) {
  return Repair(placer, job, lost).plan();
}

}  // namespace railweave::scheduler
