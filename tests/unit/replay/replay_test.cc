// Replays against an independent simulation of single GPUs, and against invariants of every policy.
#include "services/railweave/lab/replay/replay.h"

#include <cmath>
#include <map>
#include <random>
#include <regex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/generate/generate.h"
#include "services/railweave/lab/replay/generated_trace.h"
#include "services/railweave/lab/replay/paired.h"
#include "services/railweave/lab/replay/replay_svg.h"

namespace railweave::cli {
namespace {

scheduler::PlacementFabricPtr fabric_of(const char* hosts) {
  auto topology = fabric::generate(
      "fat-tree",
      {{"hosts", hosts}, {"hosts-per-leaf", "4"}, {"nics-per-host", "1"}, {"hosts-per-rack", "2"}, {"radix", "16"}});
  EXPECT_TRUE(topology) << topology.error().text();
  return std::make_shared<const scheduler::PlacementFabric>(
      std::make_shared<const fabric::Topology>(std::move(*topology)));
}

JobTrace random_trace(std::uint64_t seed, std::size_t jobs, bool single) {
  std::mt19937_64 random(seed);
  JobTrace trace;
  trace.tenants = {"a", "b", "c"};
  std::int64_t at = 0;
  for (std::size_t i = 0; i < jobs; ++i) {
    at += static_cast<std::int64_t>(random() % 40);
    const std::uint32_t gpus = single ? 1 : 1U << random() % 6;
    trace.jobs.push_back({at, 1 + static_cast<std::int64_t>(random() % (single ? 6000 : 600)), gpus,
                          static_cast<std::uint32_t>(random() % 3)});
  }
  return trace;
}

ReplayReport replay_as(const std::string& policy, scheduler::Backfill backfill, const JobTrace& trace) {
  ReplayOptions options;
  options.policy = policy;
  options.backfill = backfill;
  return replay(fabric_of("8"), trace, options, [](std::uint64_t) {});
}

// Jobs of one GPU form a queue with 64 servers under every policy.
TEST(Replay, OfSingleGpusIsAQueueWithAsManyServers) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const JobTrace trace = random_trace(seed, 800, true);
    std::multimap<std::int64_t, int> servers;  // when each is free
    for (int i = 0; i < 64; ++i) servers.emplace(0, i);
    double waits = 0;
    double busy = 0, loaded = 0;
    const std::int64_t last = trace.jobs.back().submitted_s;
    std::int64_t makespan = 0;
    for (const auto& job : trace.jobs) {
      const std::int64_t start = std::max(servers.begin()->first, job.submitted_s);
      servers.erase(servers.begin());
      servers.emplace(start + job.runs_s, 0);
      waits += static_cast<double>(start - job.submitted_s);
      busy += static_cast<double>(job.runs_s);
      loaded += std::max(0.0, static_cast<double>(std::min(last, start + job.runs_s)) -
                                  std::max(static_cast<double>(start), static_cast<double>(last) / 10));
      makespan = std::max(makespan, start + job.runs_s);
    }
    EXPECT_GT(waits, 0);
    for (const auto policy : kReplayPolicies) {
      const ReplayReport report = replay_as(std::string(policy), scheduler::Backfill::none, trace);
      EXPECT_EQ(report.jobs, 800U);
      EXPECT_NEAR(report.waits.mean_s, waits / 800, 1e-6) << policy;
      EXPECT_EQ(report.makespan_s, makespan) << policy;
      EXPECT_NEAR(report.utilisation, busy / (64.0 * static_cast<double>(makespan)), 1e-9) << policy;
      EXPECT_NEAR(report.loaded_utilisation, loaded / (64 * 0.9 * static_cast<double>(last)), 1e-4) << policy;
      EXPECT_EQ(report.stranded_gpu_h, 0) << policy;
    }
  }
}

