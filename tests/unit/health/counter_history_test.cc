#include "fabric/health/counter_history.h"

#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/topology/topology_builder.h"

namespace railweave::fabric::health::counter_history_test {
namespace {

constexpr double kRate = 50e9;  // bytes a second of a 4x NDR link
constexpr std::int64_t kSecond = 1'000'000;

Topology pairs_of_switches(std::size_t cables) {
  TopologyBuilder builder;
  constexpr unsigned kPorts = 64;
  for (std::size_t done = 0; done < cables;) {
    const auto guid = [](std::size_t n) { return Guid(0x1000 + n); };
    const SwitchDraft a =
        builder.add_switch({.guid = guid(2 * done), .name = "a" + std::to_string(done), .ports = kPorts});
    const SwitchDraft b =
        builder.add_switch({.guid = guid(2 * done + 1), .name = "b" + std::to_string(done), .ports = kPorts});
    for (unsigned p = 1; p <= kPorts && done < cables; ++p, ++done) {
      builder.connect({a, p}, {b, p}, infiniband_link(4, LinkSpeed::ndr));
    }
  }
  return *std::move(builder).build();
}

struct Reading {
  PortCounts counts;
  std::int64_t at_us;
};

// Everything recomputed from all readings, newest weights by their age and not step by step.
struct Oracle {
  std::vector<Reading> all;
  HistoryOptions options;

