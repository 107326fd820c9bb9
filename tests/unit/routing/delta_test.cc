// A delta is applied to simulated switches block by block: at no moment, with any part of a stage written, may packets
// loop, or be lost that both tables deliver, or channels wait for each other in a circle.
#include <algorithm>
#include <cstdio>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "fabric/routing/audit/transition.h"
#include "fabric/routing/delta/forwarding_delta.h"
#include "fabric/routing/engine_registry.h"
#include "fabric/routing/layered/layered_engine.h"
#include "fabric/routing/up_down/up_down_engine.h"
#include "tests/support/fat_trees.h"
#include "tests/unit/routing/naive_checker.h"
#include "tests/unit/routing/played_delta.h"
#include "tests/unit/routing/random_fabric.h"
#include "tests/unit/routing/routed.h"

namespace railweave::fabric {
namespace {

using played_delta::play;
using played_delta::Played;
using testing::build;
using testing::check_naively;
using testing::input_of;
using testing::random_graph;
using testing::random_tree;

TEST(Delta, NoLoopAndNoLossAtAnyMomentOfAReroute) {
  std::size_t entries = 0, drops = 0;
  for (std::uint64_t seed = 1; seed <= 250; ++seed) {
    const auto topology = build(seed % 3 == 0 ? random_graph(seed) : random_tree(seed));
    RoutingInput input = input_of(topology);
    const RoutingEngine& engine = *find_engine(seed % 2 == 0 ? "fat-tree" : "up-down");
    std::mt19937_64 random(seed);
    Routing routing = engine.route(input).value();
    for (int step = 0; step < 4; ++step) {
      for (std::size_t n = 1 + random() % 3; n > 0; --n) {
        const LinkId link(random() % topology->links().size());
        input.view.set_state(link, random() % 3 == 0 ? LinkState::up : LinkState::down);
        if (random() % 5 == 0) input.view.set_drained(link, !input.view.drained(link));
      }
      Routing next = engine.reroute(routing, input).value();
      const Played played =
          play(input.view, routing, next, "seed " + std::to_string(seed) + " step " + std::to_string(step));
      entries += played.entries;
      drops += played.dropped_first ? 1 : 0;
      routing = std::move(next);
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(entries, 5000U);
  RecordProperty("dropped_first", static_cast<int>(drops));
  EXPECT_LT(drops, 250U) << "hardly any reroute should have to drop first";
}

// From one engine to another: anything may change, and the mixture may deadlock.
TEST(Delta, NoLoopAndNoLossBetweenEngines) {
  std::size_t drops = 0, smooth = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const auto topology = build(random_graph(seed));
    const RoutingInput input = input_of(topology);
    const LayeredEngine layered;
    const Routing a = find_engine("up-down")->route(input).value(), b = layered.route(input).value();
    const Played there = play(input.view, a, b, "seed " + std::to_string(seed) + " there");
    const Played back = play(input.view, b, a, "seed " + std::to_string(seed) + " back");
    for (const Played& played : {there, back}) (played.dropped_first ? drops : smooth) += played.entries > 0 ? 1 : 0;
    if (HasFailure()) break;
  }
  EXPECT_GT(drops, 0U);
  EXPECT_GT(smooth, 0U);
}

// Failures on graphs that are no trees, where old and new routes may deadlock together: what is lost is what was lost
// before, and packets are dropped for hardly any entry.
TEST(Delta, HolesAreNoLargerThanWhatTheFailureMade) {
  std::size_t repaired_at_once = 0, broken = 0, dropped = 0, entries = 0, waits = 0, would_drop = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const auto topology = build(random_graph(seed));
    RoutingInput input = input_of(topology);
    const RoutingEngine& engine = *find_engine("up-down");
    std::mt19937_64 random(seed);
    Routing routing = engine.route(input).value();
    for (int step = 0; step < 3; ++step) {
      const LinkId link(random() % topology->links().size());
      input.view.set_state(link, random() % 3 == 0 ? LinkState::up : LinkState::down);
      Routing next = engine.reroute(routing, input).value();
      Routing before = routing;
      before.orders.clear();  // as tables that were read from switches
      const Played played =
          play(input.view, before, next, "seed " + std::to_string(seed) + " step " + std::to_string(step));
      EXPECT_LE(played.lost_after_first, played.lost_before + played.dropped);
      broken += played.lost_before;
      repaired_at_once += played.lost_before - std::min(played.lost_before, played.lost_after_first);
      dropped += played.dropped;
      const RoutingScope& scope = next.tables.scope();
      const bool could_deadlock = std::ranges::any_of(scope.planes(), [&](PlaneId id) {
        return !next.tables.shares_plane(before.tables, id) && may_deadlock_between(input.view, id, before, next);
      });
      if (could_deadlock) would_drop += played.entries;
      entries += played.entries;
      waits += played.waits;
      routing = std::move(next);
    }
    if (HasFailure()) break;
  }
  std::printf(
      "%zu entries changed, %zu dropped for a moment of %zu that could deadlock, %zu waits; of %zu lost %zu back "
      "before any wait\n",
      entries, dropped, would_drop, waits, broken, repaired_at_once);
  EXPECT_GT(broken, 500U);
  EXPECT_GT(would_drop, 300U);
  EXPECT_LT(dropped * 10, would_drop);
  EXPECT_GT(repaired_at_once * 10, broken * 8);
}

// What is written ahead of another subnet manager: nothing that works changes, nothing is dropped, no wait.
TEST(Delta, OnlyBrokenDestinationsAndNothingUnproven) {
  std::size_t broken = 0, repaired = 0, left_out = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const auto topology = build(seed % 2 == 0 ? random_graph(seed) : random_tree(seed));
    RoutingInput input = input_of(topology);
    const LayeredEngine layered;
    const RoutingEngine& engine = seed % 5 == 0 ? static_cast<const RoutingEngine&>(layered) : *find_engine("up-down");
    std::mt19937_64 random(seed);
    const Routing before = engine.route(input).value();
    for (std::size_t n = 1 + random() % 2; n > 0; --n) {
      input.view.set_state(LinkId(random() % topology->links().size()), LinkState::down);
    }
    const Routing after = engine.reroute(before, input).value();
    DeltaOptions options;
    options.only_broken = options.lanes_stay = true;
    options.may_drop = false;
    options.most_waits = 0;
    const Played played = play(input.view, before, after, "seed " + std::to_string(seed), options);
    EXPECT_EQ(played.waits + played.dropped, 0U);
    EXPECT_LE(played.lost_after_first, played.lost_before) << seed;
    broken += played.lost_before;
    repaired += played.lost_before - std::min(played.lost_before, played.lost_after_first);
    left_out += played.left_out;
    if (played.lost_before == 0) {
      EXPECT_EQ(played.blocks, 0U) << "nothing was broken";
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(broken, 500U);
  EXPECT_GT(repaired * 10, broken * 8);
  EXPECT_GT(left_out, 0U);
}

TEST(Delta, TheFirstHoldsEveryEntryOnce) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const TopologyPtr topology = build(random_tree(seed));
    const RoutingInput input{.view = FabricView(topology), .scope = RoutingScope::make(topology).value()};
    const Routing routing = choose_engine(*input.scope).engine->route(input).value();
    const ForwardingDelta delta = first_delta(routing);
    EXPECT_EQ(delta.stages, 1);
    EXPECT_FALSE(delta.drops_first);
    std::map<std::pair<SwitchId, std::uint16_t>, const LftBlock*> blocks;
    for (const LftBlock& block : delta.blocks) {
      EXPECT_TRUE(blocks.emplace(std::pair(block.sw, block.number), &block).second) << "written twice";
    }
    std::size_t entries = 0;
    for (const SwitchId sw : topology->switches()) {
      for (const DestinationId d : input.scope->destinations()) {
        const std::uint16_t port = routing.tables.out_port(sw, d);
        const Lid lid = input.scope->lid(d);
        if (input.scope->plane_of(sw) != input.scope->plane_of(d)) continue;
        entries += port == kNoPort ? 0 : 1;
        const auto block = blocks.find({sw, static_cast<std::uint16_t>(lid / kLidsPerBlock)});
        ASSERT_NE(block, blocks.end());
        ASSERT_EQ(block->second->ports[lid % kLidsPerBlock], port);
      }
    }
    EXPECT_EQ(delta.changed_entries, entries);
  }
}

TEST(Delta, OneCableOfAFatTreeTouchesFewBlocks) {
  const auto topology = testing::make_fat_tree(testing::tree_of_648());
  RoutingInput input = input_of(topology);
  const RoutingEngine& engine = *find_engine("fat-tree");
  const Routing before = engine.route(input).value();
  for (const LinkId link : topology->links()) {
    if (!topology->joins_switches(link)) continue;
    input.view.set_state(link, LinkState::down);
    break;
  }
  const Routing after = engine.reroute(before, input).value();
  const ForwardingDelta delta = compute_delta(input.view, before, after);
  EXPECT_FALSE(delta.drops_first);
  EXPECT_EQ(delta.changed_entries, after.changed_entries);
  // A leaf's uplink: a sixth of its 642 destinations, and the 6 hosts of the leaf, whose traffic came down by it.
  EXPECT_LE(delta.changed_entries, 642 / 6 + 1 + 6 * (6 * 18 + 1));
}

TEST(Delta, BlocksOfRunningJobsGoFirst) {
  const auto topology = testing::make_fat_tree(testing::tree_of_648());
  RoutingInput input = input_of(topology);
  const RoutingEngine& engine = *find_engine("fat-tree");
  const Routing before = engine.route(input).value();
  for (std::size_t i = 700; i < 760; i += 7) input.view.set_state(LinkId(i), LinkState::down);
  const Routing after = engine.reroute(before, input).value();
  DeltaOptions options;
  options.urgent.assign(input.scope->destinations().size(), 0);
  for (const DestinationId id : input.scope->destinations()) options.urgent[id.index()] = id.index() % 100 == 0 ? 1 : 0;
  const ForwardingDelta delta = compute_delta(input.view, before, after, options);
  // Within a stage, blocks with urgent changes come first.
  std::size_t urgent = 0;
  std::map<std::uint16_t, bool> calm_seen;
  for (const LftBlock& block : delta.blocks) {
    if (block.urgent) {
      ++urgent;
      EXPECT_FALSE(calm_seen[block.stage]) << "an urgent block after one that is not";
    } else {
      calm_seen[block.stage] = true;
    }
  }
  EXPECT_GT(urgent, 0U);
}

}  // namespace
}  // namespace railweave::fabric
