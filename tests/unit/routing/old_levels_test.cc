// The audit of service levels from before on new tables, beside packets that are followed one by one with those levels.
#include "fabric/routing/audit/old_levels.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/routing/engine_registry.h"
#include "tests/support/seeds.h"
#include "tests/unit/routing/naive_checker.h"
#include "tests/unit/routing/random_fabric.h"
#include "tests/unit/routing/routed.h"
#include "tests/unit/routing/shape_checks.h"
#include "tests/unit/routing/shaped_fabrics.h"

namespace railweave::fabric {
namespace {

using testing::build;
using testing::input_of;

struct Laned {
  const char* engine;
  testing::FabricSketch sketch;
};

std::vector<Laned> laned(std::uint64_t seed) {
  return {{"torus-3d", testing::torus({.sizes = {4, 4}, .hosts = 1}, seed)},
          {"dragonfly", testing::dragonfly({.switches = 3, .hosts = 1, .groups = 4}, seed)},
          {"layered", testing::torus({.sizes = {5, 4}, .hosts = 1}, seed)}};
}

std::vector<PlaneId> planes_of(const RoutingInput& input) {
  return {input.scope->planes().begin(), input.scope->planes().end()};
}

// Some paths with other levels that switches have maps for.
Lanes with_other_levels(Lanes lanes, unsigned percent, std::mt19937_64& random) {
  for (PlaneLanes& plane : lanes.planes) {
    for (std::uint8_t& level : plane.path_level) {
      if (random() % 100 < percent) level = static_cast<std::uint8_t>(random() % plane.levels);
    }
  }
  return lanes;
}

TEST(OldLevels, LoopsAreThoseOfPacketsThatAreFollowed) {
  std::size_t loops = 0, free = 0;
  for (std::uint64_t seed = 1; seed <= part_of_seeds(30); ++seed) {
    const auto all = laned(seed);
    const Laned& one = all[seed % all.size()];
    RoutingInput input = input_of(build(one.sketch));
    std::mt19937_64 random(seed);
    const RoutingEngine& engine = *find_engine(one.engine);
    testing::fail_at_random(input.view, random);
    const Routing now = engine.route(input).value();
    for (const unsigned percent : {1U, 5U, 50U}) {
      const Lanes before = with_other_levels(now.lanes, percent, random);
      const auto audited = audit_old_levels(input.view, planes_of(input), before, now);
      const std::string what = std::string(one.engine) + " seed " + std::to_string(seed);
      if (now.lanes.used() == 1) {
        EXPECT_FALSE(audited) << what;
        continue;
      }
      ASSERT_TRUE(audited) << what;
      Routing kept = now;
      kept.lanes = before;
      const bool has_loop = testing::check_naively(input.view, kept).credit_loop;
      EXPECT_EQ(audited->loop_lanes > 0, has_loop) << what;
      const auto expected = has_loop                            ? OldLevels::Outcome::credit_loops
                            : before.planes == now.lanes.planes ? OldLevels::Outcome::kept
                                                                : OldLevels::Outcome::free_of_loops;
      EXPECT_EQ(audited->outcome, expected) << what << ": " << audited->text();
      (has_loop ? loops : free) += 1;
    }
  }
  EXPECT_GT(loops, 0U);
  EXPECT_GT(free, 0U);
}

TEST(OldLevels, MoreLevelsThanSwitchesKnowCannotBeFollowed) {
  const RoutingInput input = input_of(build(testing::torus({.sizes = {4, 4}, .hosts = 1}, 3)));
  const Routing now = find_engine("torus-3d")->route(input).value();
  Lanes before = now.lanes;
  ++before.planes[0].levels;
  const auto audited = audit_old_levels(input.view, planes_of(input), before, now);
  ASSERT_TRUE(audited);
  EXPECT_EQ(audited->outcome, OldLevels::Outcome::unknown_to_switches);
}

TEST(OldLevels, NothingIsSaidOfOneLane) {
  const RoutingInput input = input_of(build(testing::random_tree(5)));
  const Routing now = find_engine("up-down")->route(input).value();
  EXPECT_FALSE(audit_old_levels(input.view, planes_of(input), now.lanes, now));
}

}  // namespace
}  // namespace railweave::fabric
