#include "fabric/health/counter_history.h"

#include <algorithm>
#include <cmath>

#include "fabric/base/check.h"
#include "fabric/topology/topology.h"

namespace railweave::fabric::health {

namespace {

struct Difference {
  std::uint64_t count = 0;
  bool reset = false;
};

// What a counter counted meanwhile. After a reset: since then, which is part of it. most: more cannot have been
// counted.
Difference wide_difference(std::uint64_t before, std::uint64_t now, double most) {
  if (now >= before) return {now - before, false};
  const std::uint64_t wrapped = now - before;  // modulo 2^64
  if (static_cast<double>(wrapped) <= most) return {wrapped, false};
  return {now, true};
}

Difference sticking_difference(std::uint64_t before, std::uint64_t now) {
  return now >= before ? Difference{now - before, false} : Difference{now, true};
}

float share(double part, double whole) { return whole <= 0 ? 0.0F : static_cast<float>(std::min(part / whole, 1.0)); }

constexpr double kHourS = 3600;

}  // namespace

CounterHistory::CounterHistory(const Topology& topology, const HistoryOptions& options)
    : options_(options), states_(topology.switch_ports().size() + topology.hca_ports().size()) {
  RAILWEAVE_CHECK(options.window_us >= static_cast<std::int64_t>(kBuckets) && options.error_window_us > 0,
                  "windows are long enough to divide");
  for (const PortId port : IdRange<PortId>(0, states_.size())) {
    const LinkId link = topology.link(port);
    if (link.valid())
      states_[port.index()].rate_bytes_per_s = static_cast<std::uint64_t>(topology.rate(link).value()) * 125'000;
  }
}

void CounterHistory::set_rate(PortId port, RateMbps rate) {
  states_[port.index()].rate_bytes_per_s = static_cast<std::uint64_t>(rate.value()) * 125'000;
}

CounterHistory::Taken CounterHistory::take(PortId port, const PortCounts& counts, std::int64_t at_us) {
  RAILWEAVE_CHECK(port.index() < states_.size() && at_us >= 0, "a switch or adapter port, at a time from 0");
  State& state = states_[port.index()];
  if (state.at_us >= 0 && at_us <= state.at_us) return Taken::outdated;
  // Counters of another width are other counters.
  const bool first = state.at_us < 0 || state.counts.wide != counts.wide;
  if (first) {
    forget(port);
  } else {
    const PortCounts before = state.counts;
    rate(state, counts, at_us);
    average(state, at_us, before);
    note_peak(state, state.at_us, at_us);
  }
  state.counts = counts;
  state.at_us = at_us;
  return first ? Taken::first : Taken::rated;
}

void CounterHistory::forget(PortId port) {
  State& state = states_[port.index()];
  const std::uint64_t rate = state.rate_bytes_per_s;
  state = {};
  state.rate_bytes_per_s = rate;
}

void CounterHistory::rate(State& state, const PortCounts& counts, std::int64_t at_us) const {
  const PortCounts& before = state.counts;
  const double seconds = static_cast<double>(at_us - state.at_us) * 1e-6;
  const auto capacity = static_cast<double>(state.rate_bytes_per_s);
  PortRates rates;
  rates.seconds = static_cast<float>(seconds);
  const auto traffic = [&](std::uint64_t then, std::uint64_t now, std::uint64_t highest) {
    // Twice the rate: the two readings' times are not exactly those of the counting.
    const Difference difference =
        counts.wide ? wide_difference(then, now, 2 * capacity * seconds) : sticking_difference(then, now);
    rates.reset = rates.reset || difference.reset;
    rates.saturated = rates.saturated || (!counts.wide && now >= highest);
    return static_cast<float>(static_cast<double>(difference.count) / seconds);
  };
  rates.transmit_bytes_per_s = traffic(before.transmit_bytes, counts.transmit_bytes, PortCounts::kNarrowBytes);
  rates.receive_bytes_per_s = traffic(before.receive_bytes, counts.receive_bytes, PortCounts::kNarrowBytes);
  rates.transmit_packets_per_s = traffic(before.transmit_packets, counts.transmit_packets, PortCounts::kNarrowPackets);
  rates.receive_packets_per_s = traffic(before.receive_packets, counts.receive_packets, PortCounts::kNarrowPackets);
  rates.transmit_utilisation = share(rates.transmit_bytes_per_s, capacity);
  rates.receive_utilisation = share(rates.receive_bytes_per_s, capacity);
  if (counts.wait_known && before.wait_known) {
    const Difference ticks = sticking_difference(before.transmit_wait, counts.transmit_wait);
    rates.reset = rates.reset || ticks.reset;
    rates.saturated = rates.saturated || counts.transmit_wait == PortCounts::kMaxWaitTicks;
    rates.wait_fraction = share(static_cast<double>(ticks.count) * options_.wait_tick_bytes, capacity * seconds);
  }
  for (std::size_t i = 0; i < kErrorCounters; ++i) {
    const Difference errors = sticking_difference(before.errors[i], counts.errors[i]);
    rates.reset = rates.reset || errors.reset;
    rates.saturated = rates.saturated || counts.errors[i] >= highest(static_cast<ErrorCounter>(i));
    rates.errors_per_hour[i] = static_cast<float>(static_cast<double>(errors.count) * kHourS / seconds);
  }
  state.rates = rates;
}

void CounterHistory::average(State& state, std::int64_t at_us, const PortCounts& before) const {
  const auto interval = static_cast<double>(at_us - state.at_us);
  const bool first = state.transmit_average < 0;
  const auto keep = first ? 0.0F : static_cast<float>(std::exp(-interval / static_cast<double>(options_.window_us)));
  const auto mix = [keep](float& average, float now) { average = keep * std::max(average, 0.0F) + (1 - keep) * now; };
  mix(state.transmit_average, state.rates.transmit_utilisation);
  mix(state.receive_average, state.rates.receive_utilisation);
  mix(state.wait_average, state.rates.wait_fraction);
  const auto error_keep = std::exp(-interval / static_cast<double>(options_.error_window_us));
  for (std::size_t i = 0; i < kErrorCounters; ++i) {
    const std::uint32_t top = highest(static_cast<ErrorCounter>(i));
    const bool says_nothing = before.errors[i] >= top && state.rates.errors_per_hour[i] == 0;
    if (says_nothing) continue;
    // (1 - keep) * rate is what was counted, over the error window: one error is not a rate of hundreds an hour because
    // the interval was short.
    state.errors_per_hour[i] =
        static_cast<float>(error_keep * static_cast<double>(state.errors_per_hour[i]) +
                           (1 - error_keep) * static_cast<double>(state.rates.errors_per_hour[i]));
  }
}

// A ring of buckets, an eighth of the window each, of which one more than a window is kept.
void CounterHistory::note_peak(State& state, std::int64_t before_us, std::int64_t at_us) const {
  constexpr auto kRing = static_cast<std::int64_t>(kBuckets + 1);
  const std::int64_t bucket_us = options_.window_us / static_cast<std::int64_t>(kBuckets);
  const std::int64_t bucket = at_us / bucket_us;
  for (std::int64_t b = std::max(before_us / bucket_us + 1, bucket - kRing + 1); b <= bucket; ++b) {
    const auto slot = static_cast<std::size_t>(b % kRing);
    state.peaks.transmit[slot] = state.peaks.receive[slot] = 0;
  }
  const auto slot = static_cast<std::size_t>(bucket % kRing);
  state.peaks.transmit[slot] = std::max(state.peaks.transmit[slot], state.rates.transmit_utilisation);
  state.peaks.receive[slot] = std::max(state.peaks.receive[slot], state.rates.receive_utilisation);
}

PortTrend CounterHistory::trend(PortId port) const {
  const State& state = states_[port.index()];
  return {.transmit_average = std::max(state.transmit_average, 0.0F),
          .receive_average = std::max(state.receive_average, 0.0F),
          .wait_average = std::max(state.wait_average, 0.0F),
          .transmit_peak = std::ranges::max(state.peaks.transmit),
          .receive_peak = std::ranges::max(state.peaks.receive),
          .errors_per_hour = state.errors_per_hour};
}

}  // namespace railweave::fabric::health
