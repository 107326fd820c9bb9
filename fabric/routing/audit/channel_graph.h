// Which channel (directed link and lane) waits for which: packets hold buffer space on one while they wait for space on
// the next. A circle of channels can deadlock (Dally and Seitz 1987). One thread writes; any number may read after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabric/routing/plane/plane.h"

namespace railweave::fabric {

class ChannelGraph {
 public:
  ChannelGraph(const Plane& plane, unsigned lanes);

  // Records that packets pass from arc `in` on lane `in_lane` to arc `out`, which leaves the switch that `in` enters.
  void add(std::uint32_t in, unsigned in_lane, std::uint32_t out, unsigned out_lane) {
    const std::size_t bit = std::size_t{out - first_out_[in]} * lanes_ + out_lane;
    bits_[(std::size_t{in} * lanes_ + in_lane) * words_ + bit / 64] |= std::uint64_t{1} << (bit % 64);
  }
  [[nodiscard]] bool has(std::uint32_t in, unsigned in_lane, std::uint32_t out, unsigned out_lane) const {
    const std::size_t bit = std::size_t{out - first_out_[in]} * lanes_ + out_lane;
    return (bits_[(std::size_t{in} * lanes_ + in_lane) * words_ + bit / 64] >> (bit % 64) & 1U) != 0;
  }
  void remove(std::uint32_t in, unsigned in_lane, std::uint32_t out, unsigned out_lane) {
    const std::size_t bit = std::size_t{out - first_out_[in]} * lanes_ + out_lane;
    bits_[(std::size_t{in} * lanes_ + in_lane) * words_ + bit / 64] &= ~(std::uint64_t{1} << (bit % 64));
  }
  void add_all(const ChannelGraph& other);
  // Memory of searches, one after the other.
  struct Search {
    std::size_t budget = 0;  // channels that may still be visited, over all searches
    std::uint32_t round = 0;
    std::vector<std::uint32_t> seen_in{}, open{};
  };
  // Whether channel `from` waits for `to`, over any number of others; channels are arc * lanes() + lane. Once the budget is
  // used up the answer is yes.
  [[nodiscard]] bool waits_for(std::uint32_t from, std::uint32_t to, Search& search) const;

  // Found by removing, again and again, channels that no other waits for (Kahn 1962).
  struct Circles {
    std::vector<unsigned> lanes;         // with a channel on a circle
    std::vector<std::uint32_t> example;  // one circle: channels, arc * lanes + lane
  };
  [[nodiscard]] Circles circles() const;
  [[nodiscard]] unsigned lanes() const { return lanes_; }

 private:
  template <class Visit>
  void for_each_next(std::size_t channel, Visit visit) const;
  [[nodiscard]] std::vector<std::uint32_t> waiting_counts() const;
  [[nodiscard]] std::vector<std::uint32_t> one_circle(const std::vector<std::uint32_t>& waiting) const;
  [[nodiscard]] std::vector<unsigned> lanes_on_circles(const std::vector<std::uint32_t>& waiting) const;

  unsigned lanes_;
  std::size_t words_;                     // per channel
  std::vector<std::uint32_t> first_out_;  // arc -> the first arc of the switch it enters
  std::vector<std::uint64_t> bits_;       // channel x (arc out of the switch it enters, lane)
};

}  // namespace railweave::fabric
