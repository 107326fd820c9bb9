#include "scheduler/queue/repair/repair.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "fabric/base/check.h"
#include "scheduler/placement/check/placement_check.h"
#include "scheduler/placement/fit/placement_transaction.h"
#include "scheduler/queue/repair/forbidden_nodes.h"
#include "scheduler/queue/repair/move_search.h"
#include "scheduler/queue/repair/preferred_moves.h"
#include "scheduler/queue/repair/spares.h"

namespace railweave::scheduler {
namespace {

using fabric::GpuId;

// Which block a rank is in: ranks that differ only in what the block spans.
using BlockKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint64_t>;
BlockKey block_of(const Parallelism& p, std::uint32_t gpus, std::uint64_t rank) {
  const RankCoordinates at = coordinates_of(p, rank);
  const std::uint64_t t = p.tensor;
  if (gpus == t) return {at.cp, at.ep, at.dp, at.pp, 0};
  if (gpus == t * p.context) return {0, at.ep, at.dp, at.pp, 0};
  if (gpus == t * p.expert) return {at.cp, 0, at.dp, at.pp, 0};
  if (gpus == t * p.context * p.expert) return {0, 0, at.dp, at.pp, 0};
  if (gpus == t * p.context * p.expert * p.data) return {0, 0, 0, at.pp, 0};
  return {0, 0, 0, 0, rank / std::max(1U, gpus)};
}

// The lost GPUs, and those of ranks on nodes that the job may not use (any more).
std::vector<GpuId> lost_of(const PlacementFabric& fabric, const DamagedJob& job, std::span<const GpuId> lost,
                           const ForbiddenNodes& forbidden) {
  std::vector<GpuId> all(lost.begin(), lost.end());
  for (const auto gpus : {job.gpu_of_rank, job.idle_gpus}) {
    for (const GpuId gpu : gpus) {
      if (forbidden.contains(fabric.topology().host(gpu))) all.push_back(gpu);
    }
  }
  std::ranges::sort(all);
  const auto repeated = std::ranges::unique(all);
  all.erase(repeated.begin(), repeated.end());
  return all;
}

class Repair {
 public:
  Repair(Placer& placer, const DamagedJob& job, std::span<const GpuId> lost)
      : placer_(placer),
        topology_(placer.fabric().topology()),
        hierarchy_(placer.fabric().hierarchy()),
        job_(job),
        forbidden_(placer.fabric(), *job.spec, job.gpu_of_rank),
        spares_(placer, job, lost_of(placer.fabric(), job, lost, forbidden_)),
        tree_(placer.tree(), topology_),
        gpus_(job.gpu_of_rank.begin(), job.gpu_of_rank.end()) {}

  Result<RepairPlan> plan();

 private:
  void note_masks();
  void stay_in_site();
  void take_lost();
  [[nodiscard]] std::vector<GpuId> idle_afterwards(std::span<const GpuId> gpu_of_rank);
  [[nodiscard]] std::vector<GpuId> idle_of_own_parts(std::span<const GpuId> ranks, std::span<const std::uint8_t> used);
  [[nodiscard]] std::vector<RankBlock> damaged_blocks() const;
  [[nodiscard]] std::vector<std::uint64_t> lost_ranks(const RankBlock& block) const;
  bool swap_inside_domain(const RankBlock& block);
  bool move_block(const RankBlock& block);
  void move(std::uint64_t rank, GpuId to);
  [[nodiscard]] unsigned farthest_level() const;  // within which a block may move and keep what is required
  bool repair_blocks();
  void keep_rails();
  bool keep_rail(std::uint64_t rank);
  [[nodiscard]] RepairPlan moves_to(std::span<const GpuId> gpu_of_rank) const;
  RepairPlan plan_of(std::span<const GpuId> gpu_of_rank);  // with what it holds idle
  [[nodiscard]] std::vector<PlacementViolation> violations(const RepairPlan& plan) const;
  bool offer(std::span<const GpuId> gpu_of_rank);  // becomes the plan unless it violates a rule
  Result<RepairPlan> place_again();
  Result<RepairPlan> plan_fewest();
  void prefer_nodes();

