#include "scheduler/placement/search/even_splits.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

namespace railweave::scheduler {
namespace {

// Fewest capacities that hold `amount` together, the largest first; they are sorted so.
std::size_t fewest_that_hold(const std::vector<std::uint64_t>& falling, std::uint64_t amount) {
  std::size_t count = 0;
  while (count < falling.size() && amount > 0) amount -= std::min(amount, falling[count++]);
  return amount == 0 ? count : SIZE_MAX;
}

// The least cap under which the `count` largest still hold `amount`.
std::uint64_t level_of(const std::vector<std::uint64_t>& falling, std::size_t count, std::uint64_t amount) {
  std::uint64_t left = amount;
  for (std::size_t i = count; i > 0; --i) {  // the smallest first: what they lack the others give
    const std::uint64_t share = (left + i - 1) / i;
    if (falling[i - 1] >= share) return share;
    left -= falling[i - 1];
  }
  return falling.front();
}

class Splits {
 public:
  Splits(BestFit& best_fit, const Hierarchy& hierarchy, const FitIndex& index, const EvenSplitQuestion& question)
      : best_fit_(best_fit),
        hierarchy_(hierarchy),
        index_(index),
        question_(question),
        shape_(*question.shape),
        level_(ring_level(hierarchy)),
        inside_(question.inside) {}

  std::vector<EvenSplit> all();

 private:
  [[nodiscard]] bool cut_shape();
  [[nodiscard]] bool any_straddles() const;
  void count_capacities();
  [[nodiscard]] bool already_even();
  [[nodiscard]] std::vector<GroupPortion> held(std::vector<Rung> rungs, std::uint64_t count);
  [[nodiscard]] GroupIndex first_group() const {
    return hierarchy_.group_of_leaf(level_, hierarchy_.first_leaf(inside_.level, inside_.group));
  }
  void add(std::vector<GroupPortion> portions);
  void spread(std::vector<GroupPortion> portions);
  void split_whole(const std::vector<Rung>& caps);
  void split_wherever(std::size_t groups, std::uint64_t cap);
  void split_over(unsigned level, std::uint64_t cap_of_ring_level);
  void split_pieces(std::size_t groups);

