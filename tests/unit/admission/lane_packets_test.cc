// A lane of a job's own holds packet by packet: on random fabrics, with the tables that plan_infiniband() makes for every port,
// jobs that keep to their guarantee get it, while other owners of lanes send far above theirs, every host floods every class and
// sends with the level of every lane into the same ports, and packets have any size up to the MTU (lane_site.h). Ingress filter: on
// the leaf's port towards a host, levels of lanes that no job on that host has lead to VL 15. On every link a lane gets what is
// reserved for it within one packet per visit (lane_network.h), whoever sends on it; what a job's flows send arrives but for what
// waits on the way (LaneSite::in_flight()).
#include <cstdio>

#include <gtest/gtest.h>

#include "tests/support/seeds.h"
#include "tests/unit/admission/lane_site.h"

namespace railweave::scheduler {
namespace {

using testing::Filter;
using testing::LaneSite;
using testing::Planted;
using testing::Tally;

Tally simulate(std::uint64_t first, std::uint64_t seeds, Planted planted, Filter filter = Filter::by_host,
               LaneSite::Jobs jobs = LaneSite::Jobs::as_they_are) {
  Tally tally;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    LaneSite site(seed, jobs);
    if (site.admit()) site.simulate(planted, filter, tally);
    if (planted != Planted::nothing) continue;
    EXPECT_EQ(tally.below, 0U) << "seed " << seed << ", worst " << tally.worst;
    EXPECT_LE(tally.most_short, 0) << "seed " << seed << ": packets that a lane was short of what is reserved for it";
    if (::testing::Test::HasFailure()) break;
  }
  return tally;
}

TEST(LanePackets, OwnersGetWhatIsReservedWhateverOthersSend) {
  const std::uint64_t seeds = part_of_seeds(40);
  const Tally tally = simulate(1, seeds, Planted::nothing);
  std::printf(
      "%zu fabrics, %zu flows at their guarantee beside %zu floods, %.1f GB over links, %.1f million packets "
      "discarded: %zu below; service looked at %.1f million times, %.2f packets within its bound at worst\n",
      tally.fabrics, tally.flows, tally.floods, static_cast<double>(tally.bytes) / 1e9,
      static_cast<double>(tally.discarded) / 1e6, tally.below, static_cast<double>(tally.looks) / 1e6,
      -tally.most_short);
  EXPECT_GT(tally.looks, part_of_seeds(1'000'000));
  EXPECT_GT(tally.fabrics, seeds / 2);
  EXPECT_GT(tally.flows, 5 * seeds);
  EXPECT_GT(tally.discarded, 0) << "the filter has met nothing";
}

// The test detects what it is for.
TEST(LanePackets, SeesWhatIsPlanted) {
  const std::pair<Planted, const char*> planted[] = {{Planted::weights_swapped, "weights swapped"},
                                                     {Planted::high_limit_0, "classes in the high table, limit 0"},
                                                     {Planted::two_jobs_on_one_lane, "two jobs on one lane"},
                                                     {Planted::filter_left_out, "filter left out"}};
  for (const auto& [what, name] : planted) {
    const Tally tally = simulate(1, 15, what);
    std::printf("%s: %zu of %zu flows below, worst %.3f; a lane short by up to %.2f packets\n", name, tally.below,
                tally.flows, tally.worst, tally.most_short);
    EXPECT_GT(tally.below, 5U) << name;
    EXPECT_LT(tally.worst, 0.95) << name;
    // What intruders take from a job its lane gets all the same.
    const bool is_of_tables = what == Planted::weights_swapped || what == Planted::high_limit_0;
    EXPECT_EQ(tally.most_short > 0, is_of_tables) << name << ": " << tally.most_short;
  }
}

// What a filter by host alone cannot see: a job elsewhere may have the same lane, and its hosts may send with it to any port.
TEST(LanePackets, AFilterByHostDoesNotKeepOutOtherOwnersOfTheLane) {
  const Tally tally = simulate(1, 16, Planted::others_of_the_lane);
  std::printf("hosts of other owners of the lane aim at it: %zu of %zu flows below, worst %.3f\n", tally.below,
              tally.flows, tally.worst);
  EXPECT_GT(tally.below, 0U);
  const Tally kept_out = simulate(1, 16, Planted::others_of_the_lane, Filter::by_owner);
  std::printf("... with SL to VL by owners of the links in and out: %zu of %zu flows below\n", kept_out.below,
              kept_out.flows);
  EXPECT_EQ(kept_out.below, 0U);
  const Tally planned = simulate(1, 16, Planted::others_of_the_lane, Filter::as_planned);
  std::printf(
      "... with the maps as planned, which pass on from links without an owner: %zu of %zu flows below, worst %.3f\n",
      planned.below, planned.flows, planned.worst);
  EXPECT_LE(planned.below, tally.below);
}

// From links that no job has a lane on: closed where the owner survives failures, and its own packets get through after each.
TEST(LanePackets, NoOtherIsOnTheLaneOfAJobThatSurvivesFailures) {
  const Tally by_host = simulate(1, 16, Planted::others_of_the_lane, Filter::by_host, LaneSite::Jobs::surviving);
  const Tally planned = simulate(1, 16, Planted::others_of_the_lane, Filter::as_planned, LaneSite::Jobs::surviving);
  std::printf("surviving jobs: by hosts alone %zu of %zu flows below, worst %.3f; as planned %zu of %zu\n",
              by_host.below, by_host.flows, by_host.worst, planned.below, planned.flows);
  EXPECT_GT(by_host.below, 0U);
  EXPECT_EQ(planned.below, 0U) << "worst " << planned.worst;
  EXPECT_GT(planned.flows, 20U);
}

TEST(LanePackets, PacketsOfJobsThatSurviveFailuresArriveOnTheirLanesBeforeTablesFollow) {
  std::size_t paths = 0;
  for (std::uint64_t seed = 1; seed <= part_of_seeds(60); ++seed) {
    LaneSite site(seed, LaneSite::Jobs::surviving);
    if (!site.admit()) continue;
    const auto [walked, astray] = site.walk_after_failures();
    EXPECT_EQ(astray, 0U) << "seed " << seed << ", of " << walked;
    paths += walked;
  }
  std::printf("%zu paths after single failures\n", paths);
  EXPECT_GT(paths, part_of_seeds(5'000));
  // What this is for: a lane closed to its own job.
  std::size_t astray = 0;
  for (std::uint64_t seed = 1; seed <= part_of_seeds(20); ++seed) {
    LaneSite site(seed, LaneSite::Jobs::claiming);
    if (site.admit()) astray += site.walk_after_failures().second;
  }
  EXPECT_GT(astray, part_of_seeds(100));
}

TEST(LanePackets, MapsAsPlannedKeepOutHostsWithoutTheLane) {
  const Tally tally = simulate(1, part_of_seeds(40), Planted::nothing, Filter::as_planned);
  EXPECT_EQ(tally.below, 0U);
  EXPECT_GT(tally.discarded, 0);
}

}  // namespace
}  // namespace railweave::scheduler