  Placer& placer_;
  const fabric::Topology& topology_;
  const Hierarchy& hierarchy_;
  const DamagedJob& job_;
  const ForbiddenNodes forbidden_;
  const Spares spares_;
  PlacementTransaction tree_;                   // the job's own spares are free in it
  std::vector<GpuId> gpus_;                     // of each rank, with the moves so far
  PlacementTransaction::Checkpoint base_ = 0;   // of tree_, before any move
  std::vector<std::uint64_t> others_, closed_;  // by host: held by other jobs; where no rank may move
  std::optional<RepairPlan> plan_;
};

std::vector<RankBlock> Repair::damaged_blocks() const {
  std::map<BlockKey, RankBlock> blocks;
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
  gpus_[rank] = to;
}

bool Repair::swap_inside_domain(const RankBlock& block) {
  const auto before = tree_.checkpoint();
  const auto was = gpus_;
  for (const std::uint64_t rank : lost_ranks(block)) {
    const auto spare = spares_.in_domain(job_.gpu_of_rank[rank], block, gpus_);
    if (!spare) {
      tree_.rollback(before);
      gpus_ = was;
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
  if (job_.spec->gpus_per_node && *job_.spec->gpus_per_node > block.size())
    return false;  // nodes are shared with other blocks
  const LeafIndex old = spares_.leaf_of(job_.gpu_of_rank[block.front()]);
  for (unsigned level = hierarchy_.host_level(); level <= farthest_level(); ++level) {
    const auto target = spares_.near(old, static_cast<std::uint32_t>(block.size()), level);
    if (target.size() != block.size()) continue;
    for (std::size_t i = 0; i < block.size(); ++i) move(block[i], target[i]);
    return true;
  }
  return false;
}

// Its remaining spares, replenished from free GPUs in each domain that it then uses; and for an exclusive job
// everything else in its parts.
std::vector<GpuId> Repair::idle_afterwards(std::span<const GpuId> gpu_of_rank) {
  std::vector<GpuId> ranks(gpu_of_rank.begin(), gpu_of_rank.end());
  std::ranges::sort(ranks);
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

// What no rank may move to, even where the state still shows it free.
void Repair::take_lost() {
  for (const auto gpus : {std::span<const GpuId>(spares_.lost()), job_.closed}) {
    for (const GpuId gpu : gpus) static_cast<void>(tree_.take(std::span(&gpu, 1)));
  }
  for (const fabric::HostId host : forbidden_.hosts()) tree_.set_available(host, false);
}

// As the state is, before anything is tried on the tree.
void Repair::note_masks() {
  others_.resize(topology_.hosts().size());
  closed_.resize(topology_.hosts().size());
  for (const fabric::HostId host : topology_.hosts()) {
    const HostAllocation& allocation = placer_.tree().allocation(host);
    others_[host.index()] = allocation.used;
    closed_[host.index()] = allocation.unavailable ? ~std::uint64_t{0} : allocation.closed;
  }
  for (const auto gpus : {job_.gpu_of_rank, job_.idle_gpus}) {
    for (const GpuId gpu : gpus) {
      others_[topology_.host(gpu).index()] &= ~(std::uint64_t{1} << topology_.local_index(gpu));
    }
  }
  for (const GpuId gpu : job_.closed) {
    closed_[topology_.host(gpu).index()] |= std::uint64_t{1} << topology_.local_index(gpu);
  }
}

RepairPlan Repair::moves_to(std::span<const GpuId> gpu_of_rank) const {
  RepairPlan plan;
  plan.gpu_of_rank.assign(gpu_of_rank.begin(), gpu_of_rank.end());
  unsigned farthest = hierarchy_.host_level();
  for (std::uint64_t rank = 0; rank < gpu_of_rank.size(); ++rank) {
    const GpuId from = job_.gpu_of_rank[rank];
    const GpuId to = gpu_of_rank[rank];
    if (from == to) continue;
    plan.moves.push_back({rank, from, to});
    farthest = hierarchy_.joining_level(farthest, spares_.leaf_of(from), spares_.leaf_of(to));
  }
  plan.nearest = hierarchy_.kind(farthest);
  return plan;
}

RepairPlan Repair::plan_of(std::span<const GpuId> gpu_of_rank) {
  RepairPlan plan = moves_to(gpu_of_rank);
  if (job_.spec->spares_per_domain == 0 && spares_.parts().empty()) return plan;
  tree_.rollback(base_);
  for (const RankMove& one : plan.moves) {  // released by a rank that moves along: it can serve as a spare
    if (spares_.is_lost(one.from)) continue;
    RAILWEAVE_CHECK(tree_.release(std::span(&one.from, 1)), "a running job holds its GPUs");
  }
  for (const RankMove& one : plan.moves) RAILWEAVE_CHECK(tree_.take(std::span(&one.to, 1)), "a spare is free");
  plan.idle_gpus = idle_afterwards(gpu_of_rank);
  tree_.rollback(base_);
  return plan;
}

std::vector<PlacementViolation> Repair::violations(const RepairPlan& plan) const {
  std::vector<GpuId> before(job_.gpu_of_rank.begin(), job_.gpu_of_rank.end());
  before.insert(before.end(), job_.idle_gpus.begin(), job_.idle_gpus.end());
  return check_placement({.topology = topology_,
                          .locality = placer_.fabric().locality(),
                          .spec = *job_.spec,
                          .gpu_of_rank = plan.gpu_of_rank,
                          .idle_gpus = plan.idle_gpus,
                          .before = before,
                          .held_by_others = others_,
                          .closed = closed_,
                          .lost = spares_.lost(),
                          .spares_may_be_used_up = !plan.moved_whole,
                          .cut_off = job_.cut_off});
}

bool Repair::offer(std::span<const GpuId> gpu_of_rank) {
  RepairPlan plan = plan_of(gpu_of_rank);
  if (!violations(plan).empty()) return false;
  plan_ = std::move(plan);
  return true;
}

// Another free GPU of the rank's rail, in place of the one chosen: on the same node, in exchange with another moved
// rank there, or on another node that is as near.
bool Repair::keep_rail(std::uint64_t rank) {
  constexpr unsigned kMaxTries = 8;
  const auto& nics = placer_.fabric().gpu_nics();
  const fabric::RailId rail = nics.rail(job_.gpu_of_rank[rank]);
  const LeafIndex old = spares_.leaf_of(job_.gpu_of_rank[rank]);
  const LeafIndex now = spares_.leaf_of(gpus_[rank]);
  for (std::uint64_t other = 0; other < gpus_.size(); ++other) {
    if (gpus_[other] == job_.gpu_of_rank[other] || spares_.leaf_of(gpus_[other]) != now) continue;
    if (nics.rail(gpus_[other]) != rail || nics.rail(job_.gpu_of_rank[other]) == rail) continue;
    std::swap(gpus_[rank], gpus_[other]);
    return true;
  }
  const unsigned level = hierarchy_.joining_level(0, old, now);
  const GroupIndex around = hierarchy_.group_of_leaf(level, old);
  std::vector<std::pair<std::uint32_t, LeafIndex>> leaves;  // the fullest first, but the present node before all
  for (LeafIndex leaf = hierarchy_.first_leaf(level, around); leaf < hierarchy_.first_leaf(level, around + 1); ++leaf) {
    const std::uint32_t free = placer_.tree().free(0, leaf);
    if (free > 0) leaves.emplace_back(leaf == now ? 0 : free, leaf);
  }
  std::ranges::sort(leaves);
  unsigned tries = 0;
  for (const auto& [free, leaf] : leaves) {
    for (const GpuId gpu : spares_.free_of(leaf, UINT32_MAX)) {
      if (nics.rail(gpu) != rail || std::ranges::find(gpus_, gpu) != gpus_.end()) continue;
      if (++tries > kMaxTries) return false;
      const GpuId was = std::exchange(gpus_[rank], gpu);
      if (violations(plan_of(gpus_)).empty()) return true;
      gpus_[rank] = was;
    }
  }
  return false;
}

void Repair::keep_rails() {
  constexpr std::size_t kMaxRanks = 64;  // each looks at the nodes around it
  const auto& nics = placer_.fabric().gpu_nics();
  std::size_t looked = 0;
  for (std::uint64_t rank = 0; rank < gpus_.size() && looked < kMaxRanks; ++rank) {
    const fabric::RailId rail = nics.rail(job_.gpu_of_rank[rank]);
    if (!rail || nics.rail(gpus_[rank]) == rail) continue;
    ++looked;
    keep_rail(rank);
  }
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
  const auto no_spare = [&](const std::string& why) {
    return fail(ErrorKind::conflict, "repair.noSpare",
                "no spare keeps what the job requires, and the whole job does not fit elsewhere either: " + why, {},
                result.explanation.free_gpus < spares_.lost().size() ? "fewer GPUs are free than were lost" : "");
  };
  if (result.outcome != Outcome::placed) return no_spare(result.explanation.message);
  RepairPlan plan = moves_to(result.placement.gpu_of_rank);
  plan.idle_gpus = std::move(result.placement.idle_gpus);
  plan.moved_whole = true;
  if (const auto broken = violations(plan); !broken.empty()) return no_spare(text(broken));
  return plan;
}

// Block by block: spares of its domain, else the whole block elsewhere. False: some block has nowhere to go.
bool Repair::repair_blocks() {
  const auto blocks = damaged_blocks();
  std::vector<const RankBlock*> without_spare;
  for (const RankBlock& block : blocks) {
    if (!swap_inside_domain(block)) without_spare.push_back(&block);
  }
  return std::ranges::all_of(without_spare, [&](const RankBlock* block) { return move_block(*block); });
}

// As many ranks move, and what stays stays.
void Repair::prefer_nodes() {
  std::map<BlockKey, RankBlock> moved;
  for (const RankMove& one : plan_->moves) {
    moved[block_of(job_.spec->parallelism, job_.block_gpus, one.rank)].push_back(one.rank);
  }
  std::vector<RankBlock> blocks;
  for (auto& [key, ranks] : moved) blocks.push_back(std::move(ranks));
  PreferredMoves preferred(placer_, job_, spares_,
                           [&](std::span<const GpuId> gpus) { return violations(plan_of(gpus)).empty(); });
  std::vector<GpuId> gpus = plan_->gpu_of_rank;
  if (preferred.improve(blocks, gpus)) offer(gpus);
}

Result<RepairPlan> Repair::plan() {
  auto plan = plan_fewest();
  if (!plan || plan->moved_whole || job_.spec->prefer_nodes.empty() || plan->moves.empty()) return plan;
  plan_ = std::move(*plan);
  prefer_nodes();
  return std::move(*plan_);
}

Result<RepairPlan> Repair::plan_fewest() {
  note_masks();
  RAILWEAVE_CHECK(tree_.release(spares_.idle()), "a running job holds what it holds idle");
  take_lost();
  base_ = tree_.checkpoint();
  std::size_t lost = 0;
  for (const GpuId gpu : job_.gpu_of_rank) lost += spares_.is_lost(gpu) ? 1 : 0;
  const bool repaired = repair_blocks();
  tree_.rollback(base_);
  if (repaired && offer(gpus_)) {
    keep_rails();
    if (gpus_ != plan_->gpu_of_rank) offer(gpus_);
  }
  if (plan_ && plan_->moves.size() == lost) return std::move(*plan_);
  MoveSearch search(placer_, job_, spares_.lost(), spares_.open_leaves(),
                    [&](std::span<const GpuId> gpu_of_rank) { return violations(plan_of(gpu_of_rank)).empty(); });
  if (auto found = search.fewest(plan_ ? plan_->moves.size() : gpus_.size())) {
    gpus_ = std::move(*found);
    offer(gpus_);
    keep_rails();
    offer(gpus_);
  }
  return plan_ ? Result<RepairPlan>(std::move(*plan_)) : place_again();
}

}  // namespace

Result<RepairPlan> plan_repair(Placer& placer, const DamagedJob& job, std::span<const GpuId> lost) {
  return Repair(placer, job, lost).plan();
}

}  // namespace railweave::scheduler
