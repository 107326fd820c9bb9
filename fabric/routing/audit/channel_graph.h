// Which channel (directed link and lane) waits for which: packets that hold buffer space on one and want space on the
// next. A circle is a deadlock waiting to happen (Dally and Seitz 1987).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabric/routing/plane/plane.h"

namespace railweave::fabric {

class ChannelGraph {
 public:
  ChannelGraph(const Plane& plane, unsigned lanes);

  // Packets pass from arc `in` on lane `in_lane` to arc `out`, which leaves the switch that `in` enters.
  void add(std::uint32_t in, unsigned in_lane, std::uint32_t out, unsigned out_lane) {
    const std::size_t bit = std::size_t{out - first_out_[in]} * lanes_ + out_lane;
    bits_[(std::size_t{in} * lanes_ + in_lane) * words_ + bit / 64] |= std::uint64_t{1} << (bit % 64);
  }
  void add_all(const ChannelGraph& other);

  // Circles are looked for by taking away, again and again, channels that nothing waits for (Kahn 1962). Lanes of what
  // remains, and one circle of it: channels, arc * lanes + lane.
  struct Circles {
    std::vector<unsigned> lanes;
    std::vector<std::uint32_t> example;
  };
  [[nodiscard]] Circles circles() const;
  [[nodiscard]] unsigned lanes() const { return lanes_; }

 private:
  template <class Visit>
  void for_each_next(std::size_t channel, Visit visit) const;

  unsigned lanes_;
  std::size_t words_;                     // per channel
  std::vector<std::uint32_t> first_out_;  // arc -> the first arc of the switch it enters
  std::vector<std::uint64_t> bits_;       // channel x (arc out of the switch it enters, lane)
};

}  // namespace railweave::fabric
