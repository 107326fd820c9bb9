#include "fabric/routing/torus/torus_engine.h"

#include <algorithm>
#include <cstdio>
#include <random>

#include "fabric/generate/generate.h"
#include "fabric/routing/torus/torus_grid.h"
#include "tests/unit/routing/shape_checks.h"
#include "tests/unit/routing/shaped_fabrics.h"

namespace railweave::fabric {
namespace {

using testing::build;
using testing::check_naively;
using testing::expect_verified;
using testing::fail_at_random;
using testing::has_finding;
using testing::input_of;
using testing::torus;
using testing::TorusShape;

const TorusEngine kTorus;

const std::vector<TorusShape> kShapes{
    {{3}},          {{4}},          {{5}},          {{8}},       {{2, 2}},       {{3, 2}},          {{3, 3}},
    {{4, 2}},       {{4, 3}},       {{4, 4}},       {{5, 4}},    {{6, 5}},       {{7, 2}},          {{2, 2, 2}},
    {{3, 2, 2}},    {{3, 3, 2}},    {{3, 3, 3}},    {{4, 2, 2}}, {{4, 3, 2}},    {{4, 4, 2}},       {{4, 4, 4}},
    {{5, 3, 2}},    {{6, 4, 2}},    {{5, 4, 3}},    {{6, 3, 3}}, {{5, 5, 2}, 2}, {{4, 3, 3}, 1, 2}, {{6, 2}, 2, 3},
    {{2, 2, 2, 2}}, {{3, 2, 2, 2}}, {{3, 3, 3, 3}},
};

std::string text(const TorusShape& shape) {
  std::string out;
  for (const unsigned size : shape.sizes) out += (out.empty() ? "" : " x ") + std::to_string(size);
  return out;
}

std::vector<unsigned> sorted_sizes(const TorusGrid& grid) {
  std::vector<unsigned> sizes;
  for (unsigned d = 0; d < grid.dimensions(); ++d) sizes.push_back(grid.size(d));
  return sizes;
}

TEST(TorusGrid, RecognizesSizesFromCablesAlone) {
  for (const auto& [sizes, expected] : std::vector<std::pair<std::vector<unsigned>, std::vector<unsigned>>>{
           {{3}, {3}},
           {{4}, {4}},
           {{9}, {9}},
           {{5, 7}, {7, 5}},
           {{3, 3, 3}, {3, 3, 3}},
           {{4, 4, 4}, {4, 4, 4}},
           {{2, 2, 2}, {4, 2}},  // the same graph
           {{2, 4, 4}, {4, 4, 2}},
           {{6, 4, 2}, {6, 4, 2}},
           {{8, 6, 5}, {8, 6, 5}},
           {{2, 3, 2}, {4, 3}},
       }) {
    const auto topology = build(torus({sizes}, 7));
    const auto scope = RoutingScope::make(topology).value();
    const auto grid = TorusGrid::find(scope->plane(PlaneId(0)));
    ASSERT_TRUE(grid) << text({sizes});
    EXPECT_EQ(sorted_sizes(*grid), expected);
  }
}

TEST(TorusGrid, IsRecognizedWithMissingCablesAndSwitches) {
  unsigned seen = 0, tried = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    auto sketch = torus({{6, 5, 4}}, seed);
    for (std::uint64_t n = 1 + random() % 8; n > 0; --n) {
      sketch.cables.erase(sketch.cables.begin() + static_cast<std::ptrdiff_t>(random() % sketch.cables.size()));
    }
    if (seed % 3 == 0) std::erase_if(sketch.cables, [](const auto& c) { return c.first == 7 || c.second == 7; });
    const auto scope = RoutingScope::make(build(sketch)).value();
    const auto grid = TorusGrid::find(scope->plane(PlaneId(0)));
    ++tried;
    if (!grid) continue;
    ++seen;
    EXPECT_EQ(sorted_sizes(*grid), (std::vector<unsigned>{6, 5, 4})) << seed;
    if (seed > 3) continue;  // the naive checker takes its time
    const RoutingInput input = input_of(scope->topology_ptr());
    expect_verified(input, kTorus.route(input).value(), "seed " + std::to_string(seed));
  }
  EXPECT_EQ(seen, tried);
}

TEST(TorusGrid, RecognizesNoTorusElsewhere) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    for (const bool tree : {true, false}) {
      const auto scope =
          RoutingScope::make(build(tree ? testing::random_tree(seed) : testing::random_graph(seed))).value();
      for (const PlaneId id : scope->planes()) {
        const Plane& plane = scope->plane(id);
        const auto grid = TorusGrid::find(plane);
        if (!grid) continue;  // where it sees one, every arc joins neighbours
        for (std::size_t s = 0; s < plane.switch_count(); ++s) {
          for (const Arc& arc : plane.arcs_of(s)) {
            unsigned differing = 0;
            for (unsigned d = 0; d < grid->dimensions(); ++d) {
              differing += grid->coordinate(s, d) != grid->coordinate(arc.to, d) ? 1 : 0;
            }
            EXPECT_EQ(differing, 1U);
          }
        }
      }
    }
  }
}

TEST(TorusEngine, RoutesHealthyToriMinimallyOnTwoLanes) {
  for (const TorusShape& shape : kShapes) {
    const auto topology = build(torus(shape, 11));
    const RoutingInput input = input_of(topology, {.switch_management = shape.sizes.size() == 2});
    const auto routing = kTorus.route(input);
    ASSERT_TRUE(routing) << text(shape) << ": " << routing.error().message;
    const auto naive = expect_verified(input, *routing, text(shape));
    EXPECT_EQ(naive.nonminimal, 0U) << text(shape);
    const bool long_ring = std::ranges::any_of(shape.sizes, [](unsigned size) { return size > 4; });
    EXPECT_LE(routing->lanes.used(), 2U) << text(shape);
    EXPECT_GE(naive.lanes, long_ring ? 2U : 1U) << text(shape);
    EXPECT_TRUE(routing->findings.empty()) << text(shape);
  }
}

