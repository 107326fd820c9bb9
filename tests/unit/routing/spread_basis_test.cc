// Routes that are spread again over what failures left (FabricView::spread_basis()): as even as those of a fabric that was
// cabled so, complete, free of credit loops, still repaired incrementally, and reached by steps that are each valid.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "fabric/routing/audit/audit.h"
#include "fabric/routing/audit/transition.h"
#include "fabric/routing/delta/forwarding_delta.h"
#include "fabric/routing/engine_registry.h"
#include "tests/support/fat_trees.h"
#include "tests/support/seeds.h"
#include "tests/unit/routing/naive_checker.h"
#include "tests/unit/routing/random_fabric.h"
#include "tests/unit/routing/routed.h"

namespace railweave::fabric {
namespace {

using testing::build;
using testing::check_naively;
using testing::FabricSketch;
using testing::input_of;
using testing::random_tree;

// Two tiers with several cables from leaf to spine: where failures matter most.
FabricSketch wide_tree(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  FabricSketch sketch;
  sketch.guid_seed = seed;
  const unsigned leaves = 3 + random() % 6, spines = 2 + random() % 3, parallel = 1 + random() % 3;
  for (unsigned i = 0; i < leaves; ++i) sketch.switches.push_back({4 + static_cast<unsigned>(random() % 5), 0});
  for (unsigned i = 0; i < spines; ++i) sketch.switches.push_back({0, 0});
  for (unsigned leaf = 0; leaf < leaves; ++leaf) {
    for (unsigned i = 0; i < spines * parallel; ++i) sketch.cables.emplace_back(leaf, leaves + i % spines);
  }
  return sketch;
}

struct Cut {
  TopologyPtr topology;
  RoutingInput input;                                    // with the cut links down
  std::vector<std::pair<unsigned, unsigned>> remaining;  // the cables that are left
};

// Links of `topology`, which build() made of the sketch.
LinkId link_of(const Topology& topology, const FabricSketch& sketch, std::size_t cable) {
  std::vector<LinkId> links;
  const auto [a, b] = sketch.cables[cable];
  std::size_t before = 0;
  for (std::size_t i = 0; i < cable; ++i) {
    const auto [x, y] = sketch.cables[i];
    before += std::minmax(x, y) == std::minmax(a, b) ? 1 : 0;
  }
  const SwitchId from = topology.find_switch("sw-" + std::to_string(a)),
                 to = topology.find_switch("sw-" + std::to_string(b));
  for (const LinkId link : topology.links()) {
    if (!topology.joins_switches(link)) continue;
    const SwitchId x = topology.switch_of(topology.a(link)), y = topology.switch_of(topology.b(link));
    if (std::minmax(x, y) == std::minmax(from, to)) links.push_back(link);
  }
  return links.at(before);
}

std::shared_ptr<const SpreadBasis> basis_of(const FabricView& view) {
  auto basis = std::make_shared<SpreadBasis>();
  for (const LinkId link : view.topology().links()) {
    if (view.state(link) == LinkState::down || view.drained(link)) basis->links.push_back(link);
  }
  for (const SwitchId sw : view.topology().switches()) {
    if (view.drained(sw)) basis->switches.push_back(sw);
  }
  return basis;
}

std::uint64_t fullest(const RoutingInput& input, const Routing& routing) {
  return audit(input.view, routing.tables, routing.lanes, {.shift_samples = 0}).max_link_load_hosts;
}

// The turns of packets from hosts on both tables together, by an own walk: whether they close a circle.
bool mixture_has_circle(const FabricView& view, const Routing& before, const Routing& after) {
  const Topology& t = view.topology();
  const RoutingScope& scope = before.tables.scope();
  std::map<PortId, std::set<PortId>> next;
  const auto next_ports = [&](SwitchId sw, DestinationId to) {
    std::set<PortId> ports;
    for (const Routing* routing : {&before, &after}) {
      const std::uint16_t port = routing->tables.out_port(sw, to);
      if (port == kNoPort || port == kPortZero) continue;
      if (port > t.ports(sw).size()) continue;
      const PortId out = t.ports(sw)[port - 1U];
      if (out && t.link(out) && t.joins_switches(t.link(out)) && view.alive(t.link(out))) ports.insert(out);
    }
    return ports;
  };
  const auto has_hosts = [&](SwitchId sw) {
    return std::ranges::any_of(t.ports(sw),
                               [&](PortId port) { return t.link(port) && !t.joins_switches(t.link(port)); });
  };
  for (const DestinationId to : scope.destinations()) {
    std::set<PortId> passed;
    std::vector<PortId> reached;
    for (const SwitchId sw : t.switches()) {
      if (!has_hosts(sw)) continue;
      for (const PortId out : next_ports(sw, to)) reached.push_back(out);
    }
    while (!reached.empty()) {
      const PortId out = reached.back();
      reached.pop_back();
      if (!passed.insert(out).second) continue;
      for (const PortId on : next_ports(t.switch_of(t.peer(out)), to)) {
        next[out].insert(on);
        reached.push_back(on);
      }
    }
  }
  std::map<PortId, std::size_t> waiting;
  for (const auto& [from, to] : next) {
    for (const PortId port : to) ++waiting[port];
  }
  std::vector<PortId> free;
  for (const auto& [from, to] : next) {
    if (!waiting.contains(from)) free.push_back(from);
  }
  std::size_t passed = 0;
  while (!free.empty()) {
    const PortId port = free.back();
    free.pop_back();
    const auto found = next.find(port);
    if (found == next.end()) continue;
    ++passed;
    for (const PortId on : found->second) {
      if (--waiting[on] == 0) free.push_back(on);
    }
  }
  return passed != next.size();
}

// Tables with the first blocks of a delta.
Routing with_blocks(const Routing& before, const ForwardingDelta& delta, std::size_t blocks) {
  Routing mixed = before;
  const RoutingScope& scope = before.tables.scope();
  std::map<std::pair<SwitchId, Lid>, std::uint16_t> written;
  for (std::size_t i = 0; i < blocks; ++i) {
    for (std::size_t k = 0; k < kLidsPerBlock; ++k) {
      written[{delta.blocks[i].sw, static_cast<Lid>(delta.blocks[i].number * kLidsPerBlock + k)}] =
          delta.blocks[i].ports[k];
    }
  }
  for (const PlaneId id : scope.planes()) {
    const Plane& plane = scope.plane(id);
    PlaneTables tables = before.tables.plane(id);
    {
      PlaneTables::Editor editor(tables);
      for (std::size_t s = 0; s < plane.switch_count(); ++s) {
        for (std::size_t d = 0; d < plane.destination_count(); ++d) {
          const auto found = written.find({plane.switches[s], scope.lid(plane.destination(d))});
          if (found != written.end()) editor.set(s, d, found->second);
        }
      }
    }
    mixed.tables.set_plane(id, std::move(tables));
  }
  return mixed;
}

TEST(SpreadBasis, AfterTheStepsTheFullestLinkIsWithin5PercentOfAFreshFabric) {
  std::size_t improved = 0, compared = 0, in_any_order = 0;
  for (std::uint64_t seed = 1; seed <= part_of_seeds(800, 8); ++seed) {
    const FabricSketch sketch = seed % 2 == 0 ? random_tree(seed) : wide_tree(seed);
    const auto topology = build(sketch);
    RoutingInput input = input_of(topology);
    const RoutingEngine& engine = *choose_engine(*input.scope).engine;
    if (engine.name() != "fat-tree" && engine.name() != "up-down") continue;
    const Routing healthy = engine.route(input).value();
    std::mt19937_64 random(seed * 31);
    std::set<std::size_t> cut;
    for (std::size_t n = 1 + random() % 4; n > 0 && !sketch.cables.empty(); --n)
      cut.insert(random() % sketch.cables.size());
    FabricSketch rest = sketch;
    rest.cables.clear();
    rest.cable_specs.clear();
    for (std::size_t i = 0; i < sketch.cables.size(); ++i) {
      if (cut.contains(i)) {
        input.view.set_state(link_of(*topology, sketch, i), LinkState::down);
        continue;
      }
      rest.cables.push_back(sketch.cables[i]);
      if (i < sketch.cable_specs.size()) rest.cable_specs.push_back(sketch.cable_specs[i]);
    }
    const Routing repaired = engine.reroute(healthy, input).value();
    RoutingInput based = input;
    based.view.set_spread_basis(basis_of(input.view));
    const Routing spread = engine.reroute(repaired, based).value();
    const std::string what = "seed " + std::to_string(seed);
    ASSERT_TRUE(spread.tables == engine.route(based).value().tables) << what << ": a restart makes the same";

    const auto naive = check_naively(based.view, spread);
    EXPECT_EQ(naive.failed, 0U) << what << ": " << naive.text();
    EXPECT_FALSE(naive.credit_loop) << what;
    if (sketch.cable_specs.empty() && sketch.lmc_of_hosts.size() == 1) {
      const RoutingInput fresh_input = input_of(build(rest));
      const Routing fresh = engine.route(fresh_input).value();
      const std::uint64_t best = fullest(fresh_input, fresh), now = fullest(based, spread),
                          then = fullest(input, repaired);
      EXPECT_LE(static_cast<double>(now), 1.05 * static_cast<double>(best) + 1) << what << ", repaired " << then;
      ++compared;
      improved += now < then ? 1 : 0;
    }

    // The way there: every moment is valid, by itself and with what is written next.
    const ForwardingDelta delta = compute_delta(based.view, repaired, spread, {.may_drop = false});
    EXPECT_EQ(delta.left_out, 0U) << what << ": steps that are not proven without drops";
    const bool is_any_order = std::ranges::none_of(
        input.scope->planes(), [&](PlaneId id) { return may_deadlock_between(based.view, id, repaired, spread); });
    if (is_any_order) {  // by an own walk
      EXPECT_FALSE(mixture_has_circle(based.view, repaired, spread)) << what;
      ++in_any_order;
    }
    for (std::size_t blocks = 0; blocks <= delta.blocks.size(); blocks += 1 + delta.blocks.size() / 4) {
      const Routing mixed = with_blocks(repaired, delta, blocks);
      const auto moment = check_naively(based.view, mixed);
      EXPECT_EQ(moment.failed, 0U) << what << " after " << blocks << " blocks: " << moment.text();
      EXPECT_FALSE(moment.credit_loop) << what << " after " << blocks << " blocks";
    }
    // One more failure: still incremental, still the same as from scratch.
    RoutingInput worse = based;
    worse.view.set_state(LinkId(random() % topology->links().size()), LinkState::down);
    const Routing again = engine.reroute(spread, worse).value();
    EXPECT_TRUE(again.tables == engine.route(worse).value().tables) << what;
    EXPECT_EQ(check_naively(worse.view, again).failed, 0U) << what;
    // Back to as cabled.
    RoutingInput whole = input_of(topology);
    whole.scope = input.scope;
    EXPECT_TRUE(engine.reroute(again, whole).value().tables == healthy.tables) << what;
  }
  EXPECT_GT(compared, part_of_seeds(150));
  EXPECT_GT(improved, part_of_seeds(30)) << "of " << compared;
  EXPECT_GT(in_any_order, part_of_seeds(150));
}

}  // namespace
}  // namespace railweave::fabric
