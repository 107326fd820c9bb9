#include "scheduler/placement/search/refinement.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "scheduler/placement/fit/gpu_choice.h"

namespace railweave::scheduler {
namespace {

constexpr std::uint64_t kRanksScored = 16384;  // in all: what a refinement may cost
constexpr std::uint64_t kMostScores = 600;
constexpr std::size_t kMostPlaces = 64;
constexpr std::size_t kMostBlocks = 32;
constexpr double kStep = 1e-6;  // an exchange must gain more than rounding

}  // namespace

Refinement::Refinement(const PlacementFabric& fabric) : fabric_(&fabric) {
  const Hierarchy& hierarchy = fabric.hierarchy();
  for (unsigned level = 1; level < hierarchy.level_count(); ++level) {
    for (GroupIndex group = 0; group < hierarchy.group_count(level); ++group) {
      const bool several = hierarchy.first_leaf(level, group + 1) - hierarchy.first_leaf(level, group) > 1;
      domains_span_leaves_ = domains_span_leaves_ || (several && hierarchy.pooled(level, group));
    }
  }
}

bool Refinement::applies(const JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank,
                         const PlacementCost& cost) const {
  const Parallelism& p = spec.parallelism;
  const std::uint64_t blocks = gpu_of_rank.size() / p.tensor;
  if (blocks < 2 || blocks > kMostBlocks || p.context > 1 || p.expert > 1 || gpu_of_rank.size() * 8 > kRanksScored) {
    return false;
  }
  const auto asked = [](const LevelRequest& request) { return request.required || request.preferred; };
  const bool tensor_in_domain =
      !spec.tensor.preferred && (!spec.tensor.required || *spec.tensor.required == fabric::LevelKind::nvlink_domain);
  if (!tensor_in_domain || asked(spec.stage) || spec.job.preferred || spec.gpus_per_node || spec.spread_stages ||
      !spec.slices.empty() || spec.spread || spec.exclusive || spec.spares_per_domain > 0) {
    return false;
  }
  for (std::size_t i = 0; i < gpu_of_rank.size(); ++i) {
    if (fabric_->leaf(gpu_of_rank[i]) != fabric_->leaf(gpu_of_rank[i / p.tensor * p.tensor]))
      return false;  // a block over several hosts
  }
  for (const GroupCost& group : cost.groups) {
    if (!group.reachable) return true;
    if (group.time_us <= 0 || group.bundle == FabricBundles::kNone) continue;
    if (group.bundle_kind == FabricBundles::Kind::leaf || group.bundle_kind == FabricBundles::Kind::pod ||
        group.bundle_kind == FabricBundles::Kind::wan) {
      return true;
    }
    if (domains_span_leaves_ && group.domains > 1) return true;
  }
  return false;
}

std::uint64_t Refinement::free_gpus(const Start& start, LeafIndex leaf) const {
  std::uint64_t free = start.tree->free_mask(leaf);
  for (const Block& block : blocks_) {
    if (block.leaf == leaf) free &= ~block.mask;
  }
  return free;
}

// Takes a block to a leaf; false, and nothing changed, where too few GPUs are free.
bool Refinement::put(const Start& start, std::size_t block, LeafIndex leaf) {
  const Block before = std::exchange(blocks_[block], Block{leaf, 0});
  const std::uint64_t free = free_gpus(start, leaf);
  if (static_cast<std::uint32_t>(std::popcount(free)) < size_) {
    blocks_[block] = before;
    return false;
  }
  blocks_[block].mask = choose_gpus(fabric_->hierarchy().gpu_mask(leaf), free, size_);
  return true;
}

void Refinement::write() {
  trial_.clear();
  for (const Block& block : blocks_) {
    const fabric::HostId host = fabric_->hierarchy().host(block.leaf);
    const auto gpus = fabric_->topology().gpus(host);
    for (const std::uint8_t local : fabric_->gpu_nics().by_rail(host)) {
      if (((block.mask >> local) & 1U) != 0) trial_.push_back(gpus[local]);
    }
  }
}

// Keeps the trial where it is better, else goes back to the best.
bool Refinement::better(Scorer& scorer) {
  if (scores_left_ > 0) {
    --scores_left_;
    write();
    PlacementCost cost = scorer.cost(trial_);
    if (cost.total_us < least_us_ * (1 - kStep)) {
      least_us_ = cost.total_us;
      best_cost_ = cost;
      best_.swap(trial_);
      best_blocks_ = blocks_;
      return true;
    }
  }
  blocks_ = best_blocks_;
  return false;
}

// Of every group of the level above leaves the two fullest leaves that can take a block, from the job's own group on.
void Refinement::find_places(const Start& start) {
  const Hierarchy& hierarchy = fabric_->hierarchy();
  places_.clear();
  representatives_.clear();
  const GroupIndex whole = hierarchy.group_of_leaf(start.level, start.inside);
  const LeafIndex first = hierarchy.first_leaf(start.level, whole);
  const LeafIndex end = hierarchy.first_leaf(start.level, whole + 1);
  const unsigned above = std::min(1U, hierarchy.top());
  // From the job's own group on, then around: near groups come first, and not all groups are tried.
  const LeafIndex begin = hierarchy.first_leaf(above, hierarchy.group_of_leaf(above, blocks_.front().leaf));
  const auto take_group = [&](LeafIndex from, LeafIndex to) {
    std::vector<std::pair<std::uint32_t, LeafIndex>> fits;
    for (LeafIndex leaf = from; leaf < to; ++leaf) {
      if (start.filter != nullptr && (*start.filter)[leaf] == 0) continue;
      if (size_ > 1 && !hierarchy.has_nvlink(leaf)) continue;  // a tensor group shares an NVLink domain
      const std::uint32_t free = start.tree->free(0, leaf);
      if (free >= size_) fits.emplace_back(free, leaf);
    }
    std::ranges::sort(fits);
    const std::size_t most = std::max<std::size_t>(2, blocks_.size());
    if (!fits.empty()) representatives_.push_back(fits.front().second);
    for (std::size_t i = 0; i < std::min(fits.size(), most); ++i) places_.push_back(fits[i].second);
  };
  for (const auto& [from, to] : {std::pair(begin, end), std::pair(first, begin)}) {
    for (LeafIndex leaf = from; leaf < to && places_.size() < kMostPlaces;) {
      const LeafIndex next = std::min(to, hierarchy.first_leaf(above, hierarchy.group_of_leaf(above, leaf) + 1));
      take_group(leaf, next);
      leaf = next;
    }
  }
}

bool Refinement::exchange(Scorer& scorer) {
  bool any = false;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    for (std::size_t j = i + 1; j < blocks_.size() && scores_left_ > 0; ++j) {
      if (blocks_[i].leaf == blocks_[j].leaf) continue;
      std::swap(blocks_[i], blocks_[j]);
      any = better(scorer) || any;
    }
  }
  return any;
}

