#include "scheduler/queue/repair.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "fabric/base/check.h"
#include "scheduler/placement/fit/gpu_choice.h"
#include "scheduler/placement/fit/placement_transaction.h"
#include "scheduler/placement/search/claims.h"

namespace railweave::scheduler {
namespace {

using fabric::GpuId;

using Block = std::vector<std::uint64_t>;  // ranks

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
        lost_(lost.begin(), lost.end()),
        tree_(placer.tree(), topology_) {
    std::ranges::sort(lost_);
    plan_.gpu_of_rank.assign(job.gpu_of_rank.begin(), job.gpu_of_rank.end());
    for (const GpuId gpu : job.idle_gpus) {
      if (!is_lost(gpu)) idle_.push_back(gpu);
    }
    std::ranges::sort(idle_);
    if (job.spec->exclusive) find_own_parts();
  }

  Result<RepairPlan> plan();

 private:
  [[nodiscard]] bool is_lost(GpuId gpu) const { return std::ranges::binary_search(lost_, gpu); }
  [[nodiscard]] bool is_own(GpuId gpu) const { return std::ranges::binary_search(idle_, gpu); }
  [[nodiscard]] bool open(LeafIndex leaf) const { return open_.empty() || open_[leaf] != 0; }
  void find_own_parts();
  void stay_in_site();
  [[nodiscard]] std::vector<GpuId> idle_afterwards();
  [[nodiscard]] std::vector<Block> damaged_blocks() const;
  [[nodiscard]] std::vector<std::uint64_t> lost_ranks(const Block& block) const;
  bool swap_inside_domain(const Block& block);
  bool move_block(const Block& block);
  [[nodiscard]] std::vector<GpuId> room_near(LeafIndex old, std::uint32_t gpus, unsigned level);
  [[nodiscard]] std::vector<GpuId> free_of(LeafIndex leaf, std::uint32_t count) const;
  void move(std::uint64_t rank, GpuId to);
  [[nodiscard]] LeafIndex leaf_of(GpuId gpu) const;
  [[nodiscard]] unsigned farthest_level() const;  // that a block may move within and keep what is required
  Result<RepairPlan> place_anew();
  RepairPlan finish();

