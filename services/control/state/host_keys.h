// Which index each tenant's partition key has in the tables of a host's adapter ports, and whether these ports are
// limited members of the default partition (index 0). Part of the state, because queue pairs keep an index for as long
// as they live: an index belongs to a tenant from the first GPU that its jobs hold on the host to the last, and index 0
// changes only while no job is on the host.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace railweave::control {

struct HostKeys {
  struct Slot {
    std::uint16_t pkey = 0;  // 0: free
    std::uint16_t gpus = 0;  // that jobs of the tenant hold here
    friend bool operator==(const Slot&, const Slot&) = default;
  };
  std::vector<Slot> slots;  // by index, from 1
  bool limited = false;     // since the first job came: its tenant's contract asks for isolation
  friend bool operator==(const HostKeys&, const HostKeys&) = default;

  [[nodiscard]] bool empty() const { return slots.empty() && !limited; }
  // 0: the key is not there.
  [[nodiscard]] std::uint16_t index_of(std::uint16_t pkey) const {
    const auto at = std::ranges::find(slots, pkey, &Slot::pkey);
    return at == slots.end() ? std::uint16_t{0} : static_cast<std::uint16_t>(at - slots.begin() + 1);
  }
  // One more GPU for the tenant with this key, at the first index that is free.
  void add(std::uint16_t pkey) {
    auto at = std::ranges::find(slots, pkey, &Slot::pkey);
    if (at == slots.end()) at = std::ranges::find(slots, std::uint16_t{0}, &Slot::pkey);
    if (at == slots.end()) at = slots.insert(slots.end(), Slot{});
    at->pkey = pkey;
    ++at->gpus;
  }
  void drop(std::uint16_t pkey) {
    const auto at = std::ranges::find(slots, pkey, &Slot::pkey);
    if (at == slots.end()) return;
    if (--at->gpus == 0) erase(pkey);
  }
  void erase(std::uint16_t pkey) {
    for (Slot& slot : slots) {
      if (slot.pkey == pkey) slot = {};
    }
    while (!slots.empty() && slots.back().pkey == 0) slots.pop_back();
  }
  // The same keys at the indices that they had: by index, from 1; 0: none.
  void arrange(const std::vector<std::uint16_t>& pkeys) {
    std::vector<Slot> arranged(pkeys.size());
    for (const Slot& slot : slots) {
      if (slot.pkey == 0) continue;
      auto at = std::ranges::find(pkeys, slot.pkey);
      std::size_t index = static_cast<std::size_t>(at - pkeys.begin());
      if (at == pkeys.end()) {
        // A key that was not there then takes an index that none had.
        index = arranged.size();
        arranged.push_back({});
      }
      arranged[index] = slot;
    }
    slots = std::move(arranged);
    while (!slots.empty() && slots.back().pkey == 0) slots.pop_back();
  }
};

}  // namespace railweave::control
