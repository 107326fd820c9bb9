#include "scheduler/placement/fit/best_fit.h"

#include <algorithm>
#include <tuple>

#include "fabric/base/check.h"

namespace railweave::scheduler {
namespace {

// With this many children or more, candidates are found through the buckets of their level.
constexpr std::uint32_t kManyChildren = 96;

}  // namespace

BestFit::BestFit(const Hierarchy& hierarchy) : hierarchy_(&hierarchy), pieces_(hierarchy.level_count()) {}

// Pieces of the last rung at or below each level, for levels from the first rung up. Below, the index is the count.
void BestFit::count_pieces(const FitIndex& index, std::span<const Rung> rungs, unsigned max_level) {
  for (unsigned level = rungs.front().level; level <= max_level; ++level) {
    pieces_[level].resize(hierarchy_->group_count(level));
    count_pieces(index, rungs, level, 0, hierarchy_->group_count(level));
  }
}

// The same for groups [first, end) of one level.
void BestFit::count_pieces(const FitIndex& index, std::span<const Rung> rungs, unsigned level, GroupIndex first,
                           GroupIndex end) {
  auto& here = pieces_[level];
  for (GroupIndex group = first; group < end; ++group) {
    std::uint32_t count = 0;
    if (level == rungs.front().level) {
      count = index.units(level, group);
    } else {
      const auto& below = pieces_[level - 1];
      const GroupIndex last = hierarchy_->first_child(level, group + 1);
      for (GroupIndex child = hierarchy_->first_child(level, group); child < last; ++child) count += below[child];
    }
    here[group] = count;
  }
  const auto rung = std::ranges::find(rungs, level, &Rung::level);
  if (rung == rungs.end()) return;
  for (GroupIndex group = first; group < end; ++group)
    here[group] = static_cast<std::uint32_t>(std::min<std::uint64_t>(here[group] / rung->factor, rung->most));
}

void BestFit::count_pieces_inside(const FitIndex& index, std::span<const Rung> rungs, const Fit& group) {
  for (unsigned level = rungs.front().level; level <= group.level; ++level) {
    pieces_[level].resize(hierarchy_->group_count(level));
    const auto group_at = [&](LeafIndex leaf) {
      return leaf == hierarchy_->leaf_count() ? hierarchy_->group_count(level) : hierarchy_->group_of_leaf(level, leaf);
    };
    count_pieces(index, rungs, level, group_at(hierarchy_->first_leaf(group.level, group.group)),
                 group_at(hierarchy_->first_leaf(group.level, group.group + 1)));
  }
}

std::uint32_t BestFit::pieces_in(const FitIndex& index, std::span<const Rung> rungs, unsigned level, GroupIndex group) {
  const auto beyond = std::ranges::find_if(rungs, [&](const Rung& rung) { return rung.level > level; });
  rungs = rungs.first(static_cast<std::size_t>(beyond - rungs.begin()));
  if (rungs.empty()) return index.units(level, group);
  count_pieces_inside(index, rungs, {level, group});
  return pieces_[level][group];
}

// In the unit of that level: pieces of the last rung at or below it.
std::uint32_t BestFit::holds(const FitIndex& index, unsigned level, GroupIndex group) const {
  return !rungs_.empty() && level >= rungs_.front().level ? pieces_[level][group] : index.units(level, group);
}

std::optional<Fit> BestFit::find(const FitIndex& index, const FitRequest& request, unsigned min_level) {
  rungs_ = request.rungs;
  std::uint64_t needed = request.count;
  for (const auto& rung : request.rungs) needed *= rung.factor;
  const unsigned first_rung = request.rungs.empty() ? hierarchy_->level_count() : request.rungs.front().level;
  for (unsigned level = min_level; level <= request.max_level && level < first_rung; ++level) {
    if (const auto group = index.best_fit(level, needed)) return Fit{level, *group};
  }
  if (first_rung > request.max_level) return std::nullopt;

  count_pieces(index, request.rungs, request.max_level);
  std::size_t rung = 0;
  for (unsigned level = first_rung; level <= request.max_level; ++level) {
    if (rung < request.rungs.size() && request.rungs[rung].level == level) needed /= request.rungs[rung++].factor;
    if (level < min_level) continue;
    std::optional<GroupIndex> best;
    std::tuple<std::uint32_t, std::uint32_t, std::uint32_t> best_fit;
    for (GroupIndex group = 0; group < hierarchy_->group_count(level); ++group) {
      if (pieces_[level][group] < needed) continue;
      const std::tuple fit(pieces_[level][group], index.units(level, group), index.value(level, group));
      if (best && best_fit < fit) continue;
      if (best && fit == best_fit && !index.fuller_around(level, group, *best)) continue;
      best = group;
      best_fit = fit;
    }
    if (best) return Fit{level, *best};
  }
  return std::nullopt;
}

std::span<const Share> BestFit::distribute(const FitIndex& index, const FitRequest& request, const Fit& fit) {
  rungs_ = request.rungs;
  shares_.clear();
  candidates_.clear();
  portions_.clear();
  std::uint64_t amount = request.count;
  for (auto rung = request.rungs.rbegin(); rung != request.rungs.rend() && rung->level > fit.level; ++rung) {
    amount *= rung->factor;
  }
  // find() may have counted other shapes since; counting again inside the group found is cheap.
  if (!rungs_.empty()) count_pieces_inside(index, rungs_, fit);
  if (request.fill == Fill::fragments) {
    give_fragments(index, fit, amount);
  } else {
    give(index, fit.level, fit.group, amount);
  }
  return shares_;
}

// `amount` in the unit of this level.
void BestFit::give(const FitIndex& index, unsigned level, GroupIndex group, std::uint64_t amount) {
  for (const auto& rung : rungs_) {
    if (rung.level == level) amount *= rung.factor;
  }
  const FitShape& shape = index.shape();
  if (level == 0) {
    shares_.push_back({group, static_cast<std::uint32_t>(amount * index.unit_gpus())});
    return;
  }
  if (index.straddles(level, group)) {
    give_straddling(index, level, group, amount);
    return;
  }
  if (level == hierarchy_->host_level() && shape.per_node >= shape.block) {
    give_node(index, group);
    return;
  }
  const GroupIndex first = hierarchy_->first_child(level, group);
  const GroupIndex end = hierarchy_->first_child(level, group + 1);
  const std::size_t portions = portions_.size();
  const bool counted_by_index = rungs_.empty() || level - 1 < rungs_.front().level;
  if (end - first >= kManyChildren && counted_by_index && index.by_value(level - 1) != nullptr) {
    choose_by_buckets(index, level - 1, first, end, amount);
  } else {
    const std::size_t candidates = candidates_.size();
    for (GroupIndex child = first; child < end; ++child) {
      const std::uint32_t held = holds(index, level - 1, child);
      if (held > 0) candidates_.push_back({child, held, index.value(level - 1, child)});
    }
    choose(candidates, amount);
  }
  for (std::size_t i = portions; i < portions_.size(); ++i)
    give(index, level - 1, portions_[i].child, portions_[i].amount);
  portions_.resize(portions);
}

// Whole units in single children where that is enough; else whatever is there, so that the fewest children share a
// unit.
void BestFit::give_straddling(const FitIndex& index, unsigned level, GroupIndex group, std::uint64_t units) {
  const GroupIndex first = hierarchy_->first_child(level, group);
  const GroupIndex end = hierarchy_->first_child(level, group + 1);
  const std::uint32_t per_unit = index.value_per_unit(level, group);
  const std::size_t candidates = candidates_.size();
  const std::size_t portions = portions_.size();
  std::uint64_t whole = 0;
  for (GroupIndex child = first; child < end; ++child) whole += index.value(level - 1, child) / per_unit;
  if (whole >= units) {
    for (GroupIndex child = first; child < end; ++child) {
      const std::uint32_t value = index.value(level - 1, child);
      if (value >= per_unit) candidates_.push_back({child, value / per_unit, value});
    }
    choose(candidates, units);
    for (std::size_t i = portions; i < portions_.size(); ++i)
      give(index, level - 1, portions_[i].child, portions_[i].amount);
  } else {
    for (GroupIndex child = first; child < end; ++child) {
      const std::uint32_t value = index.value(level - 1, child);
      if (value % per_unit != 0) candidates_.push_back({child, value % per_unit, value});
    }
    choose(candidates, (units - whole) * per_unit);
    std::size_t i = portions;
    for (GroupIndex child = first; child < end; ++child) {
      std::uint32_t amount = index.value(level - 1, child) / per_unit * per_unit;
      if (i < portions_.size() && portions_[i].child == child) amount += portions_[i++].amount;
      if (amount > 0) give_raw(index, level - 1, child, amount);
    }
  }
  portions_.resize(portions);
}

// `amount` in what units are made of (FitIndex::value): free GPUs, or hosts that give `per_node` each.
void BestFit::give_raw(const FitIndex& index, unsigned level, GroupIndex group, std::uint64_t amount) {
  if (level == 0) {
    const std::uint32_t each = index.shape().per_node == 0 ? 1 : index.shape().per_node;
    shares_.push_back({group, static_cast<std::uint32_t>(amount * each)});
    return;
  }
  const std::size_t candidates = candidates_.size();
  const std::size_t portions = portions_.size();
  const GroupIndex end = hierarchy_->first_child(level, group + 1);
  for (GroupIndex child = hierarchy_->first_child(level, group); child < end; ++child) {
    const std::uint32_t value = index.value(level - 1, child);
    if (value > 0) candidates_.push_back({child, value, value});
  }
  choose(candidates, amount);
  for (std::size_t i = portions; i < portions_.size(); ++i) {
    give_raw(index, level - 1, portions_[i].child, portions_[i].amount);
  }
  portions_.resize(portions);
}

// Exactly `per_node` GPUs of a host that has several islands, in whole blocks.
void BestFit::give_node(const FitIndex& index, GroupIndex host) {
  const std::uint32_t block = index.shape().block;
  const std::size_t candidates = candidates_.size();
  const std::size_t portions = portions_.size();
  const LeafIndex end = hierarchy_->first_child(1, host + 1);
  for (LeafIndex leaf = hierarchy_->first_child(1, host); leaf < end; ++leaf) {
    const std::uint32_t free = index.value(0, leaf);
    if (index.value_per_unit(0, leaf) != 0 && free >= block) candidates_.push_back({leaf, free / block, free});
  }
  choose(candidates, index.shape().per_node / block);
  for (std::size_t i = portions; i < portions_.size(); ++i) {
    shares_.push_back({portions_[i].child, portions_[i].amount * block});
  }
  portions_.resize(portions);
}

void BestFit::give_fragments(const FitIndex& index, const Fit& fit, std::uint64_t count) {
  candidates_.clear();
  const LeafIndex end = hierarchy_->first_leaf(fit.level, fit.group + 1);
  for (LeafIndex leaf = hierarchy_->first_leaf(fit.level, fit.group); leaf < end; ++leaf) {
    if (index.units(0, leaf) > 0) candidates_.push_back({leaf, index.units(0, leaf), index.value(0, leaf)});
  }
  std::ranges::sort(candidates_, {}, [](const Candidate& c) { return std::tuple(c.units, c.left_over, c.child); });
  for (const auto& candidate : candidates_) {
    if (count == 0) break;
    const auto units = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, candidate.units));
    shares_.push_back({candidate.child, units * index.unit_gpus()});
    count -= units;
  }
  std::ranges::sort(shares_, {}, &Share::leaf);
  RAILWEAVE_CHECK(count == 0, "leaves hold what their group was counted to hold");
}