  struct Interval {
    double begin_us, end_us, utilisation, wait;
    std::array<double, kErrorCounters> errors;
    std::array<bool, kErrorCounters> silent;  // the counter stands at its highest
  };
  [[nodiscard]] std::vector<Interval> intervals() const {
    std::vector<Interval> out;
    for (std::size_t i = 1; i < all.size(); ++i) {
      const PortCounts &a = all[i - 1].counts, &b = all[i].counts;
      Interval& step = out.emplace_back();
      step.begin_us = static_cast<double>(all[i - 1].at_us), step.end_us = static_cast<double>(all[i].at_us);
      const double seconds = (step.end_us - step.begin_us) / 1e6;
      const auto since = [](double then, double now) { return now < then ? now : now - then; };
      double bytes = since(static_cast<double>(a.transmit_bytes), static_cast<double>(b.transmit_bytes));
      if (b.wide) {
        // In whole numbers: doubles have 53 bits.
        bytes = static_cast<double>(b.transmit_bytes - a.transmit_bytes);
        if (b.transmit_bytes < a.transmit_bytes && bytes > 2 * kRate * seconds)
          bytes = static_cast<double>(b.transmit_bytes);
      }
      step.utilisation = std::min(1.0, bytes / (seconds * kRate));
      step.wait = std::min(1.0, since(a.transmit_wait, b.transmit_wait) * options.wait_tick_bytes / (seconds * kRate));
      for (std::size_t e = 0; e < kErrorCounters; ++e) {
        step.errors[e] = since(a.errors[e], b.errors[e]);
        const double top = e == 1 || e == 2 ? 255 : 65535;
        step.silent[e] = a.errors[e] == top && step.errors[e] == 0;
      }
    }
    return out;
  }
  [[nodiscard]] double average(double Interval::* value) const {
    const auto steps = intervals();
    const double now = steps.back().end_us, window = static_cast<double>(options.window_us);
    double sum = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const double upto = std::exp(-(now - steps[i].end_us) / window);
      const double from =
          i == 0 ? 0 : std::exp(-(now - steps[i].begin_us) / window);  // the first stands for all before
      sum += steps[i].*value * (upto - from);
    }
    return sum;
  }
  [[nodiscard]] double errors_per_hour(std::size_t kind) const {
    double per_hour = 0, aged_us = 0;
    const auto steps = intervals();
    const auto window = static_cast<double>(options.error_window_us);
    for (std::size_t i = steps.size(); i-- > 0;) {
      if (steps[i].silent[kind]) continue;  // does not age it either
      const double length = steps[i].end_us - steps[i].begin_us;
      per_hour +=
          steps[i].errors[kind] * 3600e6 / length * std::exp(-aged_us / window) * (1 - std::exp(-length / window));
      aged_us += length;
    }
    return per_hour;
  }
  [[nodiscard]] double peak() const {
    const std::int64_t bucket = options.window_us / 8;
    const auto steps = intervals();
    double most = 0;
    for (const auto& step : steps) {
      if (static_cast<std::int64_t>(step.end_us) / bucket >= all.back().at_us / bucket - 8) {
        most = std::max(most, step.utilisation);
      }
    }
    return most;
  }
};

class HistorySequence : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(HistorySequence, MakesTheRatesThatTheWholeHistoryMakes) {
  std::mt19937_64 random(GetParam());
  const auto below = [&](std::uint64_t n) { return random() % n; };
  const Topology topology = pairs_of_switches(1);
  Oracle oracle{.all = {},
                .options = {.window_us = static_cast<std::int64_t>(20 + below(200)) * kSecond,
                            .error_window_us = static_cast<std::int64_t>(60 + below(4000)) * kSecond}};
  CounterHistory history(topology, oracle.options);
  const PortId port = topology.find_port("a0/1").valid() ? topology.find_port("a0/1") : PortId(0);
  PortCounts counts{.wide = GetParam() % 3 != 0, .wait_known = true};
  if (counts.wide && GetParam() % 2 == 0) counts.transmit_bytes = UINT64_MAX - below(1ULL << 40U);  // wraps soon
  std::int64_t now = static_cast<std::int64_t>(below(1'000'000'000));
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(history.take(port, counts, now), i == 0 ? CounterHistory::Taken::first : CounterHistory::Taken::rated);
    oracle.all.push_back({counts, now});
    if (i > 0) {
      const PortTrend trend = history.trend(port);
      const auto steps = oracle.intervals();
      EXPECT_NEAR(history.rates(port).transmit_utilisation, steps.back().utilisation, 1e-5) << i;
      EXPECT_NEAR(history.rates(port).wait_fraction, steps.back().wait, 1e-5) << i;
      EXPECT_NEAR(trend.transmit_average, oracle.average(&Oracle::Interval::utilisation), 1e-4) << i;
      EXPECT_NEAR(trend.wait_average, oracle.average(&Oracle::Interval::wait), 1e-4) << i;
      EXPECT_NEAR(trend.transmit_peak, oracle.peak(), 1e-5) << i;
      for (std::size_t e = 0; e < kErrorCounters; ++e) {
        const double expected = oracle.errors_per_hour(e);
        EXPECT_NEAR(trend.errors_per_hour[e], expected, 1e-3 + expected * 1e-4) << i << " counter " << e;
      }
    }
    if (::testing::Test::HasFailure()) return;
    const auto step = static_cast<std::int64_t>(1 + below(i % 40 == 39 ? 400 : 15)) * kSecond +
                      static_cast<std::int64_t>(below(999'999));
    now += step;
    const auto bytes =
        static_cast<std::uint64_t>(kRate * static_cast<double>(step) / 1e6 * static_cast<double>(below(1001)) / 1000);
    counts.transmit_bytes += bytes;
    counts.transmit_wait =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(UINT32_MAX, counts.transmit_wait + bytes / 400));
    if (!counts.wide) counts.transmit_bytes = std::min(counts.transmit_bytes, PortCounts::kNarrowBytes);
    for (std::size_t e = 0; e < kErrorCounters; ++e) {
      if (below(3) == 0) counts.errors[e] += static_cast<std::uint32_t>(below(e == 1 || e == 2 ? 20 : 2000));
      counts.errors[e] = std::min(counts.errors[e], e == 1 || e == 2 ? 255U : 65535U);
    }
    if (below(25) == 0) {  // they are reset, and a little was counted since
      const bool wide = counts.wide;
      counts = {.wide = wide, .wait_known = true};
      counts.transmit_bytes = below(1'000'000);
      counts.errors[0] = static_cast<std::uint32_t>(below(3));
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, HistorySequence, ::testing::Range(0U, 24U));

TEST(CounterHistory, AWrapIsNoResetAndAResetNoWrap) {
  const Topology topology = pairs_of_switches(1);
  CounterHistory history(topology);
  const PortId port(0);
  history.take(port, {.transmit_bytes = UINT64_MAX - 999}, 0);
  history.take(port, {.transmit_bytes = 4000}, kSecond);
  EXPECT_FALSE(history.rates(port).reset);
  EXPECT_FLOAT_EQ(history.rates(port).transmit_bytes_per_s, 5000);
  history.take(port, {.transmit_bytes = 900}, 2 * kSecond);
  EXPECT_TRUE(history.rates(port).reset);
  EXPECT_FLOAT_EQ(history.rates(port).transmit_bytes_per_s, 900) << "at least what was counted since";
}

TEST(CounterHistory, ACounterAtItsHighestValueSaysNothingNew) {
  const Topology topology = pairs_of_switches(1);
  CounterHistory history(topology);
  const PortId port(0);
  PortCounts counts;
  history.take(port, counts, 0);
  counts[ErrorCounter::symbol_errors] = 0xffff;
  history.take(port, counts, 10 * kSecond);
  EXPECT_TRUE(history.rates(port).saturated);
  const float rate = history.trend(port).errors_per_hour[0];
  EXPECT_GT(rate, 60'000);
  history.take(port, counts, 9000 * kSecond);
  EXPECT_EQ(history.trend(port).errors_per_hour[0], rate) << "not known to be better";
  counts[ErrorCounter::symbol_errors] = 1;
  history.take(port, counts, 20'000 * kSecond);
  EXPECT_FALSE(history.rates(port).saturated);
  const double kept = std::exp(-11'000.0 / 3600);
  EXPECT_NEAR(history.trend(port).errors_per_hour[0], rate * kept + 3600.0 / 11'000 * (1 - kept), 0.1);
}

TEST(CounterHistory, OneErrorIsOneAnHourHoweverShortTheInterval) {
  const Topology topology = pairs_of_switches(1);
  CounterHistory history(topology);
  PortCounts counts;
  history.take(PortId(0), counts, 0);
  counts[ErrorCounter::link_downed] = 1;
  history.take(PortId(0), counts, 2 * kSecond);
  EXPECT_NEAR(history.trend(PortId(0)).errors_per_hour[2], 1, 0.01);
  EXPECT_NEAR(history.rates(PortId(0)).errors_per_hour[2], 1800, 1);
}

TEST(CounterHistory, OutdatedAndForgottenReadingsAreNotUsed) {
  const Topology topology = pairs_of_switches(1);
  CounterHistory history(topology);
  EXPECT_EQ(history.take(PortId(1), {}, 5), CounterHistory::Taken::first);
  EXPECT_EQ(history.take(PortId(1), {}, 5), CounterHistory::Taken::outdated);
  EXPECT_EQ(history.take(PortId(1), {}, 4), CounterHistory::Taken::outdated);
  EXPECT_EQ(history.take(PortId(1), {.wide = false}, 6), CounterHistory::Taken::first) << "other counters";
  history.forget(PortId(1));
  EXPECT_EQ(history.take(PortId(1), {}, 3), CounterHistory::Taken::first);
}

TEST(CounterHistory, HoldsAHundredThousandCables) {
  const Topology topology = pairs_of_switches(100'000);
  CounterHistory history(topology);
  EXPECT_GE(topology.switch_ports().size(), 200'000U);
  EXPECT_LT(history.memory_bytes(), 80'000'000U);
  std::printf("%zu ports, %zu bytes\n", topology.switch_ports().size(), history.memory_bytes());
  PortCounts counts;
  for (std::int64_t round = 1; round <= 3; ++round) {
    counts.transmit_bytes += 1'000'000'000;
    for (const PortId port : topology.switch_ports()) history.take(port, counts, round * kSecond);
  }
  EXPECT_NEAR(history.trend(topology.switch_ports().front()).transmit_average, 0.02, 1e-6);
}

}  // namespace
}  // namespace railweave::fabric::health::counter_history_test
