#include "fabric/routing/dragonfly/dragonfly_engine.h"

#include <cstdio>
#include <deque>
#include <map>
#include <random>

#include "fabric/generate/generate.h"
#include "fabric/routing/dragonfly/dragonfly_groups.h"
#include "tests/unit/routing/shape_checks.h"
#include "tests/unit/routing/shaped_fabrics.h"

namespace railweave::fabric {
namespace {

using testing::build;
using testing::dragonfly;
using testing::DragonflyShape;
using testing::expect_verified;
using testing::fail_at_random;
using testing::has_finding;
using testing::input_of;

const DragonflyEngine kDragonfly;

const std::vector<DragonflyShape> kMeshes{
    {.switches = 3, .hosts = 1, .groups = 4},
    {.switches = 4, .hosts = 2, .groups = 5},
    {.switches = 4, .hosts = 2, .groups = 9},
    {.switches = 5, .hosts = 1, .groups = 3, .per_pair = 2},
    {.switches = 6, .hosts = 1, .groups = 2, .per_pair = 3},
    {.switches = 4, .hosts = 1, .groups = 7, .per_pair = 2},
    {.switches = 6, .hosts = 2, .groups = 1},
};
const std::vector<DragonflyShape> kPlus{
    {.switches = 2, .spines = 2, .hosts = 2, .groups = 3},
    {.switches = 4, .spines = 4, .hosts = 2, .groups = 5},
    {.switches = 3, .spines = 2, .hosts = 2, .groups = 9},
    {.switches = 4, .spines = 3, .hosts = 1, .groups = 4, .per_pair = 3},
    {.switches = 5, .spines = 4, .hosts = 1, .groups = 2, .per_pair = 4},
};

std::string text(const DragonflyShape& s) {
  return "a " + std::to_string(s.switches) + "+" + std::to_string(s.spines) + " g " + std::to_string(s.groups) +
         " links " + std::to_string(s.per_pair);
}

// The fewest links between groups, then the fewest links: breadth first over (switch, number of links between groups).
class Oracle {
 public:
  Oracle(const FabricView& view, const std::vector<unsigned>& group) : view_(view) {
    const Topology& t = view.topology();
    for (unsigned i = 0; i < group.size(); ++i) group_[t.find_switch("sw-" + std::to_string(i))] = group[i];
  }
  // (links between groups, links)
  std::pair<unsigned, unsigned> fewest(SwitchId from, SwitchId to) const {
    const Topology& t = view_.topology();
    std::deque<std::pair<SwitchId, unsigned>> queue{{from, 0}};  // plain 0-1 search on links between groups, twice
    std::map<std::pair<SwitchId, unsigned>, unsigned> links{{{from, 0}, 0}};
    std::pair<unsigned, unsigned> best{UINT32_MAX, UINT32_MAX};
    while (!queue.empty()) {
      const auto state = queue.front();
      queue.pop_front();
      const auto [sw, globals] = state;
      const unsigned here = links[state];
      if (sw == to) best = std::min(best, {globals, here});
      if (globals > 4) continue;
      for (const PortId port : t.ports(sw)) {
        const PortId peer = t.peer(port);
        const SwitchId next = peer ? t.switch_of(peer) : SwitchId();
        if (!next || !view_.carries_transit(t.link(port))) continue;
        const unsigned then = globals + (group_.at(sw) == group_.at(next) ? 0 : 1);
        if (!links.try_emplace({next, then}, here + 1).second) continue;
        queue.emplace_back(next, then);
      }
    }
    return best;
  }

 private:
  const FabricView& view_;
  std::map<SwitchId, unsigned> group_;
};

TEST(DragonflyGroups, AreRecognizedFromCablesAlone) {
  for (const auto* shapes : {&kMeshes, &kPlus}) {
    for (const DragonflyShape& shape : *shapes) {
      for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        std::vector<unsigned> group;
        const auto topology = build(dragonfly(shape, seed, &group));
        const auto scope = RoutingScope::make(topology).value();
        const Plane& plane = scope->plane(PlaneId(0));
        const auto found = DragonflyGroups::find(*topology, plane);
        ASSERT_TRUE(found) << text(shape);
        EXPECT_EQ(found->plus, shape.spines > 0) << text(shape);
        ASSERT_EQ(found->groups, shape.groups) << text(shape);
        std::map<unsigned, unsigned> names;
        for (unsigned i = 0; i < group.size(); ++i) {
          const auto sw = scope->local(topology->find_switch("sw-" + std::to_string(i)));
          EXPECT_EQ(names.try_emplace(group[i], found->group[sw]).first->second, found->group[sw]) << text(shape);
        }
      }
    }
  }
}

TEST(DragonflyGroups, AreRecognizedWithMissingCables) {
  unsigned seen = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    std::mt19937_64 random(seed);
    const bool plus = seed % 2 == 0;
    auto sketch = dragonfly(plus ? DragonflyShape{.switches = 6, .spines = 6, .groups = 7}
                                 : DragonflyShape{.switches = 6, .hosts = 1, .groups = 7},
                            seed);
    for (std::uint64_t n = 1 + random() % 6; n > 0; --n) {
      sketch.cables.erase(sketch.cables.begin() + static_cast<std::ptrdiff_t>(random() % sketch.cables.size()));
    }
    const auto topology = build(sketch);
    const auto scope = RoutingScope::make(topology).value();
    const auto found = DragonflyGroups::find(*topology, scope->plane(PlaneId(0)));
    seen += found && found->groups == 7 && found->plus == plus ? 1 : 0;
  }
  EXPECT_EQ(seen, 100U);
}

