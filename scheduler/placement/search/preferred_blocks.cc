#include "scheduler/placement/search/preferred_blocks.h"

#include <algorithm>
#include <bit>
#include <map>
#include <ranges>
#include <tuple>
#include <utility>

#include "scheduler/placement/fit/level_distance.h"

namespace railweave::scheduler {
namespace {

using fabric::GpuId;

constexpr std::size_t kRanksSeated = 65'536;  // in all: what a search may cost
constexpr std::size_t kLeastScores = 16, kMaxScoresOfLarge = 256;
constexpr double kLeastGain = 1e-6;  // a move must gain more than rounding

}  // namespace

PreferredBlocks::PreferredBlocks(const PlacementFabric& fabric, const Refinement::Start& start, Scorer& scorer)
    : fabric_(fabric), hierarchy_(fabric.hierarchy()), start_(start), scorer_(scorer) {}

bool PreferredBlocks::inside(LeafIndex leaf) const {
  if (start_.filter != nullptr && (*start_.filter)[leaf] == 0) return false;
  return hierarchy_.group_of_leaf(start_.level, leaf) == hierarchy_.group_of_leaf(start_.level, start_.inside);
}

GroupIndex PreferredBlocks::group_of(GpuId gpu) const {
  return hierarchy_.group_of_leaf(std::min(1U, hierarchy_.top()), fabric_.leaf(gpu));
}

std::vector<PreferredBlocks::Block> PreferredBlocks::blocks() const {
  std::vector<Block> list;
  for (std::size_t first = 0; first < gpus_.size(); first += start_.block) {
    double sum = 0;
    for (std::size_t rank = first; rank < first + start_.block; ++rank) sum += unmet(gpus_[rank]);
    list.push_back({first, sum / start_.block, group_of(gpus_[first])});
  }
  std::ranges::stable_sort(list, std::ranges::greater(), &Block::unmet);
  return list;
}

// On nodes that are more preferred than `below`, the most preferred first.
std::vector<GpuId> PreferredBlocks::free_of_domain(std::uint32_t domain, double below) const {
  std::vector<std::pair<double, GpuId>> free;
  for (const LeafIndex leaf : hierarchy_.leaves_of_domain(domain)) {
    const double unmet = start_.preferences->unmet(leaf);
    if (unmet >= below || !inside(leaf) || (start_.block > 1 && !hierarchy_.has_nvlink(leaf))) continue;
    const auto gpus = fabric_.topology().gpus(hierarchy_.host(leaf));
    for (std::uint64_t rest = start_.tree->free_mask(leaf); rest != 0; rest &= rest - 1) {
      const GpuId gpu = gpus[static_cast<std::size_t>(std::countr_zero(rest))];
      if (!std::ranges::binary_search(held_, gpu)) free.emplace_back(unmet, gpu);
    }
  }
  std::ranges::sort(free);
  std::vector<GpuId> list;
  for (const auto& [unmet, gpu] : free) list.push_back(gpu);
  return list;
}

std::vector<PreferredBlocks::Room> PreferredBlocks::rooms(double below) const {
  const LevelDistance distance(fabric_, gpus_);
  std::vector<Room> list;
  for (std::uint32_t domain = 0; domain < hierarchy_.domain_count(); ++domain) {
    const std::vector<GpuId> free = free_of_domain(domain, below);
    for (std::size_t first = 0; first + start_.block <= free.size(); first += start_.block) {
      Room room{.gpus = {}, .unmet = 0, .distance = 0, .group = 0};
      for (std::size_t i = first; i < first + start_.block; ++i) {
        room.gpus.push_back(free[i]);
        room.unmet += unmet(free[i]) / start_.block;
      }
      const LeafIndex leaf = fabric_.leaf(room.gpus.front());
      room.group = group_of(room.gpus.front());
      room.distance = distance.of(leaf);
      list.push_back(std::move(room));
    }
  }
  return list;
}

// The first blocks in the first rooms, each rank on its rail where the room has it.
std::vector<GpuId> PreferredBlocks::with_first(std::size_t count, std::span<const Block> blocks,
                                               std::span<const Room> rooms) const {
  const auto rail = [&](GpuId gpu) { return fabric_.bundles().place(gpu).rail; };
  std::vector<GpuId> gpus = gpus_;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<GpuId> room = rooms[i].gpus;
    std::vector<std::size_t> others;
    for (std::size_t rank = blocks[i].first; rank < blocks[i].first + start_.block; ++rank) {
      const auto same = std::ranges::find(room, rail(gpus_[rank]), rail);
      if (same == room.end()) {
        others.push_back(rank);
        continue;
      }
      gpus[rank] = *same;
      room.erase(same);
    }
    for (std::size_t other = 0; other < others.size(); ++other) gpus[others[other]] = room[other];
  }
  return gpus;
}

