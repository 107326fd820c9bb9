// After failures every path keeps the service level that it has as cabled, so that senders which were told nothing close no
// credit loop: old levels on new tables, and every sequence of failures, on every lane.
#include <algorithm>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "fabric/routing/audit/audit.h"
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
using testing::check_naively;
using testing::FabricSketch;
using testing::has_finding;
using testing::input_of;

// Every two switches of a row or a column are joined.
FabricSketch hyperx(unsigned rows, unsigned columns, unsigned hosts, std::uint64_t seed) {
  FabricSketch sketch;
  sketch.guid_seed = seed;
  sketch.switches.assign(std::size_t{rows} * columns, {hosts, 0});
  for (unsigned a = 0; a < rows * columns; ++a) {
    for (unsigned b = a + 1; b < rows * columns; ++b) {
      if (a / columns == b / columns || a % columns == b % columns) sketch.cables.emplace_back(a, b);
    }
  }
  return sketch;
}

// A random graph in which every switch has as many cables.
FabricSketch jellyfish(unsigned switches, unsigned degree, unsigned hosts, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  FabricSketch sketch;
  sketch.guid_seed = seed;
  sketch.switches.assign(switches, {hosts, 0});
  std::set<std::pair<unsigned, unsigned>> joined;
  std::vector<unsigned> stubs;
  for (unsigned i = 0; i < switches * degree; ++i) stubs.push_back(i % switches);
  std::shuffle(stubs.begin(), stubs.end(), random);
  for (std::size_t i = 0; i + 1 < stubs.size(); i += 2) {
    const auto pair = std::pair(std::minmax(stubs[i], stubs[i + 1]));
    if (pair.first != pair.second && joined.insert(pair).second) sketch.cables.emplace_back(pair);
  }
  return sketch;
}

void remove_at_random(FabricSketch& sketch, unsigned count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (unsigned i = 0; i < count; ++i) {
    sketch.cables.erase(sketch.cables.begin() + static_cast<std::ptrdiff_t>(random() % sketch.cables.size()));
  }
}

struct Named {
  const char* name;
  const char* engine;
  FabricSketch sketch;
};

std::vector<Named> fabrics() {
  std::vector<Named> made{
      {"hyperx", "layered", hyperx(4, 5, 2, 7)},
      {"jellyfish", "layered", jellyfish(24, 6, 2, 11)},
      {"dragonfly", "dragonfly", testing::dragonfly({.switches = 4, .hosts = 2, .groups = 5}, 3)},
      {"torus", "torus-3d", testing::torus({.sizes = {4, 4, 2}, .hosts = 2}, 5)},
      {"torus with holes", "torus-3d", testing::torus({.sizes = {5, 5}, .hosts = 2}, 9)},
      {"dragonfly with missing links", "dragonfly",
       testing::dragonfly({.switches = 4, .hosts = 2, .groups = 5, .per_pair = 2}, 13)},
  };
  remove_at_random(made[4].sketch, 3, 4);
  remove_at_random(made[5].sketch, 4, 6);
  return made;
}

// What senders do that keep the level which they have: levels of one routing, tables and maps of another.
Routing with_levels_of(const Routing& routing, const Routing& levels) {
  Routing mixed = routing;
  for (std::size_t i = 0; i < mixed.lanes.planes.size(); ++i) {
    mixed.lanes.planes[i].path_level = levels.lanes.planes[i].path_level;
  }
  return mixed;
}

void expect_valid(const RoutingInput& input, const Routing& routing, const std::string& what) {
  const auto naive = check_naively(input.view, routing);
  EXPECT_EQ(naive.failed, 0U) << what << ": " << naive.text();
  EXPECT_FALSE(naive.credit_loop) << what;
  EXPECT_EQ(audit(input.view, routing.tables, routing.lanes, {.shift_samples = 0}).credit_loops, 0U) << what;
}

TEST(KeptLevels, AfterAnyOneFailureOldLevelsAreValidOnNewTables) {
  for (const Named& fabric : fabrics()) {
    const RoutingInput input = input_of(build(fabric.sketch));
    const RoutingEngine& engine = *find_engine(fabric.engine);
    const auto healthy = engine.route(input);
    ASSERT_TRUE(healthy) << fabric.name << ": " << healthy.error().text();
    EXPECT_GT(healthy->lanes.used(), 1U) << fabric.name;
    expect_valid(input, *healthy, fabric.name);
    std::size_t tried = 0;
    for (const LinkId link : input.view.topology().links()) {
      if (!input.view.topology().joins_switches(link) || tried == 60) continue;
      ++tried;
      RoutingInput cut = input;
      cut.view.set_state(link, LinkState::down);
      const Routing after = engine.reroute(*healthy, cut).value();
      const std::string what = std::string(fabric.name) + " without " + input.view.topology().link_text(link);
      EXPECT_FALSE(has_finding(after, "levelsChanged")) << what;
      EXPECT_TRUE(after.lanes.planes == healthy->lanes.planes) << what;
      expect_valid(cut, after, what);
      expect_valid(cut, with_levels_of(after, *healthy), what + ", old levels");
    }
  }
}

TEST(KeptLevels, AnySequenceOfFailuresKeepsThemOrSaysSo) {
  std::size_t kept = 0, changed = 0;
  for (std::uint64_t seed = 1; seed <= part_of_seeds(40); ++seed) {
    const auto all = fabrics();
    const Named& fabric = all[seed % all.size()];
    RoutingInput input = input_of(build(fabric.sketch));
    const RoutingEngine& engine = *find_engine(fabric.engine);
    const Routing healthy = engine.route(input).value();
    std::mt19937_64 random(seed);
    Routing routing = healthy;
    for (unsigned step = 0; step < 6; ++step) {
      const std::string what =
          std::string(fabric.name) + " seed " + std::to_string(seed) + " step " + std::to_string(step);
      testing::fail_at_random(input.view, random);
      if (random() % 3 == 0)
        input.view.set_state(LinkId(random() % input.view.topology().links().size()), LinkState::up);
      const Routing after = engine.reroute(routing, input).value();
      const Routing again = engine.route(input).value();
      EXPECT_TRUE(after.tables == again.tables && after.lanes.planes == again.lanes.planes) << what;
      expect_valid(input, after, what);
      const bool is_kept = !has_finding(after, "levelsChanged");
      (is_kept ? kept : changed) += 1;
      if (is_kept) {
        EXPECT_TRUE(after.lanes.planes == healthy.lanes.planes) << what;
        if (!has_finding(routing, "levelsChanged"))
          expect_valid(input, with_levels_of(after, routing), what + ", old levels");
      }
      routing = after;
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(kept, 20 * changed) << "levels changed " << changed << " times";
}

}  // namespace
}  // namespace railweave::fabric
