// Entries that are held back beside switches that cannot be written: what switches hold in the end leads nothing round, and brings together
// whatever old entries brought. Walked link by link, apart from what computes it.
#include "fabric/routing/delta/held_back.h"

#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "fabric/routing/engine_registry.h"
#include "tests/support/seeds.h"
#include "tests/unit/routing/random_fabric.h"
#include "tests/unit/routing/routed.h"

namespace railweave::fabric {
namespace {

using testing::build;
using testing::input_of;
using testing::random_graph;

enum class End { arrives, dropped, goes_round };

// What switches hold once a delta is written.
class WrittenTables {
 public:
  WrittenTables(const FabricView& view, const Routing& before, const ForwardingDelta& delta)
      : view_(view), before_(before), scope_(before.tables.scope()) {
    std::map<std::pair<SwitchId, std::uint16_t>, std::uint16_t> stages;
    for (const LftBlock& block : delta.blocks) {
      const std::pair key{block.sw, block.number};
      const auto [stage, is_first] = stages.try_emplace(key, block.stage);
      if (!is_first && block.stage < stage->second) continue;
      stage->second = block.stage;
      blocks_[key] = block.ports;
    }
  }

  [[nodiscard]] End end(SwitchId sw, DestinationId to) const {
    const Topology& t = view_.topology();
    for (std::size_t hops = 0; hops <= t.switches().size(); ++hops) {
      if (sw == scope_.destination(to).home) return End::arrives;
      const std::uint16_t number = port(sw, to);
      if (number == 0 || number > t.ports(sw).size()) return End::dropped;
      const PortId out = t.ports(sw)[number - 1U];
      if (!t.peer(out) || !view_.alive(t.link(out)) || !t.switch_of(t.peer(out))) return End::dropped;
      sw = t.switch_of(t.peer(out));
    }
    return End::goes_round;
  }

 private:
  [[nodiscard]] std::uint16_t port(SwitchId sw, DestinationId to) const {
    const Lid lid = scope_.lid(to);
    const auto block = blocks_.find({sw, static_cast<std::uint16_t>(lid / kLidsPerBlock)});
    return block == blocks_.end() ? before_.tables.out_port(sw, to) : block->second.at(lid % kLidsPerBlock);
  }

  const FabricView& view_;
  const Routing& before_;
  const RoutingScope& scope_;
  std::map<std::pair<SwitchId, std::uint16_t>, std::array<std::uint16_t, kLidsPerBlock>> blocks_;
};

TEST(HeldBack, NothingGoesRoundBesideSwitchesThatKeepTheirEntries) {
  std::size_t would_go_round = 0, held = 0, gained = 0;
  const std::uint64_t seeds = part_of_seeds(1'200);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    std::mt19937_64 random(seed);
    RoutingInput input = input_of(build(random_graph(seed)));
    const Topology& t = input.view.topology();
    const RoutingEngine& engine = *find_engine("up-down");
    const Routing before = engine.route(input).value();
    for (unsigned cuts = 1 + random() % 3; cuts > 0; --cuts) {
      const LinkId link(random() % t.links().size());
      if (t.joins_switches(link)) input.view.set_state(link, LinkState::down);
    }
    const Routing after = engine.route(input).value();
    std::set<SwitchId> unwritten;
    for (const SwitchId sw : t.switches()) {
      if (random() % 4 == 0) unwritten.insert(sw);
    }
    ForwardingDelta delta = compute_delta(input.view, before, after, {.urgent = {}, .may_drop = false});
    if (!delta.waits.empty()) continue;
    std::erase_if(delta.blocks, [&](const LftBlock& block) { return unwritten.contains(block.sw); });
    const WrittenTables old(input.view, before, ForwardingDelta{}), all(input.view, before, delta);
    held += hold_back(input.view, before, after, unwritten, delta).size();
    const WrittenTables written(input.view, before, delta);
    for (const SwitchId sw : t.switches()) {
      for (const DestinationId to : before.tables.scope().destinations()) {
        would_go_round += all.end(sw, to) == End::goes_round ? 1 : 0;
        const End end = written.end(sw, to);
        gained += end == End::arrives && old.end(sw, to) != End::arrives ? 1 : 0;
        ASSERT_NE(end, End::goes_round) << "seed " << seed;
        ASSERT_TRUE(end == End::arrives || old.end(sw, to) != End::arrives) << "seed " << seed;
      }
    }
  }
  EXPECT_GT(would_go_round, 0U);
  EXPECT_GT(held, 0U);
  EXPECT_GT(gained, 0U);
}

}  // namespace
}  // namespace railweave::fabric