TEST(DragonflyEngine, RoutesHealthyOnesMinimallyOnFewLanes) {
  for (const auto* shapes : {&kMeshes, &kPlus}) {
    for (const DragonflyShape& shape : *shapes) {
      std::vector<unsigned> group;
      const auto topology = build(dragonfly(shape, 3, &group));
      const RoutingInput input = input_of(topology);
      const auto routing = kDragonfly.route(input);
      ASSERT_TRUE(routing) << text(shape) << ": " << routing.error().message;
      const auto naive = expect_verified(input, *routing, text(shape));
      EXPECT_EQ(routing->lanes.used(), shape.spines > 0 || shape.groups == 1 ? 1U : 2U) << text(shape);
      EXPECT_TRUE(routing->findings.empty()) << text(shape);
      EXPECT_LE(naive.longest, 3U) << text(shape);
      const Oracle oracle(input.view, group);
      ASSERT_FALSE(naive.route_length.empty()) << text(shape);
      for (const auto& [ends, length] : naive.route_length) {
        EXPECT_EQ(length, oracle.fewest(ends.first, ends.second).second) << text(shape);
      }
    }
  }
}

TEST(DragonflyEngine, RoutesAroundFailuresMinimally) {
  std::map<unsigned, unsigned> mesh_lanes, plus_lanes;
  unsigned cases = 0, minimal = 0;
  for (const auto* shapes : {&kMeshes, &kPlus}) {
    for (const DragonflyShape& shape : *shapes) {
      for (std::uint64_t seed = 1; seed <= 16; ++seed) {
        std::mt19937_64 random(seed);
        std::vector<unsigned> group;
        const auto topology = build(dragonfly(shape, seed, &group));
        RoutingInput input = input_of(topology, {.switch_management = seed % 4 == 0});
        const bool drains = seed % 2 == 0;
        for (std::uint64_t n = 1 + random() % 5; n > 0; --n) {
          if (drains) {
            fail_at_random(input.view, random);
          } else {
            input.view.set_state(LinkId(random() % topology->links().size()), LinkState::down);
          }
        }
        const auto routing = kDragonfly.route(input);
        ASSERT_TRUE(routing) << text(shape);
        const auto naive = expect_verified(input, *routing, text(shape) + " seed " + std::to_string(seed));
        ++cases;
        ++(shape.spines > 0 ? plus_lanes : mesh_lanes)[routing->lanes.used()];
        EXPECT_FALSE(has_finding(*routing, "shapeAbandoned"));
        // On the levels as cabled a detour may have to be longer.
        if (drains || has_finding(*routing, "levelsKept")) continue;
        ++minimal;
        const Oracle oracle(input.view, group);
        ASSERT_FALSE(naive.route_length.empty()) << text(shape);
        for (const auto& [ends, length] : naive.route_length) {
          EXPECT_EQ(length, oracle.fewest(ends.first, ends.second).second) << text(shape) << " seed " << seed;
        }
      }
    }
  }
  EXPECT_GT(minimal, 0U);
  std::printf("  minimal where nothing was drained: %u of %u\n", minimal, cases);
  for (const auto& [used, times] : mesh_lanes) std::printf("  dragonfly, %u lanes: %u\n", used, times);
  for (const auto& [used, times] : plus_lanes) std::printf("  dragonfly+, %u lanes: %u\n", used, times);
}

TEST(DragonflyEngine, PassesAThirdGroupWhereTwoAreDisconnected) {
  for (const DragonflyShape& shape : {kMeshes[1], kPlus[1]}) {
    std::vector<unsigned> group;
    const auto topology = build(dragonfly(shape, 9, &group));
    RoutingInput input = input_of(topology);
    const auto group_of = [&](PortId port) {
      return group[std::stoul(std::string(topology->name(topology->switch_of(port))).substr(3))];
    };
    for (const LinkId link : topology->links()) {
      if (!topology->joins_switches(link)) continue;
      if (group_of(topology->a(link)) + group_of(topology->b(link)) != 1) continue;  // 0 and 1
      if (group_of(topology->a(link)) != group_of(topology->b(link))) input.view.set_state(link, LinkState::down);
    }
    const auto routing = kDragonfly.route(input).value();
    const auto naive = expect_verified(input, routing, text(shape));
    EXPECT_GT(naive.nonminimal + naive.longest, 3U);
    EXPECT_TRUE(has_finding(routing, "detours") || has_finding(routing, "levelsKept"));
    EXPECT_LE(routing.lanes.used(), 3U);
  }
}

