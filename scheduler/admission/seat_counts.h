// How many seats of each group of a fabric a job may take, by the links of the groups' switches alone: what is inside a
// switch exchanges with what is outside passes its links to other switches. A necessary condition, so that where no
// numbers satisfy it the job has no place.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "scheduler/admission/seat_classes.h"
#include "scheduler/admission/seat_loads.h"

namespace railweave::scheduler {

// Numbers from 0 on, a bit each.
class NumberSet {
 public:
  explicit NumberSet(std::size_t end) : words_(end / 64 + 1, 0), end_(end) {}
  void insert(std::size_t number) { words_[number / 64] |= std::uint64_t{1} << (number % 64); }
  [[nodiscard]] bool contains(std::size_t number) const {
    return number < end_ && (words_[number / 64] >> (number % 64) & 1U) != 0;
  }
  // Every number of the other set, and so much more, as far as this set goes.
  void insert_sums(const NumberSet& other, std::size_t more);

 private:
  std::vector<std::uint64_t> words_;
  std::size_t end_;
};

class SeatCounts {
 public:
  // Known where all seats hold the same number of units, have the same number of ports, and one plane joins them all.
  SeatCounts(std::span<const Seat> seats, const SeatClasses& classes, const SeatLoads& loads);

  [[nodiscard]] bool known() const { return known_; }
  // Seats that the job takes, where that is known.
  [[nodiscard]] std::size_t seats() const { return needed_; }
  // Where known: whether groups [from, ...) may hold exactly this number of seats; and one group by itself.
  [[nodiscard]] bool possible(std::size_t from, std::size_t seats) const { return suffix_[from].contains(seats); }
  [[nodiscard]] bool allowed(std::size_t group, std::size_t seats) const {
    return seats < allowed_[group].size() && allowed_[group][seats] != 0;
  }
  [[nodiscard]] bool any() const { return !known_ || possible(0, needed_); }
  // Seats by group, as many as may be from the first groups of the order; none: there are no such numbers, or the order
  // leads to none.
  [[nodiscard]] std::optional<std::vector<std::size_t>> in_order(std::span<const std::uint32_t> order) const;

 private:
  bool known_ = false;
  std::size_t needed_ = 0;
  std::vector<std::vector<std::uint8_t>> allowed_;  // by group and seats
  std::vector<NumberSet> suffix_;                   // by first group: seats
};

}  // namespace railweave::scheduler
