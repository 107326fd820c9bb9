// Gains on random jobs beside a regression by the normal equations, with the quantile of Student's t by integration of its
// density: nothing of it is the code under test.
#include "services/control/views/step_gains.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numbers>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "services/control/state/cluster_state.h"

namespace railweave::control::step_gains_test {
namespace {

using Placing = StepControl::Placing;

// --- the oracle

double density(double x, double freedom) {
  const double log = std::lgamma((freedom + 1) / 2) - std::lgamma(freedom / 2) -
                     0.5 * std::log(freedom * std::numbers::pi) - (freedom + 1) / 2 * std::log1p(x * x / freedom);
  return std::exp(log);
}

// By Simpson's rule on steps that grow, as tails of few degrees of freedom are long.
double quantile(std::size_t freedom) {
  const auto nu = static_cast<double>(freedom);
  double share = 0, at = 0;
  while (share < 0.475) {
    const double step = 1e-4 * (1 + at);
    const double part = step / 6 * (density(at, nu) + 4 * density(at + step / 2, nu) + density(at + step, nu));
    if (share + part >= 0.475) return at + step * (0.475 - share) / part;
    share += part;
    at += step;
  }
  return at;
}

// Solves a * x = b, and gives the inverse's element [0][0].
std::pair<std::vector<double>, double> solve(std::vector<std::vector<double>> a, std::vector<double> b) {
  const std::size_t n = b.size();
  std::vector<double> unit(n, 0);
  unit[0] = 1;
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t pivot = i;
    for (std::size_t r = i + 1; r < n; ++r) pivot = std::abs(a[r][i]) > std::abs(a[pivot][i]) ? r : pivot;
    std::swap(a[i], a[pivot]);
    std::swap(b[i], b[pivot]);
    std::swap(unit[i], unit[pivot]);
    for (std::size_t r = 0; r < n; ++r) {
      if (r == i) continue;
      const double factor = a[r][i] / a[i][i];
      for (std::size_t c = 0; c < n; ++c) a[r][c] -= factor * a[i][c];
      b[r] -= factor * b[i];
      unit[r] -= factor * unit[i];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    b[i] /= a[i][i];
    unit[i] /= a[i][i];
  }
  return {b, unit[0]};
}

struct Observed {
  std::size_t stratum = 0;
  bool with = false;
  double seconds = 0;
};

// Least squares of log(seconds) = level of the stratum + effect where with.
GainEstimate regression(const std::vector<Observed>& observed) {
  std::map<std::size_t, std::size_t> column;
  for (const auto& one : observed) column.try_emplace(one.stratum, column.size() + 1);
  const std::size_t n = column.size() + 1;
  std::vector<std::vector<double>> a(n, std::vector<double>(n, 0));
  std::vector<double> b(n, 0);
  const auto row_of = [&](const Observed& one) {
    std::vector<double> row(n, 0);
    row[0] = one.with ? 1 : 0;
    row[column.at(one.stratum)] = 1;
    return row;
  };
  for (const auto& one : observed) {
    const auto row = row_of(one);
    for (std::size_t i = 0; i < n; ++i) {
      b[i] += row[i] * std::log(one.seconds);
      for (std::size_t j = 0; j < n; ++j) a[i][j] += row[i] * row[j];
    }
  }
  const auto [x, inverse] = solve(a, b);
  double left = 0;
  for (const auto& one : observed) {
    const auto row = row_of(one);
    double fitted = 0;
    for (std::size_t i = 0; i < n; ++i) fitted += row[i] * x[i];
    left += std::pow(std::log(one.seconds) - fitted, 2);
  }
  const std::size_t freedom = observed.size() - n;
  const double half = quantile(freedom) * std::sqrt(left / static_cast<double>(freedom) * inverse);
  return {1 - std::exp(x[0]), GainEstimate::Interval{1 - std::exp(x[0] + half), 1 - std::exp(x[0] - half)}};
}

void expect_equal(const GainEstimate& found, const GainEstimate& wanted) {
  EXPECT_NEAR(found.gain, wanted.gain, 1e-9);
  ASSERT_TRUE(found.interval && wanted.interval);
  EXPECT_NEAR(found.interval->low, wanted.interval->low, 1e-5 * (1 + std::abs(wanted.interval->low)));
  EXPECT_NEAR(found.interval->high, wanted.interval->high, 1e-5 * (1 + std::abs(wanted.interval->high)));
}

// --- states with jobs

struct Kept {
  std::string tenant = "research", workload = "llama", scheduler = "slurm";
  std::uint32_t data = 8;
  std::vector<std::pair<StepControl, double>> periods;  // mean seconds; of 50 steps each
  std::uint64_t steps = 50;
};

JobId keep(ClusterState& state, const Kept& kept) {
  auto job = std::make_shared<Job>();
  job->id = state.jobs.next_id();
  job->spec.tenant = kept.tenant;
  job->spec.parallelism.data = kept.data;
  job->spec.external.scheduler = kept.scheduler;
  job->state = JobState::completed;
  auto times = std::make_shared<StepTimes>();
  times->id = job->id;
  times->workload = kept.workload;
  times->gpu_model = "H100";
  for (const auto& [control, mean] : kept.periods) {
    times->periods.push_back({control, {}, 1, 2, kept.steps, mean * static_cast<double>(kept.steps)});
  }
  state.jobs.put(job);
  state.steps.put(times);
  return job->id;
}

constexpr StepControl kObserved{.placing = Placing::observe};
constexpr StepControl kPlaced{.placing = Placing::place};

std::vector<StepGain> all_gains(const ClusterState& state) {
  return step_gains(state, [](const Job&) { return true; });
}

TEST(StepGains, TheQuantileIsStudents) {
  // Tables of the distribution.
  EXPECT_NEAR(t_quantile(1), 12.7062, 1e-3);
  EXPECT_NEAR(t_quantile(2), 4.30265, 1e-4);
  EXPECT_NEAR(t_quantile(5), 2.57058, 1e-4);
  EXPECT_NEAR(t_quantile(30), 2.04227, 1e-4);
  EXPECT_NEAR(t_quantile(100'000), 1.96, 2e-3);
  for (const std::size_t freedom : {1, 2, 3, 4, 7, 12, 31, 100}) {
    EXPECT_NEAR(t_quantile(freedom), quantile(freedom), 2e-4 * quantile(freedom)) << freedom;
  }
}

TEST(StepGains, AreThoseOfARegressionOnRandomJobs) {
  std::mt19937_64 random(32);
  for (int round = 0; round < 60; ++round) {
    ClusterState state;
    std::vector<Observed> observed;
    const std::size_t strata = 1 + random() % 4;
    for (std::size_t s = 0; s < strata; ++s) {
      const double level = 0.2 + static_cast<double>(random() % 1000) / 200;
      std::vector<Observed> here;
      for (const bool with : {false, true}) {
        for (std::size_t jobs = 1 + random() % 5; jobs > 0; --jobs) {
          const double mean = level * (0.8 + static_cast<double>(random() % 1000) / 2500);
          Kept kept{.workload = "w" + std::to_string(s / 2), .data = s % 2 == 0 ? 8U : 16U};
          kept.periods.emplace_back(with ? kPlaced : kObserved, mean);
          keep(state, kept);
          here.push_back({s, with, mean});
        }
      }
      const auto with = std::ranges::count_if(here, &Observed::with);
      if (with < 2 || static_cast<std::ptrdiff_t>(here.size()) - with < 2) continue;  // too few on a side
      observed.insert(observed.end(), here.begin(), here.end());
    }
    const auto gains = all_gains(state);
    if (observed.empty()) {
      EXPECT_TRUE(gains.empty());
      continue;
    }
    ASSERT_EQ(gains.size(), 1U);
    EXPECT_EQ(gains[0].step, StepGain::Step::place);
    EXPECT_EQ(gains[0].of, StepGain::Of::workloadJobs);
    EXPECT_EQ(gains[0].scheduler, "slurm");
    EXPECT_EQ(gains[0].jobs_with + gains[0].jobs_without, observed.size());
    expect_equal(gains[0].estimate, regression(observed));
  }
}

TEST(StepGains, OfTheSameJobsAreThoseOfTheirPairs) {
  std::mt19937_64 random(32);
  for (int round = 0; round < 40; ++round) {
    ClusterState state;
    std::vector<Observed> observed;  // each job is a level of its own
    const std::size_t jobs = 2 + random() % 6;
    for (std::size_t j = 0; j < jobs; ++j) {
      const double before = 0.1 + static_cast<double>(random() % 1000) / 100;
      const double after = before * (0.7 + static_cast<double>(random() % 1000) / 2000);
      StepControl routed = kPlaced;
      routed.routed = true;
      keep(state, {.workload = "w" + std::to_string(j), .periods = {{kPlaced, before}, {routed, after}}});
      observed.push_back({j, false, before});
      observed.push_back({j, true, after});
    }
    const auto gains = all_gains(state);
    ASSERT_EQ(gains.size(), 1U);
    EXPECT_EQ(gains[0].step, StepGain::Step::route);
    EXPECT_EQ(gains[0].of, StepGain::Of::sameJobs);
    EXPECT_EQ(gains[0].jobs_with, jobs);
    expect_equal(gains[0].estimate, regression(observed));
  }
}

TEST(StepGains, AreNeverOfWhatDiffersInMore) {
  StepControl guaranteed = kPlaced;
  guaranteed.guaranteed = true;
  const auto gains_of = [](const Kept& without, const Kept& with) {
    ClusterState state;
    for (int i = 0; i < 3; ++i) {
      keep(state, without);
      keep(state, with);
    }
    return all_gains(state);
  };
  const Kept observed{.periods = {{kObserved, 1.0}}}, placed{.periods = {{kPlaced, 0.8}}};
  ASSERT_EQ(gains_of(observed, placed).size(), 1U);
  EXPECT_NEAR(gains_of(observed, placed)[0].estimate.gain, 0.2, 1e-9);
  for (auto change : {+[](Kept& kept) { kept.tenant = "other"; }, +[](Kept& kept) { kept.workload = "gpt"; },
                      +[](Kept& kept) { kept.workload = ""; }, +[](Kept& kept) { kept.data = 16; },
                      +[](Kept& kept) { kept.scheduler = ""; }, +[](Kept& kept) { kept.steps = 9; }}) {
    Kept other = placed;
    change(other);
    EXPECT_TRUE(gains_of(observed, other).empty());
  }
  EXPECT_TRUE(gains_of(observed, {.periods = {{guaranteed, 0.8}}}).empty()) << "placed, and guaranteed as well";
}

TEST(StepGains, OfOneJobHaveNoInterval) {
  ClusterState state;
  const JobId id = keep(state, {.periods = {{kObserved, 1.0}, {kPlaced, 0.9}, {kObserved, 1.2}}});
  auto gains = all_gains(state);
  ASSERT_EQ(gains.size(), 1U);
  EXPECT_EQ(gains[0].of, StepGain::Of::oneJob);
  EXPECT_NEAR(gains[0].estimate.gain, 1 - 0.9 / 1.1, 1e-9) << "both periods without are one sample";
  EXPECT_FALSE(gains[0].estimate.interval);
  EXPECT_TRUE(step_gains(state, [&](const Job& job) { return job.id != id; }).empty());
  // Of two jobs on each side there is an interval, which comes before the pair.
  for (const double mean : {1.0, 1.1}) keep(state, {.periods = {{kObserved, mean}}});
  for (const double mean : {0.8, 0.9}) keep(state, {.periods = {{kPlaced, mean}}});
  gains = all_gains(state);
  ASSERT_EQ(gains.size(), 1U);
  EXPECT_EQ(gains[0].of, StepGain::Of::workloadJobs);
  EXPECT_EQ(gains[0].jobs_with + gains[0].jobs_without, 4U) << "a job is never beside itself and beside others";
}

}  // namespace
}  // namespace railweave::control::step_gains_test
