// The members of one group sorted by NVLink domain: domains in order of their first rank, members by rail. Keeps its
// memory between groups: one per thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/collective/job_bundles.h"

namespace railweave::scheduler {

class DomainMembers {
 public:
  void set_unit_count(std::uint32_t units);  // of the job whose groups follow
  // Returns the number of domains.
  std::uint32_t sort(Members members);

  // Of the group sorted last; slots are its domains.
  [[nodiscard]] std::uint32_t slot_of_member(std::size_t member) const { return slot_of_member_[member]; }
  [[nodiscard]] std::uint32_t size(std::uint32_t slot) const { return first_of_slot_[slot + 1] - first_of_slot_[slot]; }
  [[nodiscard]] std::span<const Spot* const> of(std::uint32_t slot) const {
    return std::span(sorted_).subspan(first_of_slot_[slot], size(slot));
  }
  [[nodiscard]] std::uint32_t least_size() const { return least_size_; }  // of any slot

 private:
  std::vector<const Spot*> sorted_;
  std::vector<std::uint32_t> slot_stamp_, slot_of_unit_;  // by unit
  std::vector<std::uint32_t> first_of_slot_;              // and the end
  std::vector<std::uint32_t> slot_of_member_;
  std::uint32_t stamp_ = 0, least_size_ = 0;
};

}  // namespace railweave::scheduler
