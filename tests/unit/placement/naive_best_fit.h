// BestFit as it reads in the description: everything counted again for every decision, everything sorted. The oracle
// for FitIndex and BestFit; only the shape of the Hierarchy is shared.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "scheduler/placement/fit/best_fit.h"
#include "scheduler/placement/fit/fit_index.h"
#include "scheduler/placement/fit/hierarchy.h"

namespace railweave::scheduler::testing_support {

class NaiveBestFit {
 public:
  NaiveBestFit(const Hierarchy& hierarchy, FitShape shape, std::vector<Rung> rungs, std::vector<std::uint32_t> free)
      : hierarchy_(hierarchy), shape_(std::move(shape)), rungs_(std::move(rungs)), free_(std::move(free)) {}

  struct Answer {
    unsigned level = 0;
    GroupIndex group = 0;
    std::vector<std::uint32_t> gpus_of_leaf;
    friend bool operator==(const Answer&, const Answer&) = default;
  };

  [[nodiscard]] std::optional<Answer> place(std::uint64_t count, unsigned max_level) const {
    for (unsigned level = 0; level <= max_level; ++level) {
      std::uint64_t needed = count;
      for (const auto& rung : rungs_) {
        if (rung.level > level) needed *= rung.factor;
      }
      std::vector<Child> groups = children_like(level, 0, hierarchy_.group_count(level));
      std::erase_if(groups, [&](const Child& group) { return group.pieces < needed; });
      if (groups.empty()) continue;
      const Child best = *std::ranges::min_element(groups, {}, [&](const Child& c) {
        return std::tuple(c.pieces, c.units, c.value, around(level, c.number), c.number);
      });
      Answer answer{level, best.number, std::vector<std::uint32_t>(hierarchy_.leaf_count(), 0)};
      give(level, best.number, needed, answer.gpus_of_leaf);
      return answer;
    }
    return std::nullopt;
  }

  // In multiples of what a unit is made of.
  [[nodiscard]] std::uint64_t value(unsigned level, GroupIndex group) const {
    const std::uint64_t b = shape_.block;
    const std::uint64_t k = shape_.per_node;
    if (level == 0) {
      if (shape_.filter && (*shape_.filter)[group] == 0) return 0;
      if (k != 0 && k < b) return free_[group] >= k ? 1 : 0;
      return free_[group] / shape_.grain * shape_.grain;
    }
    std::uint64_t sum = 0;
    for_children(level, group, [&](GroupIndex child) {
      if (straddles(level, group))
        sum += value(level - 1, child);
      else if (level == 1 && hierarchy_.host_level() == 1 && k >= b)
        sum += usable(child) ? value(0, child) / b * b : 0;
      else
        sum += units(level - 1, child);
    });
    return sum;
  }

  [[nodiscard]] std::uint64_t units(unsigned level, GroupIndex group) const {
    const std::uint64_t b = shape_.block;
    const std::uint64_t k = shape_.per_node;
    const std::uint64_t v = value(level, group);
    if (level == 0 && !usable(group)) return 0;
    if (k >= b && level <= hierarchy_.host_level()) return v >= k ? 1 : 0;
    if (k != 0 && k < b) return level == 0 || straddles(level, group) ? v / (b / k) : v;
    return level == 0 || straddles(level, group) ? v / b : v;
  }

 private:
  // What the groups around it hold, the nearest first.
  [[nodiscard]] std::vector<std::uint64_t> around(unsigned level, GroupIndex group) const {
    std::vector<std::uint64_t> values;
    for (; level + 1 < hierarchy_.level_count(); ++level) {
      group = hierarchy_.parent(level, group);
      values.push_back(value(level + 1, group));
    }
    return values;
  }
  struct Child {
    GroupIndex number;
    std::uint64_t pieces;
    std::uint64_t units;
    std::uint64_t value;
  };

  template <class Visit>
  void for_children(unsigned level, GroupIndex group, Visit visit) const {
    for (GroupIndex child = hierarchy_.first_child(level, group); child < hierarchy_.first_child(level, group + 1);
         ++child) {
      visit(child);
    }
  }
  [[nodiscard]] bool usable(LeafIndex leaf) const {
    return shape_.block == 1 || !shape_.nvlink || hierarchy_.pooled(0, leaf);
  }
  [[nodiscard]] bool straddles(unsigned level, GroupIndex group) const {
    const bool whole_on_nodes = shape_.per_node != 0 && shape_.per_node >= shape_.block;
    return level > 0 && shape_.block > 1 && !whole_on_nodes && level <= shape_.straddle_top &&
           hierarchy_.pooled(level, group);
  }
  [[nodiscard]] std::uint64_t per_unit() const {
    return shape_.per_node != 0 && shape_.per_node < shape_.block ? shape_.block / shape_.per_node : shape_.block;
  }

