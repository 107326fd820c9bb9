#include "scheduler/queue/cycle/queue_order.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace railweave::scheduler {

QueueOrder::QueueOrder(std::vector<QueueEntry> entries, Share share) : share_(std::move(share)) {
  // Keys of their own, a third as large as entries: of 10,000 jobs most of the sorting is moving them.
  struct Key {
    std::int64_t
        before;  // by class; starving jobs are one, first come, first served: fair share must not delay them again
    std::uint32_t tenant;
    std::uint32_t at;
    std::int64_t submitted_us;
    std::uint64_t turn;
  };
  std::vector<Key> keys;
  keys.reserve(entries.size());
  for (const QueueEntry& entry : entries) {
    keys.push_back({entry.starving ? INT64_MIN : -std::int64_t{entry.value()}, entry.starving ? 0 : entry.tenant,
                    static_cast<std::uint32_t>(keys.size()), entry.job->submitted_us, entry.job->in_turn()});
  }
  std::ranges::sort(keys, [](const Key& a, const Key& b) {
    return std::tie(a.before, a.tenant, a.submitted_us, a.turn) < std::tie(b.before, b.tenant, b.submitted_us, b.turn);
  });
  entries_.reserve(entries.size());
  for (const Key& key : keys) entries_.push_back(entries[key.at]);
}

void QueueOrder::enter(std::size_t at, std::size_t end) {
  if (at == end) return;
  const QueueEntry& entry = entries_[at];
  const double share = entry.starving ? 0 : share_(entry.tenant);
  tenant_heads_.push_back({share, entry.job->submitted_us, entry.job->in_turn(), at, end});
  std::ranges::push_heap(tenant_heads_, std::greater<>());
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
  std::ranges::pop_heap(tenant_heads_, std::greater<>());
  const TenantHead head = tenant_heads_.back();
  tenant_heads_.pop_back();
  drawn_ = head.at + 1;
  drawn_end_ = head.end;
  return &entries_[head.at];
}

}  // namespace railweave::scheduler
