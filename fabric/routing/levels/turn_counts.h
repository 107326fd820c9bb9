// How many paths make each turn, from channel (arc and lane) to channel: paths are added and taken away, so that what is
// left by a failure is known without walking all others again. A value; serves one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fabric/routing/plane/plane.h"

namespace railweave::fabric {

class TurnCounts {
 public:
  TurnCounts(const Plane& plane, unsigned lanes);  // the plane outlives it

  // channels: arc * lanes + lane, in the order in which the path passes them.
  void add(std::span<const std::uint32_t> channels) { count(channels, +1); }
  void remove(std::span<const std::uint32_t> channels) { count(channels, -1); }
  // By channel: those that follow. The start of AcyclicTurns, where they are free of circles.
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> next() const;
  [[nodiscard]] bool has_circle() const;
  [[nodiscard]] std::size_t size() const { return counts_.size(); }  // turns that paths could make

 private:
  void count(std::span<const std::uint32_t> channels, int by);
  [[nodiscard]] std::size_t place(std::uint32_t from, std::uint32_t to) const;

  const Plane* plane_;
  std::uint32_t lanes_;
  std::vector<std::size_t> first_;     // by channel
  std::vector<std::uint32_t> counts_;  // by channel, the arcs of the switch that it enters, their lane
};

}  // namespace railweave::fabric