  BestFit& best_fit_;
  const Hierarchy& hierarchy_;
  const FitIndex& index_;
  const EvenSplitQuestion& question_;
  JobShape shape_;  // with the rungs up to the ring level alone
  unsigned level_;
  Fit inside_;
  std::uint64_t pieces_ = 1;             // that rings stay in
  std::uint64_t amount_ = 0;             // of the last of these rungs: the whole job
  unsigned piece_level_ = 0;             // that each piece has to stay in one group of; 0: none
  std::vector<std::uint64_t> capacity_;  // by group inside
  std::vector<std::uint64_t> falling_;   // the same, the largest first
  std::vector<EvenSplit> splits_;
};

// False where something asked for larger pieces cannot be kept.
bool Splits::cut_shape() {
  amount_ = shape_.count;
  pieces_ = question_.pieces;
  if (pieces_ == 1 && !shape_.rungs.empty() && shape_.rungs.back().level > level_) pieces_ = shape_.count;
  while (!shape_.rungs.empty() && shape_.rungs.back().level > level_) {
    const Rung rung = shape_.rungs.back();
    if (rung.most != UINT32_MAX || piece_level_ != 0 || shape_.count != pieces_) return false;
    piece_level_ = rung.level;
    amount_ *= rung.factor;
    shape_.rungs.pop_back();
  }
  shape_.count = amount_;
  return amount_ % pieces_ == 0 && (piece_level_ == 0 || piece_level_ <= inside_.level);
}

// In such a group, the units of its parts do not add up to its own.
bool Splits::any_straddles() const {
  const LeafIndex end = hierarchy_.first_leaf(inside_.level, inside_.group + 1);
  for (unsigned level = level_ + 1; level <= inside_.level; ++level) {
    for (LeafIndex leaf = hierarchy_.first_leaf(inside_.level, inside_.group); leaf < end;) {
      const GroupIndex group = hierarchy_.group_of_leaf(level, leaf);
      if (index_.straddles(level, group)) return true;
      leaf = hierarchy_.first_leaf(level, group + 1);
    }
  }
  return false;
}

void Splits::count_capacities() {
  if (!shape_.rungs.empty()) (void)best_fit_.pieces_in(index_, shape_.rungs, inside_.level, inside_.group);
  const LeafIndex end = hierarchy_.first_leaf(inside_.level, inside_.group + 1);
  for (GroupIndex group = first_group();
       group < hierarchy_.group_count(level_) && hierarchy_.first_leaf(level_, group) < end; ++group) {
    capacity_.push_back(shape_.rungs.empty() ? index_.units(level_, group) : best_fit_.pieces(level_, group));
  }
  falling_ = capacity_;
  std::ranges::sort(falling_, std::greater{});
}

// What BestFit would take of each group, as pieces of the last rung, where no group gives more than its cap.
std::vector<GroupPortion> Splits::held(std::vector<Rung> rungs, std::uint64_t count) {
  std::uint64_t size = index_.unit_gpus();
  for (const Rung& rung : shape_.rungs) size *= rung.factor;
  const FitRequest request{.rungs = rungs, .count = count, .max_level = inside_.level};
  std::vector<GroupPortion> portions;
  for (const Share& share : best_fit_.distribute(index_, request, inside_)) {
    const GroupIndex group = hierarchy_.group_of_leaf(level_, share.leaf);
    if (portions.empty() || portions.back().group != group) portions.push_back({group, 0});
    portions.back().amount += share.gpus;
  }
  for (GroupPortion& portion : portions) portion.amount /= size;
  return portions;
}

bool Splits::already_even() {
  if (pieces_ > 1) return false;
  const auto [least, most] = std::ranges::minmax(held(shape_.rungs, amount_), {}, &GroupPortion::amount);
  return most.amount - least.amount <= 1;
}

void Splits::add(std::vector<GroupPortion> portions) {
  const auto same = [&](const EvenSplit& split) {
    return std::ranges::equal(split.portions, portions, [](const GroupPortion& a, const GroupPortion& b) {
      return a.group == b.group && a.amount == b.amount;
    });
  };
  if (std::ranges::none_of(splits_, same)) splits_.push_back({shape_, std::move(portions)});
}

// Groups as BestFit chooses them under caps, then the job spread over them as evenly as their capacities allow.
void Splits::split_whole(const std::vector<Rung>& caps) {
  std::vector<Rung> rungs = shape_.rungs;
  for (const Rung& cap : caps) {
    if (!rungs.empty() && rungs.back().level == cap.level) {
      rungs.back().most = std::min(rungs.back().most, cap.most);
    } else {
      rungs.push_back(cap);
    }
  }
  if (best_fit_.pieces_in(index_, rungs, inside_.level, inside_.group) < amount_) return;
  spread(held(std::move(rungs), amount_));
}

// The whole job over these groups, as evenly as their capacities allow.
void Splits::spread(std::vector<GroupPortion> portions) {
  std::vector<std::uint64_t> capacity;
  for (const GroupPortion& portion : portions) capacity.push_back(capacity_[portion.group - first_group()]);
  const auto parts = even_parts(capacity, amount_);
  if (parts.empty()) return;
  for (std::size_t i = 0; i < portions.size(); ++i) portions[i].amount = parts[i];
  add(std::move(portions));
}

// Over that many groups wherever they are, where BestFit would take more for being near: the fullest that are as good.
void Splits::split_wherever(std::size_t groups, std::uint64_t cap) {
  std::vector<std::size_t> order(capacity_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return capacity_[i]; });
  std::size_t begin = 0;
  while (begin + groups < falling_.size()) {
    const std::vector<std::uint64_t> next(falling_.begin() + static_cast<std::ptrdiff_t>(begin + 1),
                                          falling_.begin() + static_cast<std::ptrdiff_t>(begin + 1 + groups));
    if (fewest_that_hold(next, amount_) > groups || level_of(next, groups, amount_) != cap) break;
    ++begin;
  }
  std::vector<GroupPortion> portions;
  for (std::size_t i = begin; i < begin + groups; ++i) {
    portions.push_back({first_group() + static_cast<GroupIndex>(order[i]), 0});
  }
  std::ranges::sort(portions, {}, &GroupPortion::group);
  spread(std::move(portions));
}

// Over the groups of a level above, in each of them no group of the ring level above its cap.
void Splits::split_over(unsigned level, std::uint64_t cap) {
  std::vector<std::uint64_t> held_by;
  GroupIndex last = UINT32_MAX;
  for (std::size_t i = 0; i < capacity_.size(); ++i) {
    const LeafIndex leaf = hierarchy_.first_leaf(level_, first_group() + static_cast<GroupIndex>(i));
    const GroupIndex around = hierarchy_.group_of_leaf(level, leaf);
    if (around != last) held_by.push_back(0);
    last = around;
    held_by.back() += std::min(cap, capacity_[i]);
  }
  std::ranges::sort(held_by, std::greater{});
  const std::size_t fewest = fewest_that_hold(held_by, amount_);
  if (fewest == 1 || fewest == SIZE_MAX) return;
  const Rung of_ring{level_, 1, static_cast<std::uint32_t>(cap)};
  for (const std::size_t groups : {fewest, fewest + 1}) {
    if (groups > held_by.size() || held_by[groups - 1] == 0) break;
    split_whole({of_ring, {level, 1, static_cast<std::uint32_t>(level_of(held_by, groups, amount_))}});
  }
}

// Each piece over `groups` groups of its own.
void Splits::split_pieces(std::size_t groups) {
  const std::uint64_t piece = amount_ / pieces_;
  const std::uint64_t most = (piece + groups - 1) / groups;
  std::vector<Rung> rungs = shape_.rungs;
  rungs.push_back({level_, most, 1});
  if (rungs.size() > 1 && rungs[rungs.size() - 2].level == level_) {  // one rung of a level: its pieces are larger then
    rungs.pop_back();
    rungs.back().factor *= most;
    rungs.back().most = 1;
  }
  if (piece_level_ != 0) rungs.push_back({piece_level_, groups, UINT32_MAX});
  const std::uint64_t count = piece_level_ != 0 ? pieces_ : pieces_ * groups;
  if (best_fit_.pieces_in(index_, rungs, inside_.level, inside_.group) < count) return;
  auto portions = held(std::move(rungs), count);
  if (portions.size() != pieces_ * groups) return;
  for (std::size_t i = 0; i < portions.size(); ++i) {
    portions[i].amount = piece / groups + (i % groups < piece % groups ? 1 : 0);
  }
  add(std::move(portions));
}

std::vector<EvenSplit> Splits::all() {
  if (inside_.level <= level_ || !cut_shape()) return {};
  if (hierarchy_.max_capacity(level_) < 2 * std::uint64_t{index_.unit_gpus()}) return {};  // one each: always even
  if (any_straddles()) return {};
  count_capacities();
  const std::size_t fewest = fewest_that_hold(falling_, amount_ / pieces_);
  if (fewest == 1 || fewest == SIZE_MAX || already_even()) return {};
  for (const std::size_t groups : {fewest, fewest + 1}) {
    if (groups > falling_.size() || falling_[groups - 1] == 0) break;
    if (!question_.every_level && !splits_.empty()) break;  // one more group is for jobs that are cheap to compare
    if (pieces_ > 1) {
      split_pieces(groups);
      continue;
    }
    const std::uint64_t cap = level_of(falling_, groups, amount_);
    split_whole({Rung{level_, 1, static_cast<std::uint32_t>(cap)}});
    if (!question_.every_level) continue;
    if (splits_.empty() || splits_.back().portions.size() != groups) split_wherever(groups, cap);
    if (groups > fewest) continue;
    for (unsigned level = level_ + 1; level < inside_.level; ++level) split_over(level, cap);
  }
  return std::move(splits_);
}

}  // namespace

