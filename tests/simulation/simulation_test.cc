// The whole control plane on simulated time, store and fabric, by seed. `make simulate SEED=17 TRACE=1` runs one and
// tells its story; a seed that fails is shrunk first. `make simulate SEEDS=10000` runs as many.
#include "tests/simulation/simulation.h"

#include <cstdlib>
#include <iostream>
#include <optional>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/seeds.h"

namespace railweave::simulation {
namespace {

std::optional<std::uint64_t> setting(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr || *text == '\0' ? std::nullopt : std::optional(std::strtoull(text, nullptr, 10));
}

std::string story(const Plan& plan, bool with_trace) {
  const Outcome outcome = simulate(plan, with_trace);
  std::string text = "seed " + std::to_string(plan.seed) + ": " + outcome.fault;
  for (const auto& act : plan.acts) text += "\n  " + to_string(act);
  for (const auto& line : outcome.trace) text += "\n" + line;
  return text;
}

constexpr unsigned kParts = 4;
class SimulationTest : public testing::TestWithParam<unsigned> {};

TEST_P(SimulationTest, KeepsItsPromisesWhateverGoesWrong) {
  if (const auto seed = setting("RAILWEAVE_SEED")) {
    if (GetParam() != 0) GTEST_SKIP() << "one seed";
    Plan plan = make_plan(*seed);
    const bool traced = setting("RAILWEAVE_TRACE").value_or(0) != 0;
    const Outcome outcome = simulate(plan);
    if (!outcome.fault.empty()) plan = shrink(std::move(plan));
    if (traced) std::cout << story(plan, true) << "\n";
    EXPECT_EQ(outcome.fault, "") << story(plan, false);
    return;
  }
  const std::uint64_t seeds = setting("RAILWEAVE_SEEDS").value_or(part_of_seeds(2'000));
  const std::uint64_t each = std::max<std::uint64_t>(1, seeds / kParts);
  std::map<std::string, std::uint64_t> counts;
  std::string failed;
  const std::uint64_t most_failures = setting("RAILWEAVE_MOST_FAILURES").value_or(10);
  std::uint64_t failures = 0;
  for (std::uint64_t seed = GetParam() * each + 1; seed <= (GetParam() + 1) * each; ++seed) {
    const Plan plan = make_plan(seed);
    const Outcome outcome = simulate(plan);
    for (const auto& [what, count] : outcome.counts) counts[what] += count;
    if (outcome.fault.empty()) continue;
    failed += "seed " + std::to_string(seed) + ": " + outcome.fault + "\n";
    if (++failures == 1) {
      failed += "shrunk: " + story(shrink(plan), false) + "\nmake simulate SEED=" + std::to_string(seed) +
                " TRACE=1 tells all of it\n";
    }
    if (failures == most_failures) break;
  }
  EXPECT_EQ(failed, "");
  std::string report = std::to_string(each) + " seeds:";
  for (const auto& [what, count] : counts) report += "\n  " + what + ": " + std::to_string(count);
  std::cout << report << "\n";
  std::vector<const char*> expected;
  if (each >= 100) {
    expected = {"accepted",
                "retries",
                "crashes",
                "take-overs",
                "record job.placed",
                "launches",
                "record job.evicted",
                "record drain.advanced",
                "record guarantee.atRisk",
                "record route.programmed"};
  }
  if (each >= 400)
    expected.insert(expected.end(), {"successions", "record job.moveOffered", "record job.moveAccepted"});
  for (const char* what : expected) EXPECT_GT(counts[what], 0U) << what << " never happened";
}

INSTANTIATE_TEST_SUITE_P(Seeds, SimulationTest, testing::Range(0U, kParts));

TEST(Simulation, TheSameSeedTellsTheSameStory) {
  for (std::uint64_t seed = 1; seed <= part_of_seeds(40); ++seed) {
    const Outcome first = simulate(make_plan(seed)), second = simulate(make_plan(seed), true);
    EXPECT_EQ(first.digest, second.digest) << "seed " << seed;
    EXPECT_EQ(first.lines, second.trace.size());
    EXPECT_GT(first.lines, 20U);
  }
}

}  // namespace
}  // namespace railweave::simulation
