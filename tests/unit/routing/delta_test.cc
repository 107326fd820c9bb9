// A delta is applied to simulated switches block by block: at no moment, with any part of a stage written, may packets
// loop, or be lost that both tables deliver, or channels wait for each other in a circle.
#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "fabric/routing/delta/forwarding_delta.h"
#include "fabric/routing/engine_registry.h"
#include "fabric/routing/layered/layered_engine.h"
#include "fabric/routing/up_down/up_down_engine.h"
#include "tests/support/fat_trees.h"
#include "tests/unit/routing/naive_checker.h"
#include "tests/unit/routing/random_fabric.h"
#include "tests/unit/routing/routed.h"

namespace railweave::fabric {
namespace {

using testing::build;
using testing::check_naively;
using testing::input_of;
using testing::random_graph;
using testing::random_tree;

// The ports that switches may use for a destination at a moment: one, or two while a block is being written.
using Ports = std::map<SwitchId, std::set<std::uint16_t>>;

enum class Fate { arrives, lost, loops };

class Moment {
 public:
  Moment(const FabricView& view, const RoutingScope& scope, DestinationId destination, const Ports& ports)
      : view_(view), scope_(scope), to_(scope.destination(destination)), ports_(ports) {}

  // The worst that can happen to a packet at sw.
  Fate fate(SwitchId sw) {
    if (const auto known = fates_.find(sw); known != fates_.end()) return known->second;
    if (!path_.insert(sw).second) return Fate::loops;
    Fate worst = Fate::arrives;
    for (const std::uint16_t port : ports_.at(sw)) worst = std::max(worst, by(sw, port));
    path_.erase(sw);
    return fates_[sw] = worst;
  }

 private:
  Fate by(SwitchId sw, std::uint16_t number) {
    const Topology& t = view_.topology();
    if (number == kPortZero) return !to_.port && sw == to_.home ? Fate::arrives : Fate::lost;
    if (number > t.ports(sw).size()) return Fate::lost;
    const PortId out = t.ports(sw)[number - 1U];
    if (!t.peer(out) || view_.state(t.link(out)) == LinkState::down) return Fate::lost;
    if (t.peer(out) == to_.port) return Fate::arrives;
    const SwitchId next = t.switch_of(t.peer(out));
    return next ? fate(next) : Fate::lost;
  }

