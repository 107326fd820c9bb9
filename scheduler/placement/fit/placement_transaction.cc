#include "scheduler/placement/fit/placement_transaction.h"

namespace railweave::scheduler {

PlacementTransaction::PlacementTransaction(PlacementTree& tree, const fabric::Topology& topology)
    : tree_(&tree), topology_(&topology) {}

PlacementTransaction::~PlacementTransaction() { rollback(); }

bool PlacementTransaction::change(std::span<const fabric::GpuId> gpus, bool take) {
  const Checkpoint before = checkpoint();
  for (std::size_t i = 0; i < gpus.size();) {
    if (gpus[i].index() >= topology_->gpus().size()) {
      rollback(before);
      return false;
    }
    // Ranks on one host mostly follow each other: one change of the tree for each run of them.
    const fabric::HostId host = topology_->host(gpus[i]);
    const HostAllocation was = tree_->allocation(host);
    HostAllocation now = was;
    bool consistent = true;
    for (; i < gpus.size() && gpus[i].index() < topology_->gpus().size() && topology_->host(gpus[i]) == host; ++i) {
      const std::uint64_t bit = std::uint64_t{1} << topology_->local_index(gpus[i]);
      consistent = consistent && ((now.used & bit) == 0) == take;
      now.used ^= bit;
    }
    if (!consistent) {
      rollback(before);
      return false;
    }
    undo_.push_back({host, was});
    tree_->set(host, now);
  }
  return true;
}

bool PlacementTransaction::take(std::span<const fabric::GpuId> gpus) { return change(gpus, true); }
bool PlacementTransaction::release(std::span<const fabric::GpuId> gpus) { return change(gpus, false); }

void PlacementTransaction::set_available(fabric::HostId host, bool available) {
  const HostAllocation was = tree_->allocation(host);
  if (was.unavailable != available) return;
  undo_.push_back({host, was});
  HostAllocation now = was;
  now.unavailable = !available;
  now.short_of_link = now.cut_off = false;
  tree_->set(host, now);
}

void PlacementTransaction::rollback(Checkpoint to) {
  while (undo_.size() > to) {
    tree_->set(undo_.back().host, undo_.back().before);
    undo_.pop_back();
  }
}

void PlacementTransaction::commit() { undo_.clear(); }

}  // namespace railweave::scheduler