  Placer& placer_;
  const fabric::Topology& topology_;
  const Hierarchy& hierarchy_;
  const DamagedJob& job_;
  std::vector<GpuId> lost_;
  std::vector<GpuId> idle_;          // held idle and not lost; free in the tree while this plans
  std::vector<std::uint32_t> part_;  // of each leaf, at the level where the job is alone; empty: it need not be
  LeafFilter open_;                  // leaves of parts where nobody else is
  PlacementTransaction tree_;
  RepairPlan plan_;
};

LeafIndex Repair::leaf_of(GpuId gpu) const {
  const fabric::HostId host = topology_.host(gpu);
  const LeafIndex first = hierarchy_.host_first_leaf(host);
  for (LeafIndex leaf = first; leaf < first + hierarchy_.host_leaf_count(host); ++leaf) {
    if ((hierarchy_.gpu_mask(leaf) >> topology_.local_index(gpu) & 1U) != 0) return leaf;
  }
  return first;
}

void Repair::find_own_parts() {
  part_ = parts_at(hierarchy_, *job_.spec->exclusive);
  if (part_.empty()) return;
  const auto before = tree_.checkpoint();
  RAILWEAVE_CHECK(tree_.release(job_.gpu_of_rank) && tree_.release(job_.idle_gpus), "a running job holds its GPUs");
  open_ = unused_parts(placer_.tree(), part_);
  tree_.rollback(before);
}

std::vector<Block> Repair::damaged_blocks() const {
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint64_t>, Block> blocks;
  for (std::uint64_t rank = 0; rank < job_.gpu_of_rank.size(); ++rank) {
    blocks[block_of(job_.spec->parallelism, job_.block_gpus, rank)].push_back(rank);
  }
  std::vector<Block> damaged;
  for (auto& [key, block] : blocks) {
    if (!lost_ranks(block).empty()) damaged.push_back(std::move(block));
  }
  // Where spares are short, blocks that need fewest: more blocks stay, and each saves more.
  std::ranges::stable_sort(damaged, {}, [&](const Block& block) { return lost_ranks(block).size(); });
  return damaged;
}

std::vector<std::uint64_t> Repair::lost_ranks(const Block& block) const {
  std::vector<std::uint64_t> ranks;
  for (const std::uint64_t rank : block) {
    if (is_lost(job_.gpu_of_rank[rank])) ranks.push_back(rank);
  }
  return ranks;
}

void Repair::move(std::uint64_t rank, GpuId to) {
  RAILWEAVE_CHECK(tree_.take(std::span(&to, 1)), "a spare is free");
  plan_.gpu_of_rank[rank] = to;
}

std::vector<GpuId> Repair::free_of(LeafIndex leaf, std::uint32_t count) const {
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

bool Repair::swap_inside_domain(const Block& block) {
  const auto ranks = lost_ranks(block);
  const auto domain = topology_.nvlink_domain(job_.gpu_of_rank[ranks.front()]);
  const auto before = tree_.checkpoint();
  const auto was = plan_.gpu_of_rank;
  for (const std::uint64_t rank : ranks) {
    const GpuId from = job_.gpu_of_rank[rank];
    std::vector<GpuId> spare = free_of(leaf_of(from), 1);
    std::erase_if(spare, [&](GpuId gpu) { return is_lost(gpu) || topology_.nvlink_domain(gpu) != domain; });
    // Another node of the domain, unless every node gives a fixed number; one that the block uses already first.
    const bool own_here = !spare.empty() && is_own(spare.front());
    if (!own_here && (spare.empty() || !idle_.empty()) && domain && !job_.spec->gpus_per_node) {
      std::optional<std::tuple<bool, bool, std::uint32_t, GpuId>> best;
      for (const GpuId gpu : topology_.gpus(domain)) {
        const LeafIndex leaf = leaf_of(gpu);
        const bool free = (placer_.tree().free_mask(leaf) >> topology_.local_index(gpu) & 1U) != 0;
        if (!free || is_lost(gpu) || !open(leaf)) continue;
        const bool strange = std::ranges::none_of(block, [&](std::uint64_t other) {
          return topology_.host(plan_.gpu_of_rank[other]) == topology_.host(gpu) && !is_lost(plan_.gpu_of_rank[other]);
        });
        const std::tuple rating(!is_own(gpu), strange, placer_.tree().free(0, leaf), gpu);
        if (!best || rating < *best) best = rating;
      }
      if (best && (spare.empty() || is_own(std::get<GpuId>(*best)))) spare.assign(1, std::get<GpuId>(*best));
    }
    if (spare.empty()) {
      tree_.rollback(before);
      plan_.gpu_of_rank = was;
      return false;
    }
    move(rank, spare.front());
  }
  return true;
}

// The fullest part of one NVLink domain with room, inside the group of a level that the old place is in.
std::vector<GpuId> Repair::room_near(LeafIndex old, std::uint32_t gpus, unsigned level) {
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
  // Over several nodes of one domain, those that give most first, so many each where that is asked.
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
    std::vector<GpuId> room;
    for (const LeafIndex leaf : leaves) {
      const auto rest = gpus - static_cast<std::uint32_t>(room.size());
      const auto some = free_of(leaf, each == 0 ? rest : std::min(rest, each));
      room.insert(room.end(), some.begin(), some.end());
      if (room.size() == gpus) return room;
    }
  }
  return {};
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

bool Repair::move_block(const Block& block) {
  std::vector<std::uint64_t> moving = block;
  if (job_.spec->gpus_per_node && *job_.spec->gpus_per_node > block.size()) return false;  // shared nodes: anew
  const LeafIndex old = leaf_of(job_.gpu_of_rank[block.front()]);
  for (unsigned level = hierarchy_.host_level(); level <= farthest_level(); ++level) {
    const auto room = room_near(old, static_cast<std::uint32_t>(moving.size()), level);
    if (room.size() != moving.size()) continue;
    for (std::size_t i = 0; i < moving.size(); ++i) move(moving[i], room[i]);
    return true;
  }
  return false;
}

// What of its spares is left, made up for from what is free, in each domain it uses then; and the whole of the parts
// that it is alone in.
std::vector<GpuId> Repair::idle_afterwards() {
  std::vector<GpuId> ranks(plan_.gpu_of_rank);
  std::ranges::sort(ranks);
  for (std::uint64_t rank = 0; rank < plan_.gpu_of_rank.size(); ++rank) {
    const GpuId from = job_.gpu_of_rank[rank];  // left behind by a block that moved whole: as good a spare as any
    if (from == plan_.gpu_of_rank[rank] || is_lost(from)) continue;
    RAILWEAVE_CHECK(tree_.release(std::span(&from, 1)), "a running job holds its GPUs");
  }
  std::vector<std::uint8_t> leaf_used(hierarchy_.leaf_count(), 0);
  std::vector<std::uint32_t> domains;
  for (const GpuId gpu : ranks) {
    leaf_used[leaf_of(gpu)] = 1;
    domains.push_back(hierarchy_.domain(leaf_of(gpu)));
  }
  std::ranges::sort(domains);
  const auto repeated = std::ranges::unique(domains);
  domains.erase(repeated.begin(), repeated.end());
  std::vector<GpuId> idle;
  for (const std::uint32_t domain : domains) {
    std::uint32_t missing = job_.spec->spares_per_domain;
    for (const bool own : {true, false}) {
      for (const LeafIndex leaf : hierarchy_.leaves_of_domain(domain)) {
        for (const GpuId gpu : free_of(leaf, missing == 0 ? 0 : UINT32_MAX)) {
          if (missing == 0 || is_lost(gpu) || is_own(gpu) != own) continue;
          RAILWEAVE_CHECK(tree_.take(std::span(&gpu, 1)), "a spare is free");
          idle.push_back(gpu);
          leaf_used[leaf] = 1;
          --missing;
        }
      }
    }
  }
  if (!part_.empty()) {
    std::vector<std::uint8_t> own_part(hierarchy_.leaf_count(), 0);
    for (LeafIndex leaf = 0; leaf < leaf_used.size(); ++leaf) {
      if (leaf_used[leaf] != 0) own_part[part_[leaf]] = 1;
    }
    idle.clear();
    for (const GpuId gpu : topology_.gpus()) {
      if (own_part[part_[leaf_of(gpu)]] != 0 && !std::ranges::binary_search(ranks, gpu)) idle.push_back(gpu);
    }
  }
  std::ranges::sort(idle);
  return idle;
}

RepairPlan Repair::finish() {
  if (!plan_.placed_anew && (job_.spec->spares_per_domain > 0 || !part_.empty())) plan_.idle_gpus = idle_afterwards();
  unsigned farthest = hierarchy_.host_level();
  for (std::uint64_t rank = 0; rank < plan_.gpu_of_rank.size(); ++rank) {
    const GpuId from = job_.gpu_of_rank[rank];
    const GpuId to = plan_.gpu_of_rank[rank];
    if (from == to) continue;
    plan_.moves.push_back({rank, from, to});
    while (hierarchy_.group_of_leaf(farthest, leaf_of(from)) != hierarchy_.group_of_leaf(farthest, leaf_of(to))) {
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
  const GroupIndex site = hierarchy_.group_of_leaf(level, leaf_of(job_.gpu_of_rank.front()));
  for (LeafIndex leaf = 0; leaf < hierarchy_.leaf_count(); ++leaf) {
    if (hierarchy_.group_of_leaf(level, leaf) != site) tree_.set_available(hierarchy_.host(leaf), false);
  }
}

Result<RepairPlan> Repair::place_anew() {
  tree_.rollback();
  std::vector<GpuId> kept;
  for (const GpuId gpu : job_.gpu_of_rank) {
    if (!is_lost(gpu)) kept.push_back(gpu);
  }
  std::ranges::sort(kept);
  RAILWEAVE_CHECK(tree_.release(kept) && tree_.release(idle_), "a running job holds its GPUs");
  for (const GpuId gpu : lost_) static_cast<void>(tree_.take(std::span(&gpu, 1)));
  stay_in_site();
  PlacementResult result = placer_.place(*job_.spec);
  if (result.outcome != Outcome::placed) {
    return fail(ErrorKind::conflict, "repair.noSpare",
                "no spare keeps what the job requires, and it does not fit anew either: " + result.explanation.message,
                {}, result.explanation.free_gpus < lost_.size() ? "fewer GPUs are free than were lost" : "");
  }
  plan_.gpu_of_rank = std::move(result.placement.gpu_of_rank);
  plan_.idle_gpus = std::move(result.placement.idle_gpus);
  plan_.placed_anew = true;
  return finish();
}

Result<RepairPlan> Repair::plan() {
  RAILWEAVE_CHECK(tree_.release(idle_), "a running job holds what it holds idle");
  // What is lost is nobody's spare, even where the state still shows it free.
  for (const GpuId gpu : lost_) static_cast<void>(tree_.take(std::span(&gpu, 1)));
  const auto blocks = damaged_blocks();
  std::vector<const Block*> without_spare;
  for (const Block& block : blocks) {
    if (!swap_inside_domain(block)) without_spare.push_back(&block);
  }
  for (const Block* block : without_spare) {
    if (!move_block(*block)) return place_anew();
  }
  return finish();
}

}  // namespace

std::vector<GpuId> lost_gpus(const PlacementFabric& fabric, const Loss& loss) {
  const auto& topology = fabric.topology();
  std::vector<GpuId> lost = loss.gpus;
  for (const auto host : loss.hosts) {
    for (const GpuId gpu : topology.gpus(host)) lost.push_back(gpu);
  }
  if (!loss.hcas.empty() || !loss.links.empty()) {
    const auto usable = [&](const GpuNic& nic) {
      return std::ranges::find(loss.hcas, nic.hca) == loss.hcas.end() &&
             std::ranges::find(loss.links, topology.link(nic.port)) == loss.links.end();
    };
    for (const GpuId gpu : topology.gpus()) {
      const auto nics = fabric.gpu_nics().nics(gpu);
      if (!nics.empty() && std::ranges::none_of(nics, usable)) lost.push_back(gpu);
    }
  }
  std::ranges::sort(lost);
  const auto repeated = std::ranges::unique(lost);
  lost.erase(repeated.begin(), repeated.end());
  return lost;
}

Result<RepairPlan> plan_repair(Placer& placer, const DamagedJob& job, std::span<const GpuId> lost) {
  return Repair(placer, job, lost).plan();
}

}  // namespace railweave::scheduler
