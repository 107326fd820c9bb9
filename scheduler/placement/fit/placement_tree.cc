#include "scheduler/placement/fit/placement_tree.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "fabric/base/check.h"
#include "scheduler/placement/fit/fit_index.h"

namespace railweave::scheduler {

struct PlacementTree::Index {
  std::unique_ptr<FitIndex> fit;
  std::uint64_t seen = 0;  // number of the first log entry that it has not applied
};

PlacementTree::PlacementTree(HierarchyPtr hierarchy)
    : hierarchy_(std::move(hierarchy)), hosts_(hierarchy_->host_count()), is_touched_(hierarchy_->host_count(), 0) {
  for (unsigned level = 0; level < hierarchy_->level_count(); ++level) {
    auto& free = free_.emplace_back();
    for (GroupIndex group = 0; group < hierarchy_->group_count(level); ++group) {
      free.push_back(hierarchy_->capacity(level, group));
    }
  }
  whole_ = free_;
  total_free_ = hierarchy_->total_capacity();
}

PlacementTree::~PlacementTree() = default;
PlacementTree::PlacementTree(PlacementTree&&) noexcept = default;
PlacementTree& PlacementTree::operator=(PlacementTree&&) noexcept = default;

std::uint64_t PlacementTree::free_mask(LeafIndex leaf) const {
  const HostAllocation& host = hosts_[hierarchy_->host(leaf).index()];
  return host.unavailable ? 0 : hierarchy_->gpu_mask(leaf) & ~(host.used | host.closed);
}

void PlacementTree::sync(const Allocations& allocations) {
  RAILWEAVE_CHECK(allocations.size() == hosts_.size(), "the snapshot is of this fabric");
  allocations.for_each_unshared(synced_, [&](std::size_t host) { set(fabric::HostId(host), allocations[host]); });
  for (const auto host : touched_) {
    set(host, allocations[host.index()]);
    is_touched_[host.index()] = 0;
  }
  touched_.clear();
  synced_ = allocations;
}

void PlacementTree::set(fabric::HostId host, HostAllocation allocation) {
  HostAllocation& now = hosts_[host.index()];
  if (now == allocation) return;
  now = allocation;
  if (is_touched_[host.index()] == 0) {
    is_touched_[host.index()] = 1;
    touched_.push_back(host);
  }
  const LeafIndex first = hierarchy_->host_first_leaf(host);
  for (LeafIndex leaf = first; leaf < first + hierarchy_->host_leaf_count(host); ++leaf) {
    change_leaf(leaf, static_cast<std::uint32_t>(std::popcount(free_mask(leaf))));
  }
}

void PlacementTree::set_free(LeafIndex leaf, std::uint32_t free) {
  RAILWEAVE_CHECK(free <= hierarchy_->capacity(0, leaf), "no more is free than there is");
  change_leaf(leaf, free);
}

void PlacementTree::change_leaf(LeafIndex leaf, std::uint32_t free) {
  const std::uint32_t before = free_[0][leaf];
  if (free == before) return;
  for (unsigned level = 0; level < free_.size(); ++level) {
    std::uint32_t& count = free_[level][hierarchy_->group_of_leaf(level, leaf)];
    count = count - before + free;
  }
  total_free_ = total_free_ - before + free;
  const std::uint32_t capacity = hierarchy_->capacity(0, leaf);
  if (before == capacity || free == capacity) {
    for (unsigned level = 0; level < whole_.size(); ++level) {
      std::uint32_t& count = whole_[level][hierarchy_->group_of_leaf(level, leaf)];
      count = free == capacity ? count + capacity : count - capacity;
    }
  }
  if (indices_.empty()) return;
  if (log_.size() >= std::size_t{4} * hierarchy_->leaf_count() + 1024) {
    log_begin_ += log_.size();
    log_.clear();
  }
  log_.push_back(leaf);
}

const FitIndex& PlacementTree::fit_index(const FitShape& shape) {
  auto found = std::ranges::find_if(indices_, [&](const Index& index) { return index.fit->shape() == shape; });
  if (found == indices_.end()) {
    if (indices_.size() == kMaxIndices) indices_.pop_back();
    found = indices_.insert(indices_.end(), Index{nullptr, 0});
    found->fit = std::make_unique<FitIndex>(*hierarchy_, shape, free_[0]);
  } else if (found->seen < log_begin_) {
    found->fit = std::make_unique<FitIndex>(*hierarchy_, shape, free_[0]);
  } else {
    for (auto i = static_cast<std::size_t>(found->seen - log_begin_); i < log_.size(); ++i) {
      found->fit->update(log_[i], free_[0][log_[i]]);
    }
  }
  found->seen = log_begin_ + log_.size();
  std::rotate(indices_.begin(), found, found + 1);
  return *indices_.front().fit;
}

}  // namespace railweave::scheduler