TEST(Replay, HoldsWhatHoldsForEveryPolicy) {
  const JobTrace trace = random_trace(7, 1500, false);
  for (const auto policy : kReplayPolicies) {
    for (const auto backfill : {scheduler::Backfill::none, scheduler::Backfill::easy}) {
      const ReplayReport report = replay_as(std::string(policy), backfill, trace);
      EXPECT_EQ(report.jobs, trace.jobs.size()) << policy;
      EXPECT_TRUE(1 <= report.slowdown.mean && report.slowdown.mean <= report.slowdown.p95 * 1.5 &&
                  report.slowdown.p95 <= report.slowdown.most)
          << policy;
      EXPECT_TRUE(1 <= report.slowdown.mean_step && report.slowdown.mean_step <= report.slowdown.mean) << policy;
      EXPECT_LE(report.waits.p50_s, report.waits.p95_s);
      EXPECT_LE(report.waits.p99_s, report.waits.most_s);
      EXPECT_GE(report.spread.racks, report.spread.least_racks);
      EXPECT_GE(report.spread.domains, report.spread.least_domains);
      EXPECT_LE(report.utilisation, 1);
      EXPECT_GT(report.utilisation, 0.3);
      EXPECT_LE(report.fairness, 1 + 1e-9);
      for (const auto& sample : report.samples) {
        ASSERT_LE(sample.used + sample.stranded, report.total_gpus);
        if (sample.queued == 0) {
          ASSERT_EQ(sample.stranded, 0U);
        }
      }
      EXPECT_EQ(report.samples.back().used, 0U);
    }
  }
  const ReplayReport first_fit = replay_as("fifo-first-fit", scheduler::Backfill::easy, trace);
  const ReplayReport own = replay_as("railweave", scheduler::Backfill::easy, trace);
  EXPECT_LE(own.spread.racks, first_fit.spread.racks);
  EXPECT_LT(own.waits.mean_s, replay_as("railweave", scheduler::Backfill::none, trace).waits.mean_s);
}

TEST(Replay, LeavesOutWhatIsLargerThanTheFabric) {
  JobTrace trace = random_trace(1, 10, true);
  trace.jobs[3].gpus = 65;
  const ReplayReport report = replay_as("railweave", scheduler::Backfill::easy, trace);
  EXPECT_EQ(report.too_large, 1U);
  EXPECT_EQ(report.jobs, 9U);
}

// Running times follow the place: the same jobs take longer in all, and none less than it says.
TEST(Replay, StretchesJobsByTheirPlace) {
  const JobTrace trace = random_trace(4, 300, false);
  for (const Stretch stretch : {Stretch::none, Stretch::spread, Stretch::predicted, Stretch::flows}) {
    ReplayOptions options;
    options.policy = "fifo-first-fit";
    options.stretch = stretch;
    options.heavy = true;
    const ReplayReport report = replay(fabric_of("8"), trace, options, [](std::uint64_t) {});
    if (stretch == Stretch::none) {
      EXPECT_DOUBLE_EQ(report.mean_stretch, 1);
    } else {
      EXPECT_GT(report.mean_stretch, 1);
    }
    if (stretch == Stretch::spread) {
      EXPECT_LE(report.mean_stretch, StretchedRuns::kSpreadFactor);
    }
  }
}

TEST(Replay, JobsThatWaitForABetterPlaceAreStretchedLess) {
  ReplayOptions options;
  options.stretch = Stretch::predicted;
  options.heavy = true;
  double plain = 0, waiting = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const JobTrace trace = generate_trace({64, 300, 0.9}, seed);
    options.policy = "railweave";
    plain += replay(fabric_of("8"), trace, options, [](std::uint64_t) {}).mean_stretch;
    options.policy = kWaitingPolicy;
    const ReplayReport report = replay(fabric_of("8"), trace, options, [](std::uint64_t) {});
    EXPECT_EQ(report.jobs, trace.jobs.size());
    waiting += report.mean_stretch;
  }
  EXPECT_LT(waiting, plain);
}

TEST(Replay, PlacesThatAreChosenOnRoutesHoldWhatHoldsForEveryPolicy) {
  const JobTrace trace = generate_trace({64, 300, 0.9}, 1);
  ReplayOptions options;
  options.policy = kRoutedPolicy;
  options.stretch = Stretch::flows;
  options.heavy = true;
  const auto run = [&] { return replay(fabric_of("8"), trace, options, [](std::uint64_t) {}); };
  const ReplayReport report = run(), again = run();
  EXPECT_EQ(report.jobs, trace.jobs.size());
  EXPECT_EQ(report.samples.back().used, 0U);
  EXPECT_GT(report.mean_stretch, 1);
  EXPECT_DOUBLE_EQ(report.mean_completion_s, again.mean_completion_s);
}