void BestFit::choose(std::size_t from, std::uint64_t amount) {
  const auto begin = candidates_.begin() + static_cast<std::ptrdiff_t>(from);
  const std::size_t portions = portions_.size();
  // Most units first, then the least left over, then the lowest number: the top of the heap.
  const auto later = [](const Candidate& a, const Candidate& b) {
    return std::tuple(b.units, a.left_over, a.child) > std::tuple(a.units, b.left_over, b.child);
  };
  std::make_heap(begin, candidates_.end(), later);
  while (amount > 0) {
    RAILWEAVE_CHECK(candidates_.size() > from, "children hold what their group was counted to hold");
    if (candidates_[from].units >= amount) {
      const Candidate* best = nullptr;
      for (std::size_t i = from; i < candidates_.size(); ++i) {
        const Candidate& c = candidates_[i];
        if (c.units < amount) continue;
        if (best == nullptr ||
            std::tuple(c.units, c.left_over, c.child) < std::tuple(best->units, best->left_over, best->child)) {
          best = &c;
        }
      }
      portions_.push_back({best->child, static_cast<std::uint32_t>(amount)});
      break;
    }
    portions_.push_back({candidates_[from].child, candidates_[from].units});
    amount -= candidates_[from].units;
    std::pop_heap(begin, candidates_.end(), later);
    candidates_.pop_back();
  }
  candidates_.resize(from);
  std::sort(portions_.begin() + static_cast<std::ptrdiff_t>(portions), portions_.end(),
            [](const Portion& a, const Portion& b) { return a.child < b.child; });
}

