#include "scheduler/queue/repair/preferred_moves.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "scheduler/placement/fit/level_distance.h"

namespace railweave::scheduler {
namespace {

using fabric::GpuId;

constexpr std::size_t kRanksPriced = std::size_t{1} << 20U;  // in all: what a search may cost
constexpr std::size_t kLeastMovesTried = 64, kMaxMovesTried = 4096;
constexpr std::size_t kMaxDomains = 64;
constexpr unsigned kMaxCopiesInVain = 24;  // disturbed copies in a row that lead to nothing better
constexpr double kSame = 1e-9;             // prices that differ by rounding alone

}  // namespace

PreferredMoves::PreferredMoves(Placer& placer, const DamagedJob& job, const Spares& spares, Accept accept)
    : placer_(placer),
      job_(job),
      spares_(spares),
      accept_(std::move(accept)),
      preferences_(placer.fabric(), *job.spec) {}

bool PreferredMoves::Price::below(const Price& other) const {
  return us < other.us * (1 - kSame) || (us <= other.us * (1 + kSame) && unmet < other.unmet - kSame);
}

PreferredMoves::Price PreferredMoves::price(std::span<const GpuId> gpu_of_rank) {
  const double unmet = preferences_.unmet(gpu_of_rank);
  return {placer_.shared_us(*job_.spec, gpu_of_rank, PeersOf::all) * (1 + unmet), unmet};
}

// All, or on large fabrics those with the most preferred free GPUs and, as many, those nearest to its ranks.
std::vector<std::uint32_t> PreferredMoves::domains() const {
  const Hierarchy& hierarchy = placer_.fabric().hierarchy();
  std::vector<std::uint32_t> list(hierarchy.domain_count());
  std::iota(list.begin(), list.end(), 0U);
  if (list.size() <= kMaxDomains) return list;
  const LevelDistance distance(placer_.fabric(), gpus_);
  struct Domain {
    std::uint32_t index;
    double unmet;
    unsigned distance;
  };
  std::vector<Domain> free;
  for (const std::uint32_t index : list) {
    std::optional<Domain> best;
    for (const LeafIndex leaf : hierarchy.leaves_of_domain(index)) {
      if (spares_.free_of(leaf, UINT32_MAX).empty()) continue;
      const Domain domain{index, preferences_.unmet(leaf), distance.of(leaf)};
      if (!best || domain.unmet < best->unmet) best = domain;
    }
    if (best) free.push_back(*best);
  }
  const std::size_t half = std::min(kMaxDomains / 2, free.size());
  std::ranges::stable_sort(free, {}, [](const Domain& domain) { return std::pair(domain.unmet, domain.distance); });
  std::ranges::stable_sort(free.begin() + static_cast<std::ptrdiff_t>(half), free.end(), {},
                           [](const Domain& domain) { return std::pair(domain.distance, domain.unmet); });
  free.resize(std::min(kMaxDomains, free.size()));
  list.clear();
  for (const Domain& domain : free) list.push_back(domain.index);
  std::ranges::sort(list);
  return list;
}

// Besides the GPUs of ranks, the most preferred of each domain first, its own spares before others.
PreferredMoves::Rooms PreferredMoves::rooms(std::optional<Group> within) const {
  const Hierarchy& hierarchy = placer_.fabric().hierarchy();
  std::vector<GpuId> held = gpus_;
  std::ranges::sort(held);
  Rooms domains;
  for (const std::uint32_t domain : domains_) {
    std::vector<GpuId> free;
    for (const LeafIndex leaf : hierarchy.leaves_of_domain(domain)) {
      if (within && hierarchy.group_of_leaf(within->level, leaf) != within->index) continue;
      for (const GpuId gpu : spares_.free_of(leaf, UINT32_MAX)) {
        if (!spares_.is_lost(gpu) && !std::ranges::binary_search(held, gpu)) free.push_back(gpu);
      }
    }
    std::ranges::stable_sort(
        free, {}, [&](GpuId gpu) { return std::pair(preferences_.unmet(spares_.leaf_of(gpu)), !spares_.is_own(gpu)); });
    if (!free.empty()) domains.push_back(std::move(free));
  }
  return domains;
}

// Of all levels, the nearest first. On large fabrics those around its ranks.
std::vector<PreferredMoves::Group> PreferredMoves::groups() const {
  constexpr std::uint32_t kMaxOfALevel = 64;
  const Hierarchy& hierarchy = placer_.fabric().hierarchy();
  std::vector<Group> list;
  for (unsigned level = 0; level < hierarchy.level_count(); ++level) {
    if (hierarchy.group_count(level) <= kMaxOfALevel) {
      for (GroupIndex index = 0; index < hierarchy.group_count(level); ++index) list.push_back({level, index});
      continue;
    }
    std::vector<GroupIndex> around;
    for (const GpuId gpu : gpus_) around.push_back(hierarchy.group_of_leaf(level, spares_.leaf_of(gpu)));
    std::ranges::sort(around);
    const auto same = std::ranges::unique(around);
    around.erase(same.begin(), same.end());
    if (around.size() > kMaxOfALevel) around.resize(kMaxOfALevel);
    for (const GroupIndex index : around) list.push_back({level, index});
  }
  return list;
}

// To GPUs of the room, which are taken from it: the most preferred ones, of those on their rails; or the other way round.
void PreferredMoves::put(const RankBlock& block, std::vector<GpuId>& room, bool rails_first) {
  const auto& nics = placer_.fabric().gpu_nics();
  for (const std::uint64_t rank : block) {
    const auto rail = nics.rail(job_.gpu_of_rank[rank]);
    const auto at = std::ranges::min_element(room, {}, [&](GpuId gpu) {
      const double unmet = preferences_.unmet(spares_.leaf_of(gpu));
      const double other_rail = nics.rail(gpu) == rail ? 0 : 1;
      return rails_first ? std::pair(other_rail, unmet) : std::pair(unmet, other_rail);
    });
    gpus_[rank] = *at;
    room.erase(at);
  }
}

bool PreferredMoves::keep_if_better(const std::vector<GpuId>& before) {
  const Price there = price(gpus_);
  if (there.below(price_) && accept_(gpus_)) {
    price_ = there;
    return true;
  }
  gpus_ = before;
  return false;
}

// One block after the other to the most preferred room that holds it.
bool PreferredMoves::move_all(std::span<const RankBlock> blocks, Group to) {
  const std::vector<GpuId> before = gpus_;
  Rooms free = rooms(to);
  for (const RankBlock& block : blocks) {
    const auto unmet = [&](const std::vector<GpuId>& room) {
      double sum = 0;
      for (std::size_t i = 0; i < block.size(); ++i) sum += preferences_.unmet(spares_.leaf_of(room[i]));
      return sum;
    };
    std::vector<GpuId>* best = nullptr;
    for (auto& room : free) {
      if (room.size() >= block.size() && (best == nullptr || unmet(room) < unmet(*best))) best = &room;
    }
    if (best == nullptr) {
      gpus_ = before;
      return false;
    }
    put(block, *best, false);
  }
  return may_try() && keep_if_better(before);
}

bool PreferredMoves::move_one(std::span<const RankBlock> blocks) {
  bool any = false;
  for (const RankBlock& block : blocks) {
    for (const auto& room : rooms({})) {
      for (const bool rails_first : {false, true}) {
        if (room.size() < block.size()) continue;
        if (!may_try()) return any;
        const std::vector<GpuId> before = gpus_;
        std::vector<GpuId> left = room;
        put(block, left, rails_first);
        if (!keep_if_better(before)) continue;
        any = true;
        break;
      }
    }
  }
  return any;
}

bool PreferredMoves::exchange(std::span<const RankBlock> blocks) {
  bool any = false;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    for (std::size_t j = i; j < blocks.size(); ++j) {
      for (const std::uint64_t a : blocks[i]) {
        for (const std::uint64_t b : blocks[j]) {
          if (a == b) continue;
          if (!may_try()) return any;
          const std::vector<GpuId> before = gpus_;
          std::swap(gpus_[a], gpus_[b]);
          any = keep_if_better(before) || any;
        }
      }
    }
  }
  return any;
}