  // Of the last rung at or below the level.
  [[nodiscard]] std::uint64_t pieces(unsigned level, GroupIndex group) const {
    if (rungs_.empty() || level < rungs_.front().level) return units(level, group);
    std::uint64_t sum = 0;
    if (level == rungs_.front().level)
      sum = units(level, group);
    else
      for_children(level, group, [&](GroupIndex child) { sum += pieces(level - 1, child); });
    for (const auto& rung : rungs_) {
      if (rung.level == level) sum /= rung.factor;
    }
    return sum;
  }

  [[nodiscard]] std::vector<Child> children_like(unsigned level, GroupIndex first, GroupIndex end) const {
    std::vector<Child> children;
    for (GroupIndex group = first; group < end; ++group) {
      children.push_back({group, pieces(level, group), units(level, group), value(level, group)});
    }
    return children;
  }

  // Largest first, the last by best fit. `held` says how much a child has.
  template <class Held, class Give>
  static void choose(std::vector<Child> children, std::uint64_t amount, Held held, Give give) {
    std::ranges::sort(children, [&](const Child& a, const Child& b) {
      return std::tuple(held(b), a.value, a.number) < std::tuple(held(a), b.value, b.number);
    });
    for (std::size_t i = 0; amount > 0 && i < children.size(); ++i) {
      if (held(children[i]) >= amount) {
        std::vector<Child> fitting(children.begin() + static_cast<std::ptrdiff_t>(i), children.end());
        std::erase_if(fitting, [&](const Child& c) { return held(c) < amount; });
        give(*std::ranges::min_element(fitting, {},
                                       [&](const Child& c) { return std::tuple(held(c), c.value, c.number); }),
             amount);
        return;
      }
      give(children[i], held(children[i]));
      amount -= held(children[i]);
    }
  }

  void give(unsigned level, GroupIndex group, std::uint64_t amount, std::vector<std::uint32_t>& out) const {
    for (const auto& rung : rungs_) {
      if (rung.level == level) amount *= rung.factor;
    }
    const std::uint64_t b = shape_.block;
    if (level == 0) {
      out[group] += static_cast<std::uint32_t>(amount * std::max<std::uint64_t>(b, shape_.per_node));
      return;
    }
    auto children =
        children_like(level - 1, hierarchy_.first_child(level, group), hierarchy_.first_child(level, group + 1));
    if (straddles(level, group)) {
      const auto whole = [&](const Child& c) { return c.value / per_unit(); };
      std::uint64_t sum = 0;
      for (const auto& child : children) sum += whole(child);
      if (sum >= amount) {
        choose(children, amount, whole, [&](const Child& c, std::uint64_t n) { give(level - 1, c.number, n, out); });
        return;
      }
      std::vector<std::uint64_t> raw;
      for (const auto& child : children) raw.push_back(whole(child) * per_unit());
      choose(
          children, (amount - sum) * per_unit(), [&](const Child& c) { return c.value % per_unit(); },
          [&](const Child& c, std::uint64_t n) { raw[c.number - children.front().number] += n; });
      for (std::size_t i = 0; i < children.size(); ++i) give_raw(level - 1, children[i].number, raw[i], out);
      return;
    }
    if (level == hierarchy_.host_level() && shape_.per_node != 0 && shape_.per_node >= b) {
      choose(
          children, shape_.per_node / b, [&](const Child& c) { return usable(c.number) ? c.value / b : 0; },
          [&](const Child& c, std::uint64_t n) { out[c.number] += static_cast<std::uint32_t>(n * b); });
      return;
    }
    choose(
        children, amount, [](const Child& c) { return c.pieces; },
        [&](const Child& c, std::uint64_t n) { give(level - 1, c.number, n, out); });
  }

  void give_raw(unsigned level, GroupIndex group, std::uint64_t amount, std::vector<std::uint32_t>& out) const {
    if (amount == 0) return;
    if (level == 0) {
      out[group] += static_cast<std::uint32_t>(amount * std::max<std::uint32_t>(1, shape_.per_node));
      return;
    }
    choose(
        children_like(level - 1, hierarchy_.first_child(level, group), hierarchy_.first_child(level, group + 1)),
        amount, [](const Child& c) { return c.value; },
        [&](const Child& c, std::uint64_t n) { give_raw(level - 1, c.number, n, out); });
  }

  const Hierarchy& hierarchy_;
  FitShape shape_;
  std::vector<Rung> rungs_;
  std::vector<std::uint32_t> free_;
};

}  // namespace railweave::scheduler::testing_support
