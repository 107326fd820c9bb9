#include "scheduler/queue/cycle/queue_order.h"

#include <algorithm>
#include <utility>

namespace railweave::scheduler {

QueueOrder::QueueOrder(std::vector<QueueEntry> entries, Share share)
    : entries_(std::move(entries)), share_(std::move(share)) {
  // Starving jobs are one class, first come, first served: fair share must not delay them again.
  std::ranges::sort(entries_, [](const QueueEntry& a, const QueueEntry& b) {
    if (a.starving != b.starving) return a.starving;
    if (!a.starving) {
      if (a.value() != b.value()) return a.value() > b.value();
      if (a.tenant != b.tenant) return a.tenant < b.tenant;
    }
    return std::pair(a.job->submitted_us, a.job->in_turn()) < std::pair(b.job->submitted_us, b.job->in_turn());
  });
}

void QueueOrder::enter(std::size_t at, std::size_t end) {
  if (at == end) return;
  const QueueEntry& entry = entries_[at];
  const double share = entry.starving ? 0 : share_(entry.tenant);
  tenant_heads_.insert({share, entry.job->submitted_us, entry.job->in_turn(), at, end});
}

void QueueOrder::open_class() {
  const std::size_t begin = next_class_;
  const auto same_class = [&](const QueueEntry& entry) {
    return entry.starving == entries_[begin].starving && (entry.starving || entry.value() == entries_[begin].value());
  };
  while (next_class_ < entries_.size() && same_class(entries_[next_class_])) {
    const std::size_t first = next_class_;
    const auto same_tenant = [&](const QueueEntry& entry) {
      return entry.starving || entry.tenant == entries_[first].tenant;
    };
    while (next_class_ < entries_.size() && same_class(entries_[next_class_]) && same_tenant(entries_[next_class_])) {
      ++next_class_;
    }
    enter(first, next_class_);
  }
}

const QueueEntry* QueueOrder::next() {
  enter(std::exchange(drawn_, drawn_end_), drawn_end_);
  if (tenant_heads_.empty()) open_class();
  if (tenant_heads_.empty()) return nullptr;
  const TenantHead head = *tenant_heads_.begin();
  tenant_heads_.erase(tenant_heads_.begin());
  drawn_ = head.at + 1;
  drawn_end_ = head.end;
  return &entries_[head.at];
}

}  // namespace railweave::scheduler
