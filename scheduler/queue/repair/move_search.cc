#include "scheduler/queue/repair/move_search.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

namespace railweave::scheduler {

using fabric::GpuId;
using fabric::LevelKind;

MoveSearch::MoveSearch(Placer& placer, const DamagedJob& job, std::span<const GpuId> lost,
                       std::span<const std::uint8_t> open, Accept accept)
    : fabric_(placer.fabric()),
      hierarchy_(fabric_.hierarchy()),
      job_(job),
      spec_(*job.spec),
      lost_(lost.begin(), lost.end()),
      open_(open),
      accept_(std::move(accept)),
      gpu_(job.gpu_of_rank.begin(), job.gpu_of_rank.end()),
      at_(gpu_.size(), At::kept),
      most_tries_(std::clamp<std::size_t>(4'000'000 / (hierarchy_.leaf_count() + gpu_.size()), 400, kMaxTries)) {
  std::ranges::sort(lost_);
  free_.resize(hierarchy_.leaf_count());
  for (LeafIndex leaf = 0; leaf < free_.size(); ++leaf) {
    if (open_.empty() || open_[leaf] != 0) free_[leaf] = placer.tree().free_mask(leaf);
  }
  for (const GpuId gpu : lost_) {
    free_[fabric_.leaf(gpu)] &= ~(std::uint64_t{1} << fabric_.topology().local_index(gpu));
  }
}

std::vector<std::uint32_t> MoveSearch::parts(LevelKind kind) const {
  std::vector<std::uint32_t> part(hierarchy_.leaf_count());
  const unsigned level = hierarchy_.level_of(kind);
  for (LeafIndex leaf = 0; leaf < part.size(); ++leaf) {
    if (kind == LevelKind::nvlink_domain) {
      part[leaf] = hierarchy_.domain(leaf);
    } else {
      part[leaf] = level == Hierarchy::kNoLevel ? 0 : hierarchy_.group_of_leaf(level, leaf);
    }
  }
  return part;
}

template <class ClassOf>
void MoveSearch::add_rule(std::optional<LevelKind> kind, unsigned level, ClassOf class_of) {
  Rule rule;
  if (kind) {
    rule.part_of_leaf = parts(*kind);
  } else {
    for (LeafIndex leaf = 0; leaf < hierarchy_.leaf_count(); ++leaf) {
      rule.part_of_leaf.push_back(hierarchy_.group_of_leaf(level, leaf));
    }
  }
  std::map<std::uint64_t, std::uint32_t> number;
  for (std::uint32_t rank = 0; rank < gpu_.size(); ++rank) {
    const auto one = number.try_emplace(class_of(rank), static_cast<std::uint32_t>(number.size())).first->second;
    rule.class_of_rank.push_back(one);
    if (one >= rule.members.size()) rule.members.emplace_back();
    rule.members[one].push_back(rank);
  }
  rule.anchor.assign(rule.members.size(), kAnywhere);
  rule.last_leaf.assign(rule.members.size(), 0);
  rules_.push_back(std::move(rule));
}

void MoveSearch::add_group_rules() {
  const Parallelism& p = spec_.parallelism;
  const auto tensor = [&](std::uint32_t rank) { return std::uint64_t{rank / p.tensor}; };
  const auto without = [&](bool cp, bool ep) {
    return [&p, cp, ep](std::uint32_t rank) {
      RankCoordinates at = coordinates_of(p, rank);
      at.tp = 0;
      if (cp) at.cp = 0;
      if (ep) at.ep = 0;
      return rank_of(p, at);
    };
  };
  const auto stage = [&](std::uint32_t rank) { return std::uint64_t{coordinates_of(p, rank).pp}; };
  const auto job = [](std::uint32_t) { return std::uint64_t{0}; };
  if (p.tensor > 1) {
    add_rule(LevelKind::nvlink_domain, 0, tensor);
    if (spec_.tensor.required) add_rule(spec_.tensor.required, 0, tensor);
  }
  if (p.context > 1 && spec_.context.required) add_rule(spec_.context.required, 0, without(true, false));
  if (p.expert > 1 && spec_.expert.required) add_rule(spec_.expert.required, 0, without(false, true));
  if (spec_.stage.required) add_rule(spec_.stage.required, 0, stage);
  if (spec_.spread_stages) {
    add_rule(spec_.spread_stages, 0, stage);
    if (p.pipeline > 1) stage_part_ = parts(*spec_.spread_stages);
  }
  if (spec_.job.required) add_rule(spec_.job.required, 0, job);
  // Its data is where it runs: a job that may not span sites does not change sites either.
  add_rule(std::nullopt, hierarchy_.top(spec_.across_sites), job);
  if (spec_.across_sites && hierarchy_.joins_sites()) {
    add_rule(std::nullopt, hierarchy_.top(false), without(true, false));
    add_rule(std::nullopt, hierarchy_.top(false), without(false, true));
  }
}

// In the order of ranks, or, where the job lies so, with expert groups inside context groups.
void MoveSearch::add_slices() {
  const Parallelism& p = spec_.parallelism;
  const auto position = [&](std::uint32_t rank, bool expert_inside) {
    if (!expert_inside) return std::uint64_t{rank};
    RankCoordinates at = coordinates_of(p, rank);
    const std::uint64_t inside = (std::uint64_t{at.cp} * p.expert + at.ep) * p.tensor + at.tp;
    at.tp = at.cp = at.ep = 0;
    return rank_of(p, at) + inside;
  };
  bool expert_inside = false;
  for (const bool tried : {true, false}) {
    const bool lies_so = std::ranges::all_of(spec_.slices, [&](const Slice& slice) {
      const auto part = parts(slice.level);
      std::map<std::uint64_t, std::uint32_t> part_of;
      for (std::uint32_t rank = 0; rank < gpu_.size(); ++rank) {
        const auto here = part[leaf_of(rank)];
        if (part_of.try_emplace(position(rank, tried) / slice.gpus, here).first->second != here) return false;
      }
      return true;
    });
    if (lies_so) expert_inside = tried;
  }
  for (const Slice& slice : spec_.slices) {
    add_rule(slice.level, 0, [&](std::uint32_t rank) { return position(rank, expert_inside) / slice.gpus; });
  }
}

void MoveSearch::add_rules() {
  add_group_rules();
  if (!spec_.slices.empty()) add_slices();
  if (spec_.spread) spread_part_ = parts(spec_.spread->level);
}

std::optional<std::vector<GpuId>> MoveSearch::fewest(std::size_t below) {
  best_ = std::min(below, kMaxMoves + 1);
  std::vector<std::uint32_t> first;
  for (std::uint32_t rank = 0; rank < gpu_.size(); ++rank) {
    if (is_lost(gpu_[rank])) first.push_back(rank);
  }
  if (first.size() >= best_) return std::nullopt;
  add_rules();
  for (const std::uint32_t rank : first) force(rank);
  descend();
  return std::move(best_gpus_);
}

void MoveSearch::force(std::uint32_t rank) {
  if (at_[rank] != At::kept) return;
  at_[rank] = At::pending;
  pending_.insert(rank);
  ++moved_;
  const LeafIndex leaf = leaf_of(rank);
  const bool reusable = !is_lost(gpu_[rank]) && (open_.empty() || open_[leaf] != 0);
  if (reusable) free_[leaf] |= std::uint64_t{1} << fabric_.topology().local_index(gpu_[rank]);
  trail_.push_back({Undo::What::forced, rank, reusable ? 1U : 0U});
}

// The free GPU of the leaf that keeps the rank's rail, the job's own spares before others.
std::optional<unsigned> MoveSearch::choose(std::uint32_t rank, LeafIndex leaf) const {
  const auto& nics = fabric_.gpu_nics();
  const auto gpus = fabric_.topology().gpus(hierarchy_.host(leaf));
  const GpuId from = job_.gpu_of_rank[rank];
  std::optional<std::tuple<bool, bool, unsigned>> best;
  for (std::uint64_t rest = free_[leaf]; rest != 0; rest &= rest - 1) {
    const auto local = static_cast<unsigned>(std::countr_zero(rest));
    if (gpus[local] == from) continue;  // it would not move
    const bool own = std::ranges::binary_search(job_.idle_gpus, gpus[local]);
    const std::tuple rating(nics.rail(gpus[local]) != nics.rail(from), !own, local);
    if (!best || rating < *best) best = rating;
  }
  return best ? std::optional(std::get<2>(*best)) : std::nullopt;
}

bool MoveSearch::fits_anchors(std::uint32_t rank, LeafIndex leaf) const {
  return std::ranges::all_of(rules_, [&](const Rule& rule) {
    const std::uint32_t anchor = rule.anchor[rule.class_of_rank[rank]];
    return anchor == kAnywhere || anchor == rule.part_of_leaf[leaf];
  });
}

bool MoveSearch::same_classes(std::uint32_t a, std::uint32_t b) const {
  return std::ranges::all_of(rules_, [&](const Rule& rule) { return rule.class_of_rank[a] == rule.class_of_rank[b]; });
}

bool MoveSearch::place(std::uint32_t rank, LeafIndex leaf) {
  const auto local = choose(rank, leaf);
  if (!local) return false;
  free_[leaf] &= ~(std::uint64_t{1} << *local);
  trail_.push_back({Undo::What::placed, rank, gpu_[rank].value()});
  gpu_[rank] = fabric_.topology().gpus(hierarchy_.host(leaf))[*local];
  at_[rank] = At::placed;
  pending_.erase(rank);
  for (std::uint32_t r = 0; r < rules_.size(); ++r) {
    Rule& rule = rules_[r];
    const std::uint32_t one = rule.class_of_rank[rank];
    rule.last_leaf[one] = leaf;
    if (rule.anchor[one] != kAnywhere) continue;
    rule.anchor[one] = rule.part_of_leaf[leaf];
    trail_.push_back({Undo::What::anchored, r, one});
    for (const std::uint32_t member : rule.members[one]) {
      if (at_[member] == At::kept && rule.part_of_leaf[leaf_of(member)] != rule.anchor[one]) force(member);
      if (moved_ >= best_) return false;
    }
  }
  return true;
}

void MoveSearch::undo(std::size_t to) {
  const auto& topology = fabric_.topology();
  while (trail_.size() > to) {
    const Undo last = trail_.back();
    trail_.pop_back();
    switch (last.what) {
      case Undo::What::forced:
        at_[last.a] = At::kept;
        pending_.erase(last.a);
        --moved_;
        if (last.b != 0) free_[leaf_of(last.a)] &= ~(std::uint64_t{1} << topology.local_index(gpu_[last.a]));
        break;
      case Undo::What::placed:
        free_[leaf_of(last.a)] |= std::uint64_t{1} << topology.local_index(gpu_[last.a]);
        gpu_[last.a] = GpuId(last.b);
        at_[last.a] = At::pending;
        pending_.insert(last.a);
        break;
      case Undo::What::anchored:
        rules_[last.a].anchor[last.b] = kAnywhere;
        break;
    }
  }
}

// A rank whose group has begun to move before others: blocks are placed whole.
std::uint32_t MoveSearch::next_pending() const {
  for (const Rule& rule : rules_) {
    if (rule.members.size() == 1) continue;
    for (const std::uint32_t rank : pending_) {
      if (rule.anchor[rule.class_of_rank[rank]] != kAnywhere) return rank;
    }
  }
  return *pending_.begin();
}

LeafIndex MoveSearch::start_of(std::uint32_t rank) const {
  for (const Rule& rule : rules_) {
    const std::uint32_t one = rule.class_of_rank[rank];
    if (rule.members.size() > 1 && rule.anchor[one] != kAnywhere) return rule.last_leaf[one];
  }
  return fabric_.leaf(job_.gpu_of_rank[rank]);
}

// Near ones first, of those the ones that keep the rail, of those the fullest that hold the rest of the rank's group.
std::vector<LeafIndex> MoveSearch::leaves_for(std::uint32_t rank) const {
  constexpr std::size_t kMaxLeaves = 64;
  const LeafIndex start = start_of(rank);
  const auto& nics = fabric_.gpu_nics();
  const Rule& inner = rules_.front();
  unsigned together = 0;
  for (const std::uint32_t member : inner.members[inner.class_of_rank[rank]]) together += at_[member] == At::pending;
  std::vector<LeafIndex> found;
  LeafIndex seen_from = start;
  LeafIndex seen_to = start;
  for (unsigned level = 0; level < hierarchy_.level_count() && found.size() < kMaxLeaves; ++level) {
    const GroupIndex group = hierarchy_.group_of_leaf(level, start);
    const LeafIndex from = hierarchy_.first_leaf(level, group);
    const LeafIndex to = hierarchy_.first_leaf(level, group + 1);
    std::vector<std::tuple<bool, bool, int, LeafIndex>> here;
    for (LeafIndex leaf = from; leaf < to; ++leaf) {
      if (leaf >= seen_from && leaf < seen_to) continue;
      if (free_[leaf] == 0 || !fits_anchors(rank, leaf)) continue;
      const auto local = choose(rank, leaf);
      if (!local) continue;
      const GpuId gpu = fabric_.topology().gpus(hierarchy_.host(leaf))[*local];
      const int free = std::popcount(free_[leaf]);
      here.emplace_back(static_cast<unsigned>(free) < together, nics.rail(gpu) != nics.rail(job_.gpu_of_rank[rank]),
                        free, leaf);
    }
    std::ranges::sort(here);
    for (const auto& one : here) found.push_back(std::get<3>(one));
    seen_from = from;
    seen_to = to;
  }
  if (found.size() > kMaxLeaves) found.resize(kMaxLeaves);
  return found;
}

void MoveSearch::descend() {
  if (moved_ >= best_ || tries_ >= most_tries_) return;
  if (pending_.empty()) return complete();
  const std::uint32_t rank = next_pending();
  const std::size_t before = trail_.size();
  for (const LeafIndex leaf : leaves_for(rank)) {
    if (++tries_ > most_tries_ || moved_ >= best_) return;
    if (place(rank, leaf)) descend();
    undo(before);
  }
  // A rank of another group gives way, where that is cheaper than moving the whole group.
  if (gpu_.size() > 64 || moved_ + 1 >= best_) return;
  std::vector<std::uint32_t> gave_way;
  for (std::uint32_t other = 0; other < gpu_.size(); ++other) {
    const LeafIndex leaf = leaf_of(other);
    if (at_[other] != At::kept || same_classes(rank, other) || !fits_anchors(rank, leaf)) continue;
    if (free_[leaf] != 0 || (!open_.empty() && open_[leaf] == 0)) continue;
    const bool same = std::ranges::any_of(
        gave_way, [&](std::uint32_t tried) { return leaf_of(tried) == leaf && same_classes(tried, other); });
    if (same) continue;
    gave_way.push_back(other);
    if (++tries_ > most_tries_ || moved_ + 1 >= best_) return;
    force(other);
    if (place(rank, leaf)) descend();
    undo(before);
  }
}

void MoveSearch::try_without_each(std::span<const std::uint32_t> ranks) {
  std::vector<std::uint32_t> tried;
  const std::size_t before = trail_.size();
  for (const std::uint32_t rank : ranks) {
    const bool same = std::ranges::any_of(
        tried, [&](std::uint32_t one) { return leaf_of(one) == leaf_of(rank) && same_classes(one, rank); });
    if (same || at_[rank] != At::kept) continue;
    tried.push_back(rank);
    force(rank);
    descend();
    undo(before);
  }
}

// Ranks of one class that keep GPUs in several parts: all but those of one part move. Only where the job was torn
// before, as after an import.
bool MoveSearch::repair_torn() {
  for (const Rule& rule : rules_) {
    for (const auto& members : rule.members) {
      std::map<std::uint32_t, std::vector<std::uint32_t>> by_part;
      for (const std::uint32_t rank : members) by_part[rule.part_of_leaf[leaf_of(rank)]].push_back(rank);
      if (by_part.size() < 2) continue;
      const std::size_t before = trail_.size();
      for (const auto& [part, stay] : by_part) {
        for (const auto& [other, leave] : by_part) {
          if (other == part) continue;
          for (const std::uint32_t rank : leave) force(rank);
        }
        if (!pending_.empty()) descend();
        undo(before);
      }
      return true;
    }
  }
  return false;
}

bool MoveSearch::repair_stages() {
  if (stage_part_.empty()) return false;
  std::map<std::uint32_t, std::map<std::uint32_t, std::vector<std::uint32_t>>> ranks;  // by part and stage
  for (std::uint32_t rank = 0; rank < gpu_.size(); ++rank) {
    ranks[stage_part_[leaf_of(rank)]][coordinates_of(spec_.parallelism, rank).pp].push_back(rank);
  }
  for (const auto& [part, stages] : ranks) {
    if (stages.size() < 2) continue;
    const std::size_t before = trail_.size();
    for (const auto& [stage, members] : stages) {
      for (const std::uint32_t rank : members) force(rank);
      if (trail_.size() > before) descend();
      undo(before);
    }
    return true;
  }
  return false;
}

bool MoveSearch::repair_spread() {
  if (spread_part_.empty()) return false;
  std::map<std::uint32_t, std::vector<std::uint32_t>> ranks;
  for (std::uint32_t rank = 0; rank < gpu_.size(); ++rank) ranks[spread_part_[leaf_of(rank)]].push_back(rank);
  for (const auto& [part, members] : ranks) {
    if (members.size() <= spec_.spread->max_gpus_per_group) continue;
    try_without_each(members);
    return true;
  }
  return false;
}

bool MoveSearch::repair_nodes() {
  if (!spec_.gpus_per_node) return false;
  std::map<fabric::HostId, std::vector<std::uint32_t>> ranks;
  for (std::uint32_t rank = 0; rank < gpu_.size(); ++rank) {
    ranks[fabric_.topology().host(gpu_[rank])].push_back(rank);
  }
  bool wrong = false;
  for (const auto& [host, members] : ranks) {
    if (members.size() == *spec_.gpus_per_node) continue;
    wrong = true;
    if (members.size() > *spec_.gpus_per_node) {
      try_without_each(members);
      return true;
    }
    std::vector<std::uint32_t> kept;
    for (const std::uint32_t rank : members) {
      if (at_[rank] == At::kept) kept.push_back(rank);
    }
    if (kept.empty() || to_fill_.contains(host)) continue;
    // Its ranks leave, or others come, which have to leave their node.
    const std::size_t before = trail_.size();
    for (const std::uint32_t rank : kept) force(rank);
    descend();
    undo(before);
    to_fill_.insert(host);
    complete();
    to_fill_.erase(host);
    return true;
  }
  return wrong;
}

void MoveSearch::complete() {
  if (repair_torn() || repair_stages() || repair_spread() || repair_nodes()) return;
  ++tries_;
  if (!accept_(gpu_)) return;
  best_ = moved_;
  best_gpus_ = gpu_;
}

}  // namespace railweave::scheduler
