// Readings of port counters, turned into rates: of the last interval, averaged and at their peak over a window. One
// state of fixed size per switch and adapter port, whatever is read how often. No clock: times are given, in
// microseconds of any clock that only goes forward. Used by one thread.
//
// Directed: what a port transmits is one direction of its link, what its peer transmits the other.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "fabric/base/units.h"
#include "fabric/topology/ids.h"
#include "fabric/topology/port_counts.h"

namespace railweave::fabric {
class Topology;
}  // namespace railweave::fabric

namespace railweave::fabric::health {

struct HistoryOptions {
  std::int64_t window_us = 300'000'000;          // of average and peak load
  std::int64_t error_window_us = 3'600'000'000;  // of error rates
  // What a port could have sent in one tick of PortXmitWait. IBA 16.1.3.5 leaves the tick to the device; a word of 4
  // bytes is what current switches count in.
  double wait_tick_bytes = 4;
};

// Between two readings.
struct PortRates {
  float seconds = 0;  // 0: there were no two readings
  float transmit_bytes_per_s = 0, receive_bytes_per_s = 0, transmit_packets_per_s = 0, receive_packets_per_s = 0;
  float transmit_utilisation = 0, receive_utilisation = 0;  // 0 to 1 of the link's data rate; 0 where that is unknown
  float wait_fraction = 0;                                  // of the time: something to send, and no credit
  std::array<float, kErrorCounters> errors_per_hour{};
  bool reset = false;      // some counter began again from 0: rates are at least these
  bool saturated = false;  // some counter stands at its highest value: rates are at least these
};

// As of the last reading.
struct PortTrend {
  // Exponentially weighted by time: an interval's weight falls to 1/e within the window.
  float transmit_average = 0, receive_average = 0, wait_average = 0;
  // The highest of the intervals that ended within the window, or up to an eighth of it longer ago.
  float transmit_peak = 0, receive_peak = 0;
  // Errors of about the last error window, each fading to 1/e within it, scaled to an hour. A counter that stands at
  // its highest value carries no information: its rate stays what it was.
  std::array<float, kErrorCounters> errors_per_hour{};
};

class CounterHistory {
 public:
  explicit CounterHistory(const Topology& topology, const HistoryOptions& options = {});

  enum class Taken : std::uint8_t {
    first,    // nothing to compare with
    rated,    // the rates are of this interval
    outdated  // not later than the last one; not used
  };
  Taken take(PortId port, const PortCounts& counts, std::int64_t at_us);
  void forget(PortId port);  // its device was replaced or absent
  // What its link runs at, where that is not as the topology says.
  void set_rate(PortId port, RateMbps rate);

  [[nodiscard]] const PortRates& rates(PortId port) const { return states_[port.index()].rates; }
  [[nodiscard]] PortTrend trend(PortId port) const;
  [[nodiscard]] std::size_t memory_bytes() const { return states_.capacity() * sizeof(State); }

 private:
  static constexpr std::size_t kBuckets = 8;  // of a window
  struct Peaks {
    std::array<float, kBuckets + 1> transmit{}, receive{};
  };
  struct State {
    PortCounts counts;
    std::int64_t at_us = -1;  // below 0: no reading
    std::uint64_t rate_bytes_per_s = 0;
    PortRates rates;
    float transmit_average = -1, receive_average = 0, wait_average = 0;  // below 0: no interval yet
    std::array<float, kErrorCounters> errors_per_hour{};
    Peaks peaks;
  };
  void rate(State& state, const PortCounts& counts, std::int64_t at_us) const;
  void average(State& state, std::int64_t at_us, const PortCounts& before) const;
  void note_peak(State& state, std::int64_t before_us, std::int64_t at_us) const;

  HistoryOptions options_;
  std::vector<State> states_;  // by PortId; GPU and NVLink ports have none
};

}  // namespace railweave::fabric::health
