#include "scheduler/collective/domain_members.h"

#include <algorithm>
#include <utility>

namespace railweave::scheduler {

namespace {
// NCCL's channels enter and leave a domain rail by rail, whatever the order of ranks.
bool by_rail(const Spot* a, const Spot* b) { return a->rail != b->rail ? a->rail < b->rail : a->nic < b->nic; }
}  // namespace

void DomainMembers::set_unit_count(std::uint32_t units) {
  slot_stamp_.assign(units, 0);
  slot_of_unit_.resize(units);
  stamp_ = 0;
}

std::uint32_t DomainMembers::sort(Members members) {
  ++stamp_;
  first_of_slot_.clear();
  slot_of_member_.resize(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::uint32_t unit = members[i]->unit;
    if (slot_stamp_[unit] != stamp_) {
      slot_stamp_[unit] = stamp_;
      slot_of_unit_[unit] = static_cast<std::uint32_t>(first_of_slot_.size());
      first_of_slot_.push_back(0);
    }
    ++first_of_slot_[slot_of_member_[i] = slot_of_unit_[unit]];
  }
  const auto domains = static_cast<std::uint32_t>(first_of_slot_.size());
  least_size_ = *std::ranges::min_element(first_of_slot_);
  std::uint32_t next = 0;
  for (std::uint32_t& slot : first_of_slot_) next += std::exchange(slot, next);
  sorted_.resize(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) sorted_[first_of_slot_[slot_of_member_[i]]++] = members[i];
  for (std::size_t s = domains; s > 0; --s) first_of_slot_[s - 1] = s > 1 ? first_of_slot_[s - 2] : 0;
  first_of_slot_.push_back(static_cast<std::uint32_t>(members.size()));
  if (domains == members.size() || domains == 1) return domains;
  for (std::uint32_t s = 0; s < domains; ++s) {
    const auto from = sorted_.begin() + first_of_slot_[s], to = sorted_.begin() + first_of_slot_[s + 1];
    if (!std::is_sorted(from, to, by_rail)) std::sort(from, to, by_rail);
  }
  return domains;
}

}  // namespace railweave::scheduler
