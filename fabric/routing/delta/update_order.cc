#include "fabric/routing/delta/update_order.h"

#include <algorithm>
#include <map>

namespace railweave::fabric {

namespace {

constexpr unsigned kPlaces = 64;

// The stages of the switches whose entries change for some of the places.
class Stages {
 public:
  explicit Stages(const std::vector<ChangedEntry>& entries) {
    for (const ChangedEntry& entry : entries) {
      if (numbers_.emplace(entry.sw, static_cast<std::uint32_t>(switches_.size())).second)
        switches_.push_back(entry.sw);
    }
    waiters_.resize(switches_.size());
    for (const ChangedEntry& entry : entries) {
      if (entry.after != ChangedEntry::kNone) waiters_[numbers_.at(entry.after)].push_back(&entry);
    }
  }

  // stage: by switch number. False: the places need opposite orders.
  bool compute(std::uint64_t places, std::vector<std::uint16_t>& stage) {
    stage.assign(switches_.size(), 0);
    waiting_.assign(switches_.size(), 0);
    const auto counts = [places](const ChangedEntry* entry) { return (places >> entry->place & 1U) != 0; };
    for (const auto& waiters : waiters_) {
      for (const ChangedEntry* entry : waiters) {
        if (counts(entry)) ++waiting_[numbers_.at(entry->sw)];
      }
    }
    ready_.clear();
    for (std::uint32_t i = 0; i < switches_.size(); ++i) {
      if (waiting_[i] == 0) ready_.push_back(i);
    }
    for (std::size_t next = 0; next < ready_.size(); ++next) {
      const std::uint32_t i = ready_[next];
      for (const ChangedEntry* entry : waiters_[i]) {
        if (!counts(entry)) continue;
        const std::uint32_t waiter = numbers_.at(entry->sw);
        stage[waiter] = std::max<std::uint16_t>(stage[waiter], static_cast<std::uint16_t>(stage[i] + 1));
        if (--waiting_[waiter] == 0) ready_.push_back(waiter);
      }
    }
    return ready_.size() == switches_.size();
  }
  [[nodiscard]] std::uint32_t number(std::uint32_t sw) const { return numbers_.at(sw); }

 private:
  std::map<std::uint32_t, std::uint32_t> numbers_;
  std::vector<std::uint32_t> switches_;
  std::vector<std::vector<const ChangedEntry*>> waiters_;  // entries that wait for the switch
  std::vector<std::uint32_t> waiting_, ready_;
};

}  // namespace

std::vector<BlockWrite> order_updates(const std::vector<ChangedEntry>& entries) {
  Stages stages(entries);
  std::uint64_t remaining = 0;
  for (const ChangedEntry& entry : entries) remaining |= std::uint64_t{1} << entry.place;
  std::vector<BlockWrite> writes;
  std::vector<std::uint16_t> stage;
  std::uint16_t first_stage = 0;
  while (remaining != 0) {
    // All places at once, else as many as agree. A single place always does, because routes do not return to a switch.
    std::uint64_t group = remaining;
    if (!stages.compute(group, stage)) {
      group = 0;
      for (unsigned place = 0; place < kPlaces; ++place) {
        const std::uint64_t bit = std::uint64_t{1} << place;
        if ((remaining & bit) != 0 && stages.compute(group | bit, stage)) group |= bit;
      }
      if (group == 0) group = remaining;  // the new tables themselves loop; no order helps
      stages.compute(group, stage);
    }
    std::map<std::pair<std::uint16_t, std::uint32_t>, std::uint64_t> places_of;  // by stage, switch
    std::uint16_t last_stage = 0;
    for (const ChangedEntry& entry : entries) {
      if ((group >> entry.place & 1U) == 0) continue;
      const std::uint16_t at = stage[stages.number(entry.sw)];
      places_of[{at, entry.sw}] |= std::uint64_t{1} << entry.place;
      last_stage = std::max(last_stage, at);
    }
    for (const auto& [key, places] : places_of) {
      writes.push_back({key.second, static_cast<std::uint16_t>(first_stage + key.first), places});
    }
    first_stage = static_cast<std::uint16_t>(first_stage + last_stage + 1);
    remaining &= ~group;
  }
  return writes;
}

}  // namespace railweave::fabric
