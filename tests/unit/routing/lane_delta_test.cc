// Repairs on several lanes: at no moment channels wait for each other in a circle, and of all single failures, returns of the link
// and second failures few need packets to be dropped, or to have left, before all is written.
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/routing/delta/forwarding_delta.h"
#include "fabric/routing/engine_registry.h"
#include "tests/support/seeds.h"
#include "tests/unit/routing/played_delta.h"
#include "tests/unit/routing/random_fabric.h"
#include "tests/unit/routing/routed.h"
#include "tests/unit/routing/shape_checks.h"
#include "tests/unit/routing/shaped_fabrics.h"

namespace railweave::fabric {
namespace {

using testing::build;
using testing::input_of;

struct Waiting {
  std::size_t waits = 0, drops = 0;
};

struct Counted {
  const char* name;
  const char* engine;
  testing::FabricSketch sketch;
  Waiting failing, returning, second;  // at most
};

testing::FabricSketch without_some(testing::FabricSketch sketch, unsigned count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (unsigned i = 0; i < count; ++i) {
    sketch.cables.erase(sketch.cables.begin() + static_cast<std::ptrdiff_t>(random() % sketch.cables.size()));
  }
  return sketch;
}

std::vector<Counted> counted() {
  const auto torus = [](std::vector<unsigned> sizes, std::uint64_t seed) {
    return testing::torus({.sizes = std::move(sizes), .hosts = 2}, seed);
  };
  return {
      {"torus 4x4", "torus-3d", torus({4, 4}, 5), {8, 0}, {16, 0}, {8, 3}},
      {"torus 4x4x2", "torus-3d", torus({4, 4, 2}, 5), {16, 14}, {7, 7}, {15, 7}},
      {"torus 5x5", "torus-3d", torus({5, 5}, 9), {15, 0}, {25, 0}, {10, 5}},
      {"torus 5x5 with holes", "torus-3d", without_some(torus({5, 5}, 9), 3, 4), {16, 2}, {24, 4}, {13, 7}},
      {"torus 4x4x4", "torus-3d", testing::torus({.sizes = {4, 4, 4}, .hosts = 1}, 5), {0, 0}, {0, 0}, {29, 4}},
      {"dragonfly", "dragonfly", testing::dragonfly({.switches = 4, .hosts = 2, .groups = 5}, 3), {}, {}, {}},
      {"dragonfly with missing links",
       "dragonfly",
       without_some(testing::dragonfly({.switches = 4, .hosts = 2, .groups = 5, .per_pair = 2}, 13), 4, 6),
       {},
       {},
       {}},
      {"torus by layers", "layered", testing::torus({.sizes = {4, 5}, .hosts = 1}, 5), {14, 14}, {17, 10}, {11, 8}},
  };
}

void count_delta(const FabricView& view, const Routing& before, const Routing& after, Waiting& counts) {
  const ForwardingDelta delta = compute_delta(view, before, after);
  EXPECT_EQ(delta.left_out, 0U);
  counts.waits += delta.waits.empty() ? 0 : 1;
  counts.drops += delta.drops_first ? 1 : 0;
}

void expect_at_most(const Waiting& counts, const Waiting& most, const std::string& what) {
  EXPECT_LE(counts.waits, most.waits) << what;
  EXPECT_LE(counts.drops, most.drops) << what;
}

TEST(LaneDelta, FewRepairsWaitForPacketsAndFewerDropThem) {
  for (const Counted& shape : counted()) {
    const RoutingInput input = input_of(build(shape.sketch));
    const RoutingEngine& engine = *find_engine(shape.engine);
    const Routing whole = engine.route(input).value();
    Waiting failing, returning, second;
    std::size_t tried = 0;
    Routing last = whole;
    RoutingInput last_input = input;
    for (const LinkId link : input.view.topology().links()) {
      if (!input.view.topology().joins_switches(link)) continue;
      ++tried;
      RoutingInput cut = input;
      cut.view.set_state(link, LinkState::down);
      Routing after = engine.reroute(whole, cut).value();
      count_delta(cut.view, whole, after, failing);
      count_delta(input.view, after, whole, returning);
      if (tried % 3 == 0) {
        RoutingInput two = last_input;
        two.view.set_state(link, LinkState::down);
        count_delta(two.view, last, engine.reroute(last, two).value(), second);
      }
      last = std::move(after);
      last_input = std::move(cut);
    }
    std::printf(
        "%s: of %zu failures %zu wait and %zu drop, of their returns %zu and %zu, of %zu second ones %zu and %zu\n",
        shape.name, tried, failing.waits, failing.drops, returning.waits, returning.drops, tried / 3, second.waits,
        second.drops);
    expect_at_most(failing, shape.failing, std::string(shape.name) + ", failing");
    expect_at_most(returning, shape.returning, std::string(shape.name) + ", returning");
    expect_at_most(second, shape.second, std::string(shape.name) + ", second failures");
  }
}

TEST(LaneDelta, NoCircleAtAnyMomentOnAnyLane) {
  const std::vector<Counted> all = counted();
  std::size_t waits = 0, smooth = 0;
  for (std::uint64_t seed = 1; seed <= part_of_seeds(48); ++seed) {
    const Counted& shape = all[seed % all.size()];
    RoutingInput input = input_of(build(shape.sketch));
    const RoutingEngine& engine = *find_engine(shape.engine);
    std::mt19937_64 random(seed);
    Routing routing = engine.route(input).value();
    for (unsigned step = 0; step < 3; ++step) {
      testing::fail_at_random(input.view, random);
      if (random() % 3 == 0)
        input.view.set_state(LinkId(random() % input.view.topology().links().size()), LinkState::up);
      const Routing next = engine.reroute(routing, input).value();
      const auto played = played_delta::play(
          input.view, routing, next,
          std::string(shape.name) + " seed " + std::to_string(seed) + " step " + std::to_string(step));
      (played.waits > 0 ? waits : smooth) += played.entries > 0 ? 1 : 0;
      routing = next;
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(waits, 0U);
  EXPECT_GT(smooth, waits);
}

}  // namespace
}  // namespace railweave::fabric
