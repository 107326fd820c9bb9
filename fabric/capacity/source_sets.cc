#include "fabric/capacity/source_sets.h"

#include <algorithm>

#include "fabric/base/mix.h"
#include "fabric/capacity/b_matching.h"
#include "fabric/capacity/set_members.h"

namespace railweave::fabric {
namespace {

constexpr std::size_t kMaxEnumeratedTargets = 6;  // 64 cuts; beyond that a maximum flow is faster

}  // namespace

SourceSets::SourceSets(std::vector<std::int64_t> send)
    : source_send_(std::move(send)), words_((source_send_.size() + 63) / 64), slots_(256, kFree), scratch_(words_) {
  for (std::size_t i = 0; i < source_send_.size(); ++i) {
    std::vector<std::uint64_t> one(words_, 0);
    one[i / 64] = std::uint64_t{1} << (i % 64);
    intern(one);
  }
}

std::uint64_t SourceSets::hash(std::span<const std::uint64_t> members) const {
  std::uint64_t sum = 0;
  for (std::size_t w = 0; w < members.size(); ++w) sum += mix(members[w] + w);
  return sum ^ sum >> 29U;
}

std::int64_t SourceSets::sum_of(std::span<const std::uint64_t> members) const {
  std::int64_t sum = 0;
  for_each_member(members, [&](std::size_t source) { sum += source_send_[source]; });
  return sum;
}

void SourceSets::grow() {
  slots_.assign(slots_.size() * 2, kFree);
  for (Id id = 0; id < size(); ++id) {
    std::size_t at = hash(members(id)) & (slots_.size() - 1);
    while (slots_[at] != kFree) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = id;
    slot_of_[id] = static_cast<std::uint32_t>(at);
  }
}

SourceSets::Id SourceSets::intern(std::span<const std::uint64_t> set) {
  std::size_t at = hash(set) & (slots_.size() - 1);
  for (; slots_[at] != kFree; at = (at + 1) & (slots_.size() - 1)) {
    if (std::ranges::equal(members(slots_[at]), set)) return slots_[at];
  }
  const auto id = static_cast<Id>(size());
  pool_.insert(pool_.end(), set.begin(), set.end());
  send_.push_back(sum_of(set));
  slots_[at] = id;
  slot_of_.push_back(static_cast<std::uint32_t>(at));
  if (size() * 2 > slots_.size()) grow();
  return id;
}

SourceSets::Id SourceSets::united(Id a, Id b) {
  for (std::size_t w = 0; w < words_; ++w) scratch_[w] = pool_[a * words_ + w] | pool_[b * words_ + w];
  return intern(scratch_);
}

SourceSets::Id SourceSets::without(Id a, Id b) {
  for (std::size_t w = 0; w < words_; ++w) scratch_[w] = pool_[a * words_ + w] & ~pool_[b * words_ + w];
  return intern(scratch_);
}

// In reverse order of insertion, so that the probe sequences of older sets stay intact.
void SourceSets::shrink(std::size_t to) {
  while (size() > to) {
    slots_[slot_of_.back()] = kFree;
    slot_of_.pop_back();
    send_.pop_back();
  }
  pool_.resize(to * words_);
}

std::int64_t SourceSets::max_rate(std::span<const std::pair<Id, std::int64_t>> targets) const {
  if (targets.empty()) return 0;
  if (targets.size() == 1) return std::min(send_[targets[0].first], targets[0].second);
  if (targets.size() > kMaxEnumeratedTargets) return max_rate_by_flow(targets);
  // The minimum cut: what some of the targets receive, plus what the sources that reach the others send.
  std::int64_t least = INT64_MAX;
  std::vector<std::uint64_t> reach(words_);
  for (std::uint32_t cut = 0; cut < 1U << targets.size(); ++cut) {
    std::int64_t received = 0;
    std::ranges::fill(reach, 0);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if ((cut >> i & 1U) != 0) {
        received += targets[i].second;
      } else {
        for (std::size_t w = 0; w < words_; ++w) reach[w] |= pool_[targets[i].first * words_ + w];
      }
    }
    if (received < least) least = std::min(least, received + sum_of(reach));
  }
  return least;
}

std::int64_t SourceSets::max_rate_by_flow(std::span<const std::pair<Id, std::int64_t>> targets) const {
  std::vector<std::int64_t> receive;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> allowed;
  for (std::uint32_t i = 0; i < targets.size(); ++i) {
    receive.push_back(targets[i].second);
    for_each_member(members(targets[i].first),
                    [&](std::size_t source) { allowed.emplace_back(static_cast<std::uint32_t>(source), i); });
  }
  return max_b_matching(source_send_, receive, allowed);
}

}  // namespace railweave::fabric
