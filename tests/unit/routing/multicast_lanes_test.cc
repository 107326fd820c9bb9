// Multicast beside unicast on several lanes, against packets of both that are followed hop by hop: what waits for what closes no
// circle, which it does with trees that are not proven.
#include "fabric/routing/levels/multicast_lanes.h"

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/routing/engine_registry.h"
#include "tests/support/seeds.h"
#include "tests/unit/routing/random_fabric.h"
#include "tests/unit/routing/routed.h"
#include "tests/unit/routing/shaped_fabrics.h"

namespace railweave::fabric::multicast_lanes_test {
namespace {

using testing::build;
using testing::FabricSketch;
using testing::input_of;

using Channel = std::pair<std::uint32_t, unsigned>;  // arc, lane
using Waits = std::map<Channel, std::set<Channel>>;

void follow_unicast(const Plane& plane, const PlaneTables& tables, const PlaneLanes& lanes, Waits& waits) {
  for (std::size_t h = 0; h < plane.homes.size(); ++h) {
    for (std::uint32_t d = 0; d < plane.destination_count() && plane.homes[h].end_ports > 0; ++d) {
      const unsigned level = lanes.level(h, d, plane.destination_count());
      Channel last{Plane::kNone, 0};
      for (std::uint32_t s = plane.homes[h].sw; s != plane.homes[plane.destination_home[d]].sw;) {
        const std::uint32_t a = plane.find_arc(s, tables.at(s, d));
        if (a == Plane::kNone) break;
        const std::uint32_t in = last.first == Plane::kNone ? PlaneLanes::kFromEndPort : last.first;
        const Channel now{a, lanes.lane(in, a, level)};
        if (last.first != Plane::kNone) waits[last].insert(now);
        last = now;
        s = plane.arcs[a].to;
      }
    }
  }
}

// From every switch, over every cable of the tree but the one that the packet came by.
void flood(const Plane& plane, const PlaneLanes& lanes, const std::vector<std::uint8_t>& in_tree, unsigned level,
           Waits& waits) {
  for (std::uint32_t from = 0; from < plane.switch_count(); ++from) {
    std::vector<std::pair<std::uint32_t, Channel>> arriving{{from, {Plane::kNone, 0}}};
    for (std::size_t i = 0; i < arriving.size(); ++i) {
      ASSERT_LE(i, plane.switch_count()) << "goes round";
      const auto [s, last] = arriving[i];
      for (std::uint32_t a = plane.first_arc[s]; a < plane.first_arc[s + 1]; ++a) {
        if (in_tree[a] == 0 || (last.first != Plane::kNone && plane.arcs[last.first].reverse == a)) continue;
        const std::uint32_t in = last.first == Plane::kNone ? PlaneLanes::kFromEndPort : last.first;
        const Channel now{a, lanes.lane(in, a, level)};
        if (last.first != Plane::kNone) waits[last].insert(now);
        arriving.emplace_back(plane.arcs[a].to, now);
      }
    }
  }
}

bool has_circle(const Waits& waits) {
  std::map<Channel, int> state;  // 1: on the way, 2: done
  std::function<bool(const Channel&)> visit = [&](const Channel& at) {
    int& here = state[at];
    if (here != 0) return here == 1;
    here = 1;
    if (const auto next = waits.find(at); next != waits.end()) {
      for (const Channel& to : next->second) {
        if (visit(to)) return true;
      }
    }
    state[at] = 2;
    return false;
  };
  return std::ranges::any_of(waits, [&](const auto& entry) { return visit(entry.first); });
}

// The first cables that join anything, from a switch on.
std::vector<std::uint8_t> plain_tree(const Plane& plane, const std::vector<std::uint8_t>& usable, std::uint32_t root) {
  std::vector<std::uint8_t> in_tree(plane.arcs.size(), 0), seen(plane.switch_count(), 0);
  std::vector<std::uint32_t> queue{root};
  seen[root] = 1;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (std::uint32_t a = plane.first_arc[queue[i]]; a < plane.first_arc[queue[i] + 1]; ++a) {
      const std::uint32_t to = plane.arcs[a].to;
      if (usable[a] == 0 || seen[to] != 0) continue;
      seen[to] = in_tree[a] = in_tree[plane.arcs[a].reverse] = 1;
      queue.push_back(to);
    }
  }
  return in_tree;
}

struct Shape {
  const char* name;
  const char* engine;
  FabricSketch sketch;
};

std::vector<Shape> shapes(std::uint64_t seed) {
  return {{"torus 4x4", "torus-3d", testing::torus({.sizes = {4, 4}, .hosts = 2}, seed)},
          {"torus 4x3x3", "torus-3d", testing::torus({.sizes = {4, 3, 3}, .hosts = 1}, seed)},
          {"torus 5x5", "torus-3d", testing::torus({.sizes = {5, 5}, .hosts = 1}, seed)},
          {"torus 6", "torus-3d", testing::torus({.sizes = {6, 3}, .hosts = 1}, seed)},
          {"dragonfly", "dragonfly", testing::dragonfly({.switches = 4, .hosts = 2, .groups = 5}, seed)},
          {"dragonfly of pairs", "dragonfly",
           testing::dragonfly({.switches = 4, .hosts = 1, .groups = 5, .per_pair = 2}, seed)},
          {"random graph", "layered", testing::random_graph(seed)}};
}

TEST(MulticastLanes, NoCircleWithAllUnicastPathsWhateverFails) {
  std::size_t whole = 0, partly = 0, all_levels = 0, plain_circles = 0;
  for (std::uint64_t seed = 1; seed <= part_of_seeds(210); ++seed) {
    const auto all = shapes(seed);
    const Shape& shape = all[seed % all.size()];
    RoutingInput input = input_of(build(shape.sketch));
    std::mt19937_64 random(seed);
    for (const LinkId link : input.view.topology().links()) {
      if (seed % 2 == 0 && input.view.topology().joins_switches(link) && random() % 25 == 0)
        input.view.set_state(link, LinkState::down);
    }
    const auto routing = find_engine(shape.engine)->route(input);
    if (!routing) continue;
    for (const PlaneId id : input.scope->planes()) {
      const Plane& plane = input.scope->plane(id);
      const PlaneLanes& lanes = routing->lanes.planes[id.index()];
      if (lanes.single()) continue;
      std::vector<std::uint8_t> usable;
      for (const Arc& arc : plane.arcs) usable.push_back(input.view.carries_transit(arc.link) ? 2 : 0);
      const MulticastLanes proven = prove_multicast(plane, routing->tables.plane(id), lanes, usable);
      Waits unicast;
      follow_unicast(plane, routing->tables.plane(id), lanes, unicast);
      ASSERT_FALSE(has_circle(unicast));
      Waits waits = unicast;
      for (unsigned level = 0; level < lanes.levels; ++level) {
        if ((proven.levels >> level & 1U) != 0) flood(plane, lanes, proven.in_tree, level, waits);
      }
      const std::string what = std::string(shape.name) + " seed " + std::to_string(seed);
      ASSERT_FALSE(has_circle(waits)) << what;
      for (std::uint32_t a = 0; a < plane.arcs.size(); ++a) ASSERT_LE(proven.in_tree[a], usable[a]) << what;
      const auto cables = static_cast<std::size_t>(std::ranges::count(proven.in_tree, 1)) / 2;
      if (seed % 2 == 1) {
        ASSERT_EQ(cables + 1 + proven.left_out, plane.switch_count()) << what;
      }
      (proven.left_out == 0 ? whole : partly) += 1;
      all_levels += proven.levels == (1U << lanes.levels) - 1 ? 1 : 0;
      Waits plain = unicast;
      flood(plane, lanes, plain_tree(plane, usable, static_cast<std::uint32_t>(random() % plane.switch_count())), 0,
            plain);
      plain_circles += has_circle(plain) ? 1 : 0;
    }
  }
  RecordProperty("whole", static_cast<int>(whole));
  EXPECT_GT(whole, 4 * partly);
  EXPECT_GT(all_levels, whole / 2);
  EXPECT_GT(plain_circles, whole / 8);
}

// What is read of switches that were reset in part, or written by others, may be anything.
TEST(MulticastLanes, NothingIsProvenBesideTablesThatCloseACircle) {
  const RoutingInput input = input_of(build(testing::torus({.sizes = {4, 4}, .hosts = 1}, 3)));
  const Routing routing = find_engine("torus-3d")->route(input).value();
  const PlaneId id(0);
  const Plane& plane = input.scope->plane(id);
  const std::vector<std::uint8_t> usable(plane.arcs.size(), 2);
  std::mt19937_64 random(1);
  PlaneTables tables = routing.tables.plane(id);
  {
    PlaneTables::Editor editor(tables);
    for (std::uint32_t s = 0; s < plane.switch_count(); ++s) {
      const auto arcs = plane.arcs_of(s);
      for (std::uint32_t d = 0; d < plane.destination_count(); ++d) editor.set(s, d, arcs[random() % arcs.size()].port);
    }
  }
  const MulticastLanes proven = prove_multicast(plane, tables, routing.lanes.planes[0], usable);
  EXPECT_TRUE(std::ranges::all_of(proven.in_tree, [](std::uint8_t is_in) { return is_in == 0; }));
  EXPECT_EQ(proven.left_out, plane.switch_count());
}

}  // namespace
}  // namespace railweave::fabric::multicast_lanes_test