bool PreferredMoves::move_two(std::span<const RankBlock> blocks) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    for (std::size_t j = i + 1; j < blocks.size(); ++j) {
      const Rooms free = rooms({});
      for (std::size_t a = 0; a < free.size(); ++a) {
        if (free[a].size() < blocks[i].size()) continue;
        for (std::size_t b = 0; b < free.size(); ++b) {
          if (free[b].size() < blocks[j].size() + (a == b ? blocks[i].size() : 0)) continue;
          if (!may_try()) return false;
          const std::vector<GpuId> before = gpus_;
          std::vector<GpuId> left = free[a];
          put(blocks[i], left, false);
          if (a != b) left = free[b];
          put(blocks[j], left, false);
          if (keep_if_better(before)) return true;
        }
      }
    }
  }
  return false;
}

void PreferredMoves::descend(std::span<const RankBlock> blocks) {
  while (move_one(blocks) || exchange(blocks) || move_two(blocks)) {
  }
}

// Some moved ranks elsewhere, which need not be better, or allowed.
void PreferredMoves::disturb(std::span<const RankBlock> blocks) {
  const auto any_of = [&](const RankBlock& block) { return block[draws_.below(block.size())]; };
  for (std::uint64_t change = 1 + draws_.below(3); change > 0; --change) {
    const RankBlock& block = blocks[draws_.below(blocks.size())];
    Rooms free = rooms({});
    if (draws_.below(2) == 0 || free.empty()) {
      std::swap(gpus_[any_of(block)], gpus_[any_of(blocks[draws_.below(blocks.size())])]);
      continue;
    }
    auto& room = free[draws_.below(free.size())];
    if (draws_.below(2) == 0) {
      gpus_[any_of(block)] = room[draws_.below(room.size())];
    } else if (room.size() >= block.size()) {
      put(block, room, draws_.below(2) == 0);
    }
  }
}

bool PreferredMoves::improve(std::span<const RankBlock> blocks, std::vector<GpuId>& gpu_of_rank) {
  gpus_ = gpu_of_rank;
  price_ = price(gpus_);
  domains_ = domains();
  tries_left_ = std::clamp(kRanksPriced / gpus_.size(), kLeastMovesTried, kMaxMovesTried);
  for (const Group& group : groups()) (void)move_all(blocks, group);
  descend(blocks);
  for (unsigned in_vain = 0; in_vain < kMaxCopiesInVain && tries_left_ > 0; ++in_vain) {
    const std::vector<GpuId> best = gpus_;
    const Price least = price_;
    disturb(blocks);
    price_ = price(gpus_);
    descend(blocks);
    if (price_.below(least) && accept_(gpus_)) {
      in_vain = 0;
      continue;
    }
    gpus_ = best;
    price_ = least;
  }
  if (gpus_ == gpu_of_rank) return false;
  gpu_of_rank = gpus_;
  return true;
}

}  // namespace railweave::scheduler
