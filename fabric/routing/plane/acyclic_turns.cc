#include "fabric/routing/plane/acyclic_turns.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "fabric/base/check.h"

namespace railweave::fabric {

AcyclicTurns::AcyclicTurns(const Plane& plane)
    : next_(plane.arcs.size()),
      previous_(plane.arcs.size()),
      place_(plane.arcs.size()),
      seen_(plane.arcs.size(), false) {
  std::iota(place_.begin(), place_.end(), 0U);
}

AcyclicTurns::AcyclicTurns(std::vector<std::vector<std::uint32_t>> next)
    : next_(std::move(next)), previous_(next_.size()), place_(next_.size()), seen_(next_.size(), false) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t from = 0; from < next_.size(); ++from) {
    for (const std::uint32_t to : next_[from]) previous_[to].push_back(from);
  }
  std::vector<std::size_t> waiting;
  for (std::uint32_t node = 0; node < next_.size(); ++node) {
    waiting.push_back(previous_[node].size());
    if (waiting.back() == 0) order.push_back(node);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    place_[order[i]] = static_cast<std::uint32_t>(i);
    for (const std::uint32_t to : next_[order[i]]) {
      if (--waiting[to] == 0) order.push_back(to);
    }
  }
  RAILWEAVE_CHECK(order.size() == next_.size(), "the initial turns are free of circles");
}

bool AcyclicTurns::add_path(const std::vector<std::uint32_t>& arcs) {
  added_.clear();
  for (std::size_t i = 1; i < arcs.size(); ++i) {
    bool is_new = false;
    if (!add(arcs[i - 1], arcs[i], is_new)) {
      for (; !added_.empty(); added_.pop_back()) {  // roll back: those added last are last in their lists
        next_[added_.back().first].pop_back();
        previous_[added_.back().second].pop_back();
      }
      return false;
    }
    if (is_new) added_.emplace_back(arcs[i - 1], arcs[i]);
  }
  return true;
}

bool AcyclicTurns::add(std::uint32_t from, std::uint32_t to, bool& is_new) {
  if (from == to) return false;
  if (std::ranges::find(next_[from], to) != next_[from].end()) return true;
  if (place_[from] > place_[to]) {
    // Everything reachable from `to` that precedes `from` must move behind it.
    later_.clear();
    earlier_.clear();
    const bool circle = find_later(to, place_[from], from);
    if (!circle) find_earlier(from, place_[to]);
    for (const std::uint32_t arc : later_) seen_[arc] = false;
    for (const std::uint32_t arc : earlier_) seen_[arc] = false;
    if (circle) return false;
    reorder();
  }
  next_[from].push_back(to);
  previous_[to].push_back(from);
  is_new = true;
  return true;
}

bool AcyclicTurns::find_later(std::uint32_t from, std::uint32_t limit, std::uint32_t forbidden) {
  stack_.assign(1, from);
  seen_[from] = true;
  later_.push_back(from);
  while (!stack_.empty()) {
    const std::uint32_t arc = stack_.back();
    stack_.pop_back();
    for (const std::uint32_t next : next_[arc]) {
      if (next == forbidden) return true;
      if (seen_[next] || place_[next] > limit) continue;
      seen_[next] = true;
      later_.push_back(next);
      stack_.push_back(next);
    }
  }
  return false;
}

void AcyclicTurns::find_earlier(std::uint32_t to, std::uint32_t limit) {
  stack_.assign(1, to);
  seen_[to] = true;
  earlier_.push_back(to);
  while (!stack_.empty()) {
    const std::uint32_t arc = stack_.back();
    stack_.pop_back();
    for (const std::uint32_t previous : previous_[arc]) {
      if (seen_[previous] || place_[previous] < limit) continue;
      seen_[previous] = true;
      earlier_.push_back(previous);
      stack_.push_back(previous);
    }
  }
}

// Reassigns the places of the arcs found: first to those before the new turn, then to those after it.
void AcyclicTurns::reorder() {
  const auto by_place = [&](std::uint32_t arc) { return place_[arc]; };
  std::ranges::sort(earlier_, {}, by_place);
  std::ranges::sort(later_, {}, by_place);
  places_.clear();
  for (const std::uint32_t arc : earlier_) places_.push_back(place_[arc]);
  for (const std::uint32_t arc : later_) places_.push_back(place_[arc]);
  std::ranges::sort(places_);
  std::size_t next = 0;
  for (const std::uint32_t arc : earlier_) place_[arc] = places_[next++];
  for (const std::uint32_t arc : later_) place_[arc] = places_[next++];
}

}  // namespace railweave::fabric