TEST(DragonflyEngine, IsVerifiedOnAnyNumberOfLanes) {
  std::map<bool, unsigned> abandoned, up_and_down;  // by whether it is a dragonfly+
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    std::mt19937_64 random(seed);
    const bool plus = seed % 2 == 0;
    RoutingInput input =
        input_of(build(dragonfly(plus ? kPlus[2] : DragonflyShape{.switches = 3, .hosts = 1, .groups = 7}, seed)));
    input.max_lanes = (plus ? 1 : 2) + static_cast<unsigned>(seed / 2 % 2);
    for (std::uint64_t n = 4 + random() % 20; n > 0; --n) fail_at_random(input.view, random);
    const auto routing = kDragonfly.route(input).value();
    expect_verified(input, routing, "seed " + std::to_string(seed));
    abandoned[plus] += has_finding(routing, "shapeAbandoned") ? 1 : 0;
    for (const Finding& finding : routing.findings) {
      up_and_down[plus] +=
          finding.code == "detours" && finding.message.find(" and 0 dest") == std::string::npos ? 1 : 0;
    }
  }
  for (const bool plus : {false, true}) {
    std::printf(
        "  of 50 %s on %u or %u lanes: %u wholly up and down, %u with some destinations on a lane of their own\n",
        plus ? "dragonfly+" : "dragonflies", plus ? 1U : 2U, plus ? 2U : 3U, abandoned[plus], up_and_down[plus]);
  }
  EXPECT_GT(abandoned[true], 0U);
  EXPECT_GT(up_and_down[true], 0U);
}

TEST(DragonflyEngine, RefusesOtherShapesAndTooFewLanes) {
  RoutingInput input = input_of(build(dragonfly(kMeshes[1], 3)));
  input.max_lanes = 1;
  EXPECT_EQ(kDragonfly.route(input).error().code, "routing.lanesNeeded");
  const auto tree = input_of(build(testing::random_tree(4)));
  EXPECT_EQ(kDragonfly.route(tree).error().code, "routing.notTheShape");
}

TEST(EngineChoice, PicksTheEngineMadeForTheShape) {
  const std::vector<std::tuple<std::string, GenerateParameters, std::string>> expected{
      {"fat-tree", {{"arity", "8"}, {"tiers", "2"}}, "fat-tree"},
      {"fat-tree", {{"arity", "4"}, {"tiers", "3"}}, "fat-tree"},
      {"rail-optimized", {{"hosts", "16"}, {"rails", "4"}, {"radix", "16"}}, "fat-tree"},
      {"dragonfly", {}, "dragonfly"},
      {"dragonfly", {{"switches-per-group", "2"}, {"global-links", "2"}}, "dragonfly"},
      {"dragonfly", {{"switches-per-group", "8"}, {"groups", "5"}}, "dragonfly"},
      {"dragonfly", {{"hosts", "50"}}, "dragonfly"},
      {"dragonfly-plus", {}, "dragonfly"},
      {"dragonfly-plus", {{"leaves-per-group", "6"}, {"spines-per-group", "3"}, {"groups", "7"}}, "dragonfly"},
      {"dragonfly-plus", {{"hosts", "75"}}, "dragonfly"},
      {"torus", {}, "torus-3d"},
      {"torus", {{"x", "6"}, {"y", "1"}, {"z", "1"}}, "torus-3d"},
      {"torus", {{"x", "2"}, {"y", "2"}, {"z", "3"}}, "torus-3d"},
  };
  for (const auto& [kind, parameters, engine] : expected) {
    GenerateParameters all = parameters;
    if (kind != "rail-optimized") all.try_emplace("nics-per-host", "1");
    auto generated = generate(kind, all);
    ASSERT_TRUE(generated) << kind << ": " << generated.error().message;
    const auto topology = std::make_shared<const Topology>(*std::move(generated));
    const RoutingInput input = input_of(topology);
    const auto choice = choose_engine(*input.scope);
    std::string what = kind;
    for (const auto& [key, value] : parameters) what += " " + key + "=" + value;
    EXPECT_EQ(choice.engine->name(), engine) << what << ": " << choice.reason;
    EXPECT_FALSE(choice.reason.empty());
    const auto routing = choice.engine->route(input);
    ASSERT_TRUE(routing) << what;
    EXPECT_TRUE(audit(input.view, routing->tables, routing->lanes).verified()) << what;
    std::printf("  %s: %s, %s\n", what.c_str(), std::string(choice.engine->name()).c_str(), choice.reason.c_str());
  }
}

TEST(EngineChoice, IsVerifiedOnAnyFabricWithFailures) {
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    for (const bool tree : {true, false}) {
      std::mt19937_64 random(seed);
      RoutingInput input = input_of(build(tree ? testing::random_tree(seed) : testing::random_graph(seed)));
      const auto choice = choose_engine(*input.scope);
      for (std::uint64_t n = random() % 4; n > 0; --n) fail_at_random(input.view, random);
      const auto routing = choice.engine->route(input);
      ASSERT_TRUE(routing);
      expect_verified(input, *routing, std::string(choice.engine->name()) + " seed " + std::to_string(seed));
    }
  }
}

}  // namespace
}  // namespace railweave::fabric