unsigned ring_level(const Hierarchy& hierarchy) {
  const unsigned level = hierarchy.level_of(fabric::LevelKind::nvlink_domain);
  return level == Hierarchy::kNoLevel ? hierarchy.host_level() : level;
}

std::vector<std::uint64_t> even_parts(const std::vector<std::uint64_t>& capacity, std::uint64_t amount) {
  std::vector<std::size_t> order(capacity.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return capacity[i]; });
  std::vector<std::uint64_t> parts(capacity.size(), 0);
  std::size_t left = order.size();
  std::size_t at = 0;
  // Those below the mean of what is left give all they have.
  for (; at < order.size() && capacity[order[at]] * left <= amount; ++at, --left) {
    amount -= parts[order[at]] = capacity[order[at]];
  }
  if (left == 0) return amount == 0 ? parts : std::vector<std::uint64_t>();
  std::vector<std::size_t> rest(order.begin() + static_cast<std::ptrdiff_t>(at), order.end());
  std::ranges::sort(rest);
  std::uint64_t extra = amount % left;
  for (const std::size_t i : rest) {
    parts[i] = amount / left;
    if (extra > 0 && parts[i] < capacity[i]) {
      ++parts[i];
      --extra;
    }
  }
  return parts;
}

std::vector<EvenSplit> even_splits(BestFit& best_fit, const Hierarchy& hierarchy, const FitIndex& index,
                                   const EvenSplitQuestion& question) {
  return Splits(best_fit, hierarchy, index, question).all();
}

}  // namespace railweave::scheduler
