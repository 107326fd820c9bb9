#include <cmath>
#include <map>
#include <random>
#include <set>

#include "fabric/generate/generate.h"
#include "fabric/routing/multipath/hash_collisions.h"
#include "fabric/routing/multipath/path_sets.h"
#include "fabric/routing/multipath/path_sets_audit.h"
#include "tests/unit/routing/shape_checks.h"
#include "tests/unit/routing/shaped_fabrics.h"

namespace railweave::fabric {
namespace {

using testing::build;
using testing::fail_at_random;
using testing::input_of;

Routing route_with(std::string_view engine, const RoutingInput& input) {
  return find_engine(engine)->route(input).value();
}

TEST(PathSets, AreVerifiedOnEveryFabric) {
  for (std::uint64_t seed = 1; seed <= 250; ++seed) {
    for (const bool tree : {true, false}) {
      std::mt19937_64 random(seed);
      RoutingInput input = input_of(build(tree ? testing::random_tree(seed) : testing::random_graph(seed)));
      for (std::uint64_t n = random() % 4; n > 0; --n) fail_at_random(input.view, random);
      const auto routing = route_with(tree ? "fat-tree" : "up-down", input);
      const auto sets = make_path_sets(routing).value();
      const auto report = audit(input.view, sets);
      EXPECT_TRUE(report.verified()) << "seed " << seed
                                     << (report.examples.empty() ? "" : ": " + report.examples.front());
    }
  }
}

// The port of the tables is in the set; packets that choose members at random arrive.
TEST(PathSets, ContainTheTablesAndDeliverRandomPackets) {
  std::size_t checked = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    RoutingInput input = input_of(build(testing::random_tree(seed)));
    const auto routing = route_with("up-down", input);
    const auto sets = make_path_sets(routing).value();
    const RoutingScope& scope = *input.scope;
    for (const PlaneId id : scope.planes()) {
      const Plane& plane = scope.plane(id);
      for (std::uint32_t d = 0; d < plane.destination_count(); ++d) {
        const std::uint32_t home = plane.destination_home[d];
        for (std::uint32_t s = 0; s < plane.switch_count(); ++s) {
          if (s == plane.homes[home].sw) continue;
          const auto members = sets.set(id, home, s);
          const std::uint16_t port = routing.tables.plane(id).at(s, d);
          bool held = port == kNoPort && members.empty();
          for (const auto& member : members) held = held || plane.arcs[member.arc].port == port;
          EXPECT_TRUE(held);
          ++checked;
          std::uint32_t at = s;
          std::set<std::uint32_t> seen;
          while (!members.empty() && at != plane.homes[home].sw) {
            ASSERT_TRUE(seen.insert(at).second) << "a loop";
            const auto here = sets.set(id, home, at);
            ASSERT_FALSE(here.empty());
            at = plane.arcs[here[random() % here.size()].arc].to;
          }
        }
      }
    }
  }
  EXPECT_GT(checked, 0U);
}

TEST(PathSets, SplitAFatTreeEvenly) {
  // 8 leaves of 4 hosts under 4 spines: every leaf sends 4 * 28 pairs up 4 links.
  testing::FabricSketch sketch;
  for (unsigned i = 0; i < 8; ++i) sketch.switches.push_back({4, 0});
  for (unsigned i = 0; i < 4; ++i) sketch.switches.push_back({0, 0});
  for (unsigned l = 0; l < 8; ++l) {
    for (unsigned s = 8; s < 12; ++s) sketch.cables.emplace_back(l, s);
  }
  const RoutingInput input = input_of(build(sketch));
  const auto report = audit(input.view, make_path_sets(route_with("fat-tree", input)).value());
  EXPECT_TRUE(report.verified());
  EXPECT_EQ(report.most_members, 4U);
  EXPECT_NEAR(report.max_link_load_hosts, 28, 1e-3);
  // One uplink at half the rate takes a seventh of its leaf's traffic instead of a quarter.
  sketch.cable_specs.assign(sketch.cables.size(), infiniband_link(4, LinkSpeed::ndr));
  sketch.cable_specs.front() = infiniband_link(4, LinkSpeed::hdr);
  const RoutingInput slow = input_of(build(sketch));
  const auto sets = make_path_sets(route_with("fat-tree", slow)).value();
  const Plane& plane = slow.scope->plane(PlaneId(0));
  const std::uint32_t leaf = slow.scope->local(slow.view.topology().find_switch("sw-0"));
  const std::uint32_t other = plane.home_of[slow.scope->local(slow.view.topology().find_switch("sw-1"))];
  std::multiset<float> fractions;
  for (const auto& member : sets.set(PlaneId(0), other, leaf)) fractions.insert(member.fraction);
  ASSERT_EQ(fractions.size(), 4U);
  EXPECT_NEAR(*fractions.begin(), 1.0 / 7, 1e-6);
  EXPECT_NEAR(*fractions.rbegin(), 2.0 / 7, 1e-6);
}

TEST(PathSets, AreRefusedWhereOnlyOnePathIsProven) {
  const RoutingInput input = input_of(build(testing::torus({{5, 4}}, 1)));
  EXPECT_EQ(make_path_sets(route_with("torus-3d", input)).error().code, "routing.singlePath");
  EXPECT_EQ(make_path_sets(route_with("layered", input)).error().code, "routing.singlePath");
}

TEST(PathSetsAudit, FindsWhatIsPlanted) {
  const RoutingInput input = input_of(build(testing::torus({{5, 4}}, 1)));
  const auto good = make_path_sets(route_with("up-down", input)).value();
  ASSERT_TRUE(audit(input.view, good).verified());
  const Plane& plane = input.scope->plane(PlaneId(0));
  unsigned found = 0, planted = 0;
  for (std::size_t i = 0; i < good.planes[0].members.size(); i += 7) {
    auto bad = good;  // a member sends packets back to where they came from, or against the order
    auto& arc = bad.planes[0].members[i].arc;
    const std::uint32_t s = plane.arcs[plane.arcs[arc].reverse].to;
    arc = plane.first_arc[s] + (arc - plane.first_arc[s] + 1) % (plane.first_arc[s + 1] - plane.first_arc[s]);
    ++planted;
    const auto report = audit(input.view, bad);
    found += report.verified() ? 0 : 1;
  }
  EXPECT_GT(found * 2, planted);  // the others are only longer routes
  auto bad = good;
  bad.planes[0].members[3].fraction = 0.25F + bad.planes[0].members[3].fraction;
  EXPECT_EQ(audit(input.view, bad).bad_fractions, 1U);
  auto view = input.view;
  view.set_state(plane.arcs[good.planes[0].members[5].arc].link, LinkState::down);
  EXPECT_FALSE(audit(view, good).verified());
}

TEST(HashCollisions, AgreeWithCountingAllCases) {
  for (std::uint32_t members = 1; members <= 4; ++members) {
    for (std::uint32_t flows = 0; flows <= 6; ++flows) {
      std::uint64_t cases = 1, sum = 0;
      for (std::uint32_t i = 0; i < flows; ++i) cases *= members;
      for (std::uint64_t which = 0; which < cases; ++which) {
        std::vector<unsigned> count(members, 0);
        std::uint64_t rest = which;
        for (std::uint32_t i = 0; i < flows; ++i, rest /= members) ++count[rest % members];
        sum += *std::max_element(count.begin(), count.end());
      }
      EXPECT_NEAR(expected_max_flows(flows, members), double(sum) / double(cases), 1e-6) << flows << " on " << members;
    }
  }
}

TEST(HashCollisions, AgreeWithRandomHashing) {
  std::mt19937_64 random(5);
  for (const auto& [flows, members, tolerance] :
       {std::tuple(16U, 16U, 0.02), std::tuple(64U, 8U, 0.02), std::tuple(256U, 32U, 0.02), std::tuple(4096U, 8U, 0.03),
        std::tuple(2000U, 64U, 0.06)}) {
    double sum = 0;
    constexpr int kThrows = 4000;
    for (int t = 0; t < kThrows; ++t) {
      std::vector<unsigned> count(members, 0);
      for (unsigned i = 0; i < flows; ++i) ++count[random() % members];
      sum += *std::max_element(count.begin(), count.end());
    }
    const double mean = sum / kThrows;
    EXPECT_NEAR(expected_max_flows(flows, members) / mean, 1, tolerance) << flows << " on " << members;
    EXPECT_GE(expected_collision_factor(flows, members), 1);
  }
}

}  // namespace
}  // namespace railweave::fabric