TEST(GeneratedTrace, HasTheLoadAskedForAndIsOneForASeed) {
  const GeneratedLoad load{512, 2000, 0.8};
  const JobTrace trace = generate_trace(load, 7);
  ASSERT_EQ(trace.jobs.size(), load.jobs);
  double gpu_s = 0;
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    const TraceJob& job = trace.jobs[i];
    gpu_s += static_cast<double>(job.gpus) * static_cast<double>(job.runs_s);
    EXPECT_TRUE(job.gpus >= 1 && job.gpus <= 128);
    if (i > 0) {
      EXPECT_LE(trace.jobs[i - 1].submitted_s, job.submitted_s);
    }
  }
  EXPECT_NEAR(gpu_s / (512.0 * static_cast<double>(trace.jobs.back().submitted_s)), 0.8, 0.02);
  const JobTrace again = generate_trace(load, 7), other = generate_trace(load, 8);
  EXPECT_EQ(again.jobs[100].submitted_s, trace.jobs[100].submitted_s);
  EXPECT_NE(other.jobs[100].submitted_s, trace.jobs[100].submitted_s);
}

// The interval of the mean of ten differences, worked out by hand: t = 2.262.
TEST(Paired, GivesTheMeanAndItsInterval) {
  const std::vector<double> differences{-0.1, -0.2, -0.3, -0.1, -0.2, -0.3, -0.1, -0.2, -0.3, -0.2};
  const PairedDifference result = paired(differences);
  EXPECT_NEAR(result.mean, -0.2, 1e-12);
  EXPECT_NEAR(result.half_width, 2.262 * 0.0816496580927726 / std::sqrt(10.0), 1e-9);
  EXPECT_TRUE(result.excludes_zero());
}

TEST(ReplaySvg, HasAxesALegendAndALinePerPolicy) {
  const JobTrace trace = random_trace(2, 200, false);
  const std::vector<ReplayReport> reports{replay_as("tree", scheduler::Backfill::easy, trace),
                                          replay_as("railweave", scheduler::Backfill::easy, trace)};
  const std::string svg = replay_svg(reports);
  const auto count = [&](const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = svg.find(what); at != std::string::npos; at = svg.find(what, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("<polyline"), 8U);
  EXPECT_EQ(count(">railweave<"), 1U);
  EXPECT_EQ(count("class='title'"), 4U);
  EXPECT_TRUE(svg.starts_with("<svg"));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_EQ(count("nan"), 0U);
  EXPECT_EQ(count("prefers-color-scheme:dark"), 1U);
}

// Policies that do the same draw lines on each other: each has a width, dashes and a colour of its own. The legend is
// within the picture however many policies there are.
TEST(ReplaySvg, TellsEqualPoliciesApartAndKeepsItsLegendInside) {
  const JobTrace trace = random_trace(3, 60, false);
  std::vector<ReplayReport> reports;
  for (int i = 0; i < 7; ++i) {
    reports.push_back(replay_as("railweave", scheduler::Backfill::easy, trace));
    reports.back().policy = "a policy with a long name, number " + std::to_string(i);
  }
  const std::string svg = replay_svg(reports);
  static const std::regex line("<polyline fill='none' (stroke='[^']*' stroke-width='[^']*' stroke-dasharray='[^']*')");
  std::set<std::string> strokes;
  std::size_t drawn = 0;
  for (auto at = std::sregex_iterator(svg.begin(), svg.end(), line); at != std::sregex_iterator(); ++at, ++drawn) {
    strokes.insert((*at)[1]);
  }
  EXPECT_EQ(drawn, 28U);
  EXPECT_EQ(strokes.size(), 7U);
  static const std::regex name("<text x='([0-9]+)' y='[0-9]+'>(a policy[^<]*)</text>");
  std::size_t named = 0;
  for (auto at = std::sregex_iterator(svg.begin(), svg.end(), name); at != std::sregex_iterator(); ++at, ++named) {
    EXPECT_LE(std::stoul((*at)[1]) + 7 * (*at)[2].length(), 1000U) << (*at)[0];
  }
  EXPECT_EQ(named, 7U);
}

}  // namespace
}  // namespace railweave::cli
