// The port a switch would use for a destination if nothing were broken: the closed form of d-mod-k routing on fat trees
// (Zahavi et al. 2010), extended to irregular trees. On a full tree, shift permutations are free of contention.
//
// Switches of one rank that share parents form a group (the leaves of a pod, the spines of a plane). A group has one
// list of slots, its cables upwards, with parents in an order that is the same in every pod; a switch that lacks a
// cable of its group has an empty slot, as if the cable had failed. Destinations are counted pod by pod; the i-th uses
// slot (i / divisor) mod slots, where the divisor of a switch is the product of the slot counts below it. Going down
// over parallel cables it uses the cable that its own slot would be going up.
//
// Depends on the cabling alone. Immutable; any number of threads may read it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/routing/plane/plane.h"
#include "fabric/routing/plane/switch_order.h"

namespace railweave::fabric {

class SlotPlan {
 public:
  SlotPlan() = default;
  // weights: by local destination, or empty: the heavier destinations of a switch are counted first.
  SlotPlan(const Plane& plane, const Ranking& ranking, std::span<const std::uint32_t> weights);

  static constexpr std::uint32_t kEmpty = UINT32_MAX;
  [[nodiscard]] std::span<const std::uint32_t> slots(std::size_t s) const {  // arcs of s, or kEmpty
    return std::span(slots_).subspan(first_slot_[s], first_slot_[s + 1] - first_slot_[s]);
  }
  [[nodiscard]] std::uint32_t divisor(std::size_t s) const { return divisor_[s]; }
  // The arc up from s for the destination; kEmpty: none.
  [[nodiscard]] std::uint32_t up_arc(std::size_t s, std::size_t destination) const {
    const auto mine = slots(s);
    return mine.empty() ? kEmpty : mine[index_[destination] / divisor_[s] % mine.size()];
  }
  [[nodiscard]] std::uint32_t index(std::size_t destination) const { return index_[destination]; }
  // Whether the destinations of each segment have consecutive indices.
  [[nodiscard]] bool sequential() const { return sequential_; }
  // Number of arcs in the slots of s where none is empty, else 0.
  [[nodiscard]] std::uint32_t complete_arcs(std::size_t s) const { return complete_arcs_[s]; }
  // Whether no slot is empty: then the closed form spreads evenly.
  [[nodiscard]] bool complete() const { return complete_; }

 private:
  class Layout;
  std::vector<std::uint32_t> first_slot_, slots_, divisor_, index_, complete_arcs_;
  bool sequential_ = true, complete_ = true;
};

}  // namespace railweave::fabric