// The same choice, children found by value and number through the buckets of their level.
void BestFit::choose_by_buckets(const FitIndex& index, unsigned level, GroupIndex first, GroupIndex end,
                                std::uint64_t amount) {
  const OrderedBuckets& buckets = *index.by_value(level);
  const std::uint32_t divisor = index.uniform_divisor(level);
  const std::size_t portions = portions_.size();
  auto highest = buckets.key_up_to(UINT32_MAX);
  while (amount > 0) {
    RAILWEAVE_CHECK(highest && *highest >= divisor, "children hold what their group was counted to hold");
    // All children whose value is in [low, high) hold as many units; those of higher value are used up.
    const std::uint32_t units = std::min(*highest / divisor, index.unit_cap(level));
    const std::uint32_t low = units * divisor;
    const std::uint32_t high = units == index.unit_cap(level) ? UINT32_MAX : low + divisor;
    auto key = buckets.key_from(low);
    GroupIndex child = first;
    while (key && *key < high) {
      child = buckets.item_from(*key, child, end);
      if (child == end) {
        key = buckets.key_from(*key + 1);
        child = first;
        continue;
      }
      if (units >= amount) break;
      portions_.push_back({child, units});
      amount -= units;
      ++child;
    }
    if (key && *key < high) {
      // The last: the least value that suffices. Below `low` nothing is used yet; from there on, what follows `child`.
      for (auto fit = buckets.key_from(static_cast<std::uint32_t>(amount * divisor)); fit && *fit < low;
           fit = buckets.key_from(*fit + 1)) {
        const GroupIndex found = buckets.item_from(*fit, first, end);
        if (found == end) continue;
        child = found;
        break;
      }
      portions_.push_back({child, static_cast<std::uint32_t>(amount)});
      amount = 0;
    }
    highest = low == 0 ? std::nullopt : buckets.key_up_to(low - 1);
  }
  std::sort(portions_.begin() + static_cast<std::ptrdiff_t>(portions), portions_.end(),
            [](const Portion& a, const Portion& b) { return a.child < b.child; });
}

}  // namespace railweave::scheduler