  const FabricView& view_;
  const RoutingScope& scope_;
  const Destination& to_;
  const Ports& ports_;
  std::map<SwitchId, Fate> fates_;
  std::set<SwitchId> path_;
};

// Whether channels of one lane wait in a circle if every switch may use its old and its new port for a destination.
bool mixture_can_deadlock(const FabricView& view, const ForwardingTables& a, const ForwardingTables& b) {
  const Topology& t = view.topology();
  const RoutingScope& scope = a.scope();
  std::map<PortId, std::set<PortId>> waits;
  for (const DestinationId id : scope.destinations()) {
    const auto outs = [&](SwitchId sw) {
      std::set<PortId> ports;
      for (const std::uint16_t number : {a.out_port(sw, id), b.out_port(sw, id)}) {
        if (number == kNoPort || number == kPortZero || number > t.ports(sw).size()) continue;
        const PortId out = t.ports(sw)[number - 1U];
        if (t.peer(out) && t.switch_of(t.peer(out)) && view.state(t.link(out)) != LinkState::down) ports.insert(out);
      }
      return ports;
    };
    // Packets come from switches with end ports.
    std::set<SwitchId> seen;
    std::vector<SwitchId> queue;
    for (const PortId port : t.hca_ports()) {
      const SwitchId sw = t.peer(port) ? t.switch_of(t.peer(port)) : SwitchId();
      if (sw && scope.plane_of(sw) == scope.plane_of(id) && seen.insert(sw).second) queue.push_back(sw);
    }
    while (!queue.empty()) {
      const SwitchId sw = queue.back();
      queue.pop_back();
      for (const PortId out : outs(sw)) {
        const SwitchId next = t.switch_of(t.peer(out));
        for (const PortId after : outs(next)) waits[out].insert(after);
        if (seen.insert(next).second) queue.push_back(next);
      }
    }
  }
  std::map<PortId, int> state;
  std::function<bool(PortId)> circle = [&](PortId port) {
    int& s = state[port];
    if (s != 0) return s == 1;
    s = 1;
    for (const PortId next : waits[port]) {
      if (circle(next)) return true;
    }
    state[port] = 2;
    return false;
  };
  return std::ranges::any_of(waits, [&](const auto& entry) { return circle(entry.first); });
}

struct Played {
  std::size_t blocks = 0, entries = 0;
  bool dropped_first = false;
};

Played play(const FabricView& view, const Routing& before, const Routing& after, const std::string& what) {
  const RoutingScope& scope = before.tables.scope();
  const Topology& t = view.topology();
  const ForwardingDelta delta = compute_delta(view, before, after);
  std::size_t differ = 0;
  std::set<std::pair<SwitchId, unsigned>> differing_blocks;
  std::map<std::pair<SubnetId, unsigned>, DestinationId> by_lid;
  for (const DestinationId id : scope.destinations()) {
    by_lid[{t.subnet(scope.destination(id).home), scope.lid(id)}] = id;
    for (const SwitchId sw : t.switches()) {
      if (before.tables.out_port(sw, id) == after.tables.out_port(sw, id)) continue;
      ++differ;
      differing_blocks.emplace(sw, scope.lid(id) / kLidsPerBlock);
    }
  }
  EXPECT_EQ(delta.changed_entries, differ) << what;
  EXPECT_EQ(delta.changed_blocks, differing_blocks.size()) << what;
  if (!delta.drops_first && before.lanes.used() == 1 && after.lanes.used() == 1) {
    EXPECT_FALSE(mixture_can_deadlock(view, before.tables, after.tables)) << what;
  }

  const auto now = [&](SwitchId sw, DestinationId id,
                       const std::map<std::pair<SwitchId, DestinationId>, std::uint16_t>& written) {
    const auto found = written.find({sw, id});
    return found != written.end() ? found->second : before.tables.out_port(sw, id);
  };
  std::map<std::pair<SwitchId, DestinationId>, std::uint16_t> written;
  std::uint16_t last = 0;
  for (const LftBlock& block : delta.blocks) last = std::max(last, block.stage);
  for (std::uint16_t stage = 0; stage <= last && !delta.blocks.empty(); ++stage) {
    std::map<DestinationId, std::map<SwitchId, std::uint16_t>> coming;
    for (const LftBlock& block : delta.blocks) {
      if (block.stage != stage) continue;
      for (unsigned i = 0; i < kLidsPerBlock; ++i) {
        const auto id = by_lid.find({t.subnet(block.sw), block.number * kLidsPerBlock + i});
        if (id == by_lid.end() || scope.plane_of(id->second) != scope.plane_of(block.sw)) continue;
        coming[id->second][block.sw] = block.ports[i];
      }
    }
    for (const auto& [id, changes] : coming) {
      Ports mixture, old_ports, new_ports;
      for (const SwitchId sw : scope.plane(scope.plane_of(id)).switches) {
        mixture[sw].insert(now(sw, id, written));
        if (const auto change = changes.find(sw); change != changes.end()) mixture[sw].insert(change->second);
        old_ports[sw].insert(before.tables.out_port(sw, id));
        new_ports[sw].insert(after.tables.out_port(sw, id));
      }
      Moment mixed(view, scope, id, mixture), old(view, scope, id, old_ports), fresh(view, scope, id, new_ports);
      for (const auto& [sw, ports] : mixture) {
        if (old.fate(sw) == Fate::loops) continue;  // looped before
        EXPECT_NE(mixed.fate(sw), Fate::loops) << what << " stage " << stage;
        if (delta.drops_first || old.fate(sw) != Fate::arrives || fresh.fate(sw) != Fate::arrives) continue;
        EXPECT_EQ(mixed.fate(sw), Fate::arrives) << what << " stage " << stage;
      }
    }
    for (const auto& [id, changes] : coming) {
      for (const auto& [sw, port] : changes) written[{sw, id}] = port;
    }
  }
  for (const DestinationId id : scope.destinations()) {
    for (const SwitchId sw : scope.plane(scope.plane_of(id)).switches)
      EXPECT_EQ(now(sw, id, written), after.tables.out_port(sw, id)) << what;
  }
  return {delta.blocks.size(), differ, delta.drops_first};
}

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
