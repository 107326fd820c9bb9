// The channel dependency graph of a plane (Dally and Seitz 1987): which channel, an arc on one lane, packets hold while
// they wait for which. Grows by one dependency at a time and tells beforehand whether that would close a circle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabric/routing/plane/plane.h"

namespace railweave::fabric::opensm {

class ChannelWaits {
 public:
  explicit ChannelWaits(const Plane& plane)
      : plane_(plane),
        words_(plane.max_ports / 64U + 1U),
        bits_(plane.arcs.size() * words_),
        seen_(plane.arcs.size()) {}

  // Packets go on from arc `in` to arc `out`, which leaves the switch that `in` enters.
  void add(std::uint32_t in, std::uint32_t out) {
    const std::uint32_t bit = out - plane_.first_arc[plane_.arcs[in].to];
    bits_[in * words_ + bit / 64U] |= std::uint64_t{1} << bit % 64U;
  }

  // Visits at most `budget` channels over all calls; once it is used up, every wait counts as closing a circle.
  [[nodiscard]] bool may_close_circle(std::uint32_t in, std::uint32_t out, std::size_t& budget) {
    ++round_;
    std::vector<std::uint32_t> open{out};
    seen_[out] = round_;
    while (!open.empty()) {
      const std::uint32_t channel = open.back();
      open.pop_back();
      if (channel == in || budget == 0) return true;
      --budget;
      const std::uint32_t first = plane_.first_arc[plane_.arcs[channel].to];
      for (std::size_t w = 0; w < words_; ++w) {
        for (std::uint64_t bits = bits_[channel * words_ + w]; bits != 0; bits &= bits - 1) {
          const auto next = static_cast<std::uint32_t>(first + w * 64U + static_cast<unsigned>(__builtin_ctzll(bits)));
          if (seen_[next] == round_) continue;
          seen_[next] = round_;
          open.push_back(next);
        }
      }
    }
    return false;
  }

 private:
  const Plane& plane_;
  std::size_t words_;                // per channel
  std::vector<std::uint64_t> bits_;  // channel x arcs of the switch it enters
  std::vector<std::uint32_t> seen_;  // the round in which a channel was seen
  std::uint32_t round_ = 0;
};

}  // namespace railweave::fabric::opensm