TEST(TorusEngine, SpreadsAsEvenlyAsSymmetryAllows) {
  // Along a ring of n, n * n / 8 pairs of switches pass a link in one direction where n is even.
  const auto topology = build(torus({{8, 8}, 2}, 5));
  const RoutingInput input = input_of(topology);
  const auto naive = check_naively(input.view, kTorus.route(input).value());
  EXPECT_EQ(naive.max_host_load, 8U * 8 / 8 * 8 * 4);
}

TEST(TorusEngine, RoutesAroundFailures) {
  std::map<unsigned, unsigned> lanes;
  unsigned abandoned = 0, cases = 0;
  for (const TorusShape& shape : kShapes) {
    unsigned count = 1;
    for (const unsigned size : shape.sizes) count *= size;
    for (std::uint64_t seed = 1; seed <= (count > 40 ? 4 : 25); ++seed) {
      std::mt19937_64 random(seed);
      const auto topology = build(torus(shape, seed));
      RoutingInput input = input_of(topology);
      for (std::uint64_t n = 1 + random() % (seed % 3 == 0 ? 6 : 3); n > 0; --n) fail_at_random(input.view, random);
      const auto routing = kTorus.route(input);
      ASSERT_TRUE(routing) << text(shape);
      expect_verified(input, *routing, text(shape) + " seed " + std::to_string(seed));
      ++cases;
      ++lanes[routing->lanes.used()];
      abandoned += has_finding(*routing, "shapeAbandoned") ? 1 : 0;
    }
  }
  EXPECT_EQ(abandoned, 0U);
  for (const auto& [used, times] : lanes) std::printf("  %u lanes: %u of %u\n", used, times, cases);
}

TEST(TorusEngine, UsesTheOtherDirectionOfABrokenRingOnTwoLanes) {
  // No two of these failures are on one ring: dimension order still has a route for every pair.
  const auto topology = std::make_shared<const Topology>(
      generate("torus", {{"x", "5"}, {"y", "4"}, {"z", "4"}, {"hosts-per-switch", "1"}}).value());
  RoutingInput input = input_of(topology);
  input.max_lanes = 2;
  const auto down = [&](std::string_view a, std::string_view b) {
    for (const PortId port : topology->ports(topology->find_switch(a))) {
      const PortId peer = topology->peer(port);
      if (peer && topology->switch_of(peer) == topology->find_switch(b)) {
        input.view.set_state(topology->link(port), LinkState::down);
        return;
      }
    }
    FAIL() << a << " and " << b << " are no neighbours";
  };
  down("torus-0-0-0", "torus-1-0-0");
  down("torus-2-1-1", "torus-2-2-1");
  down("torus-3-3-3", "torus-3-3-0");
  const auto routing = kTorus.route(input).value();
  expect_verified(input, routing, "three broken rings");
  EXPECT_EQ(routing.lanes.used(), 2U);
  for (const Finding& finding : routing.findings) EXPECT_EQ(finding.code, "levelsKept") << finding.message;
}

TEST(TorusEngine, RefusesOtherShapesAndTooFewLanes) {
  RoutingInput input = input_of(build(torus({{5, 5}}, 3)));
  input.max_lanes = 1;
  EXPECT_EQ(kTorus.route(input).error().code, "routing.lanesNeeded");
  const auto tree = input_of(build(testing::random_tree(4)));
  EXPECT_EQ(kTorus.route(tree).error().code, "routing.notTheShape");
}

TEST(TorusEngine, IsVerifiedOnFewLanesWithFailures) {
  unsigned abandoned = 0;
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    std::mt19937_64 random(seed);
    RoutingInput input = input_of(build(torus({seed % 4 == 0 ? std::vector{4U, 3U, 3U} : std::vector{5U, 5U}}, seed)));
    input.max_lanes = 2 + seed % 2;
    for (std::uint64_t n = 2 + random() % 16; n > 0; --n) fail_at_random(input.view, random);
    const auto routing = kTorus.route(input).value();
    expect_verified(input, routing, "seed " + std::to_string(seed));
    abandoned += has_finding(routing, "shapeAbandoned") ? 1 : 0;
  }
  std::printf("  of 80, half of them on 2 lanes and half on 3: %u wholly up and down\n", abandoned);
  EXPECT_GT(abandoned, 0U);
}

TEST(TorusEngine, IsChosenForTori) {
  for (const char* x : {"3", "4", "5"}) {
    const auto topology =
        std::make_shared<const Topology>(generate("torus", {{"x", x}, {"y", "3"}, {"z", "2"}}).value());
    const auto choice = choose_engine(*RoutingScope::make(topology).value());
    EXPECT_EQ(choice.engine->name(), "torus-3d");
    EXPECT_NE(choice.reason.find("torus of"), std::string::npos) << choice.reason;
  }
  // With a storage network beside it: that is a tree, and is routed as one.
  const auto topology = std::make_shared<const Topology>(
      generate("torus", {{"x", "4"}, {"y", "3"}, {"z", "3"}, {"storage-servers", "4"}}).value());
  const RoutingInput input = input_of(topology);
  const auto choice = choose_engine(*input.scope);
  EXPECT_EQ(choice.engine->name(), "torus-3d");
  expect_verified(input, choice.engine->route(input).value(), "torus and storage");
}

}  // namespace
}  // namespace railweave::fabric