bool Refinement::move_one(const Start& start, Scorer& scorer) {
  bool any = false;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    for (const LeafIndex place : places_) {
      if (scores_left_ == 0) return any;
      if (place == blocks_[i].leaf || !put(start, i, place)) continue;
      any = better(scorer) || any;
    }
  }
  return any;
}

// Two blocks at once: both into one group, where moving only one would not help; then each to any group.
bool Refinement::move_two(const Start& start, Scorer& scorer) {
  const Hierarchy& hierarchy = fabric_->hierarchy();
  const unsigned above = std::min(1U, hierarchy.top());
  const auto put_in = [&](std::size_t block, GroupIndex group) {
    return std::ranges::any_of(places_, [&](LeafIndex place) {
      return hierarchy.group_of_leaf(above, place) == group && put(start, block, place);
    });
  };
  const auto group_of = [&](LeafIndex leaf) { return hierarchy.group_of_leaf(above, leaf); };
  bool any = false;
  for (const bool together : {true, false}) {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      for (std::size_t j = i + 1; j < blocks_.size(); ++j) {
        for (const LeafIndex a : representatives_) {
          for (const LeafIndex b : representatives_) {
            if (scores_left_ == 0) return any;
            if ((a == b) != together) continue;
            if (put_in(i, group_of(a)) && put_in(j, group_of(b))) {
              any = better(scorer) || any;
            } else {
              blocks_ = best_blocks_;
            }
          }
        }
      }
    }
  }
  return any;
}

// Moves all blocks of one group of a level to another group.
bool Refinement::move_groups(const Start& start, Scorer& scorer) {
  const Hierarchy& hierarchy = fabric_->hierarchy();
  bool any = false;
  for (unsigned level = 1; level < start.level; ++level) {
    std::vector<GroupIndex> targets;
    for (const LeafIndex place : places_) {
      const GroupIndex group = hierarchy.group_of_leaf(level, place);
      if (std::ranges::find(targets, group) == targets.end()) targets.push_back(group);
    }
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const GroupIndex from = hierarchy.group_of_leaf(level, blocks_[i].leaf);
      for (const GroupIndex to : targets) {
        if (to == from || scores_left_ == 0) continue;
        if (hierarchy.group_of_leaf(level, blocks_[i].leaf) != from) break;  // it has moved already
        bool all_fit = true;
        for (std::size_t b = 0; b < blocks_.size() && all_fit; ++b) {
          if (hierarchy.group_of_leaf(level, blocks_[b].leaf) != from) continue;
          all_fit = std::ranges::any_of(places_, [&](LeafIndex place) {
            return hierarchy.group_of_leaf(level, place) == to && put(start, b, place);
          });
        }
        if (all_fit) {
          any = better(scorer) || any;
        } else {
          blocks_ = best_blocks_;
        }
      }
    }
  }
  return any;
}

bool Refinement::improve(const Start& start, Scorer& scorer, double margin, std::vector<fabric::GpuId>& gpu_of_rank,
                         PlacementCost& cost) {
  size_ = start.spec->parallelism.tensor;
  scores_left_ = std::min(kMostScores, kRanksScored / gpu_of_rank.size());
  blocks_.clear();
  for (std::size_t i = 0; i < gpu_of_rank.size(); i += size_) {
    Block block{fabric_->leaf(gpu_of_rank[i]), 0};
    for (std::size_t r = i; r < i + size_; ++r) {
      block.mask |= std::uint64_t{1} << fabric_->topology().local_index(gpu_of_rank[r]);
    }
    blocks_.push_back(block);
  }
  best_blocks_ = blocks_;
  best_.assign(gpu_of_rank.begin(), gpu_of_rank.end());
  best_cost_ = cost;
  least_us_ = cost.total_us;
  find_places(start);
  bool again = true;
  while (again && scores_left_ > 0) {
    again = move_groups(start, scorer);
    again = move_one(start, scorer) || again;
    again = exchange(scorer) || again;
    if (!again) again = move_two(start, scorer);
  }
  if (!(best_cost_.total_us < cost.total_us * (1 - margin))) return false;
  gpu_of_rank.swap(best_);
  cost = best_cost_;
  return true;
}

}  // namespace railweave::scheduler