// All that have a better room, then half of them, and so on; and those up to where the next group of rooms begins.
bool PreferredBlocks::try_numbers(std::span<const Block> blocks, std::span<const Room> rooms) {
  std::size_t most = 0;
  while (most < std::min(blocks.size(), rooms.size()) && rooms[most].unmet < blocks[most].unmet) ++most;
  std::vector<std::size_t> numbers;
  for (std::size_t number = most; number > 0; number /= 2) numbers.push_back(number);
  for (std::size_t i = 1; i < most; ++i) {
    if (rooms[i].group != rooms[i - 1].group) numbers.push_back(i);
  }
  std::vector<GpuId> best;
  for (const std::size_t number : numbers) {
    if (scores_left_ == 0) break;
    --scores_left_;
    std::vector<GpuId> trial = with_first(number, blocks, rooms);
    const double us = scorer_.cost_below(trial, least_us_).total_us;
    if (us >= least_us_ * (1 - kLeastGain)) continue;
    least_us_ = us;
    best = std::move(trial);
  }
  if (best.empty()) return false;
  gpus_ = std::move(best);
  return true;
}

// Each block to a room of its own group: as many ranks stay in each.
bool PreferredBlocks::try_inside_groups(std::span<const Block> blocks, std::span<const Room> rooms) {
  std::map<GroupIndex, std::vector<Block>> waiting;  // the last one first
  for (const Block& block : std::views::reverse(blocks)) waiting[block.group].push_back(block);
  std::vector<Block> from;
  std::vector<Room> to;
  for (const Room& room : rooms) {
    const auto own = waiting.find(room.group);
    if (own == waiting.end() || own->second.empty() || own->second.back().unmet <= room.unmet) continue;
    from.push_back(own->second.back());
    to.push_back(room);
    own->second.pop_back();
  }
  return !from.empty() && try_numbers(from, to);
}

bool PreferredBlocks::improve(double us, std::vector<GpuId>& gpu_of_rank) {
  gpus_ = gpu_of_rank;
  least_us_ = us;
  scores_left_ = std::clamp(kRanksSeated / gpus_.size(), kLeastScores, kMaxScoresOfLarge);
  bool any = false;
  for (bool again = true; again && scores_left_ > 0;) {
    held_ = gpus_;
    std::ranges::sort(held_);
    const std::vector<Block> from = blocks();
    std::vector<Room> to = rooms(from.front().unmet);
    // The most preferred first, of those the nearest; then the nearest first.
    std::ranges::stable_sort(to, {},
                             [](const Room& room) { return std::tuple(room.unmet, room.distance, room.group); });
    again = try_numbers(from, to) || try_inside_groups(from, to);
    if (!again) {
      std::ranges::stable_sort(to, {},
                               [](const Room& room) { return std::tuple(room.distance, room.group, room.unmet); });
      again = try_numbers(from, to);
    }
    any = any || again;
  }
  if (any) gpu_of_rank = std::move(gpus_);
  return any;
}

}  // namespace railweave::scheduler
