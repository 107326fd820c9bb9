// Whether packets can wait in a circle while switches change from one table to another, on any lanes and maps: compared with
// every step that a packet can take, followed one by one.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/routing/audit/transition.h"
#include "fabric/routing/delta/forwarding_delta.h"
#include "fabric/routing/engine_registry.h"
#include "fabric/routing/layered/layered_engine.h"
#include "tests/unit/routing/random_fabric.h"
#include "tests/unit/routing/routed.h"

namespace railweave::fabric {
namespace {

using testing::build;
using testing::input_of;
using testing::random_graph;

// Lanes of paths by level, and in half of the cases by the classes of the arcs that they turn on as well. Levels may be fewer
// than lanes.
PlaneLanes random_lanes(const Plane& plane, std::mt19937_64& random) {
  PlaneLanes lanes;
  lanes.lanes = static_cast<std::uint8_t>(1 + random() % 4);
  const bool by_class = random() % 2 == 0;
  lanes.levels = by_class ? static_cast<std::uint8_t>(1 + random() % 3) : lanes.lanes;
  if (lanes.levels > 1) {
    for (std::size_t i = 0; i < plane.homes.size() * plane.destination_count(); ++i) {
      lanes.path_level.push_back(static_cast<std::uint8_t>(random() % lanes.levels));
    }
  }
  if (!by_class) return lanes;
  lanes.classes = static_cast<std::uint8_t>(2 + random() % 2);
  lanes.arc_class.resize(plane.arcs.size());
  for (std::size_t a = 0; a < plane.arcs.size(); ++a) {
    lanes.arc_class[a] = static_cast<std::uint8_t>(1 + random() % (lanes.classes - 1U));
  }
  for (unsigned i = 0; i < unsigned{lanes.classes} * lanes.classes * lanes.levels; ++i) {
    lanes.lane_table.push_back(static_cast<std::uint8_t>(random() % lanes.lanes));
  }
  return lanes;
}

using Channel = std::pair<std::uint32_t, unsigned>;  // arc, lane

class EveryStep {
 public:
  using Step = std::tuple<std::uint32_t, unsigned, unsigned, bool>;  // arc, lane, level, a changed entry was met
  EveryStep(const Plane& plane, const PlaneLanes& lanes) : plane_(plane), lanes_(lanes) {}

  // Every switch may use an entry of any of these tables. changed: of one more, whose entries are put downstream first, so that a packet
  // that has met one meets them from there on; null: there is none.
  void follow(const std::vector<const PlaneTables*>& any, const PlaneTables* changed, const FabricView& view,
              std::uint32_t d) {
    const std::uint32_t end = plane_.homes[plane_.destination_home[d]].sw;
    std::set<Step> seen;
    const auto exits = [&](std::uint32_t s, bool has_met) {
      std::set<std::pair<std::uint32_t, bool>> arcs;  // with whether a changed entry was met
      const auto add = [&](std::uint16_t port, bool met) {
        const std::uint32_t arc = plane_.find_arc(s, port);
        if (arc != Plane::kNone && view.state(plane_.arcs[arc].link) != LinkState::down) arcs.emplace(arc, met);
      };
      if (!has_met) {
        for (const PlaneTables* tables : any) add(tables->at(s, d), false);
      }
      if (changed != nullptr && (has_met || changed->at(s, d) != any.front()->at(s, d))) add(changed->at(s, d), true);
      return arcs;
    };
    std::vector<Step> queue;
    for (std::uint32_t h = 0; h < plane_.homes.size(); ++h) {
      if (plane_.homes[h].sw == end || !has_sender(view, plane_.switches[plane_.homes[h].sw])) continue;
      const unsigned level = lanes_.path_level.empty() ? 0U : lanes_.path_level[h * plane_.destination_count() + d];
      for (const auto& [arc, met] : exits(plane_.homes[h].sw, false)) {
        queue.emplace_back(arc, lane(0, arc, level), level, met);
      }
    }
    while (!queue.empty()) {
      const auto [arc, on, level, has_met] = queue.back();
      queue.pop_back();
      if (!seen.emplace(arc, on, level, has_met).second || plane_.arcs[arc].to == end) continue;
      for (const auto& [next, met] : exits(plane_.arcs[arc].to, has_met)) {
        const unsigned then = lane(lanes_.arc_class.empty() ? 0U : lanes_.arc_class[arc], next, level);
        waits_[{arc, on}].insert({next, then});
        queue.emplace_back(next, then, level, met);
      }
    }
  }
  // Whether the tables lead packets on from every switch whose entry they change.
  static bool arrives(const Plane& plane, const PlaneTables& before, const PlaneTables& after, const FabricView& view,
                      std::uint32_t d) {
    const std::uint32_t end = plane.homes[plane.destination_home[d]].sw;
    for (std::uint32_t s = 0; s < plane.switch_count(); ++s) {
      if (before.at(s, d) == after.at(s, d)) continue;
      std::uint32_t at = s;
      for (std::size_t steps = 0; at != end; ++steps) {
        const std::uint32_t arc = plane.find_arc(at, after.at(at, d));
        if (arc == Plane::kNone || view.state(plane.arcs[arc].link) == LinkState::down) {
          if (steps == 0) break;  // it drops, and is changed last
          return false;
        }
        if (steps > plane.switch_count()) return false;
        at = plane.arcs[arc].to;
      }
    }
    return true;
  }
  bool has_circle() {
    return std::ranges::any_of(waits_, [&](const auto& entry) { return closes(entry.first); });
  }

 private:
  // A host or another end port whose own cable is up.
  [[nodiscard]] static bool has_sender(const FabricView& view, SwitchId sw) {
    const Topology& t = view.topology();
    return std::ranges::any_of(t.ports(sw), [&](PortId port) {
      return t.peer(port) && t.is_hca_port(t.peer(port)) && view.state(t.link(port)) != LinkState::down;
    });
  }
  [[nodiscard]] unsigned lane(unsigned from_class, std::uint32_t out, unsigned level) const {
    if (lanes_.arc_class.empty()) return level;
    return lanes_.lane_table.at((from_class * lanes_.classes + lanes_.arc_class.at(out)) * lanes_.levels + level);
  }
  bool closes(const Channel& channel) {
    int& state = states_[channel];
    if (state != 0) return state == 1;
    state = 1;
    if (const auto next = waits_.find(channel); next != waits_.end()) {
      for (const Channel& on : next->second) {
        if (closes(on)) return true;
      }
    }
    states_[channel] = 2;
    return false;
  }

  const Plane& plane_;
  const PlaneLanes& lanes_;
  std::map<Channel, std::set<Channel>> waits_;
  std::map<Channel, int> states_;
};

TEST(MixtureOfTables, ClosesCirclesExactlyWhereEveryStepFollowedDoes) {
  std::size_t with = 0, without = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 random(seed);
    RoutingInput input = input_of(build(random_graph(seed)));
    const LayeredEngine layered;
    const RoutingEngine& up_down = *find_engine("up-down");
    const auto cut_some = [&] {
      for (std::size_t n = random() % 3; n > 0; --n) {
        const LinkId link(random() % input.view.topology().links().size());
        if (input.view.topology().joins_switches(link)) input.view.set_state(link, LinkState::down);
      }
    };
    std::vector<Routing> earlier;
    for (std::uint64_t n = seed % 4; n > 1; --n) {
      earlier.push_back((random() % 4 == 0 ? layered.route(input) : up_down.route(input)).value());
      cut_some();
    }
    Routing before = (seed % 3 == 0 ? layered.route(input) : up_down.route(input)).value();
    cut_some();
    Routing after = (seed % 2 == 0 ? layered.route(input) : up_down.route(input)).value();
    const RoutingScope& scope = after.tables.scope();
    before.lanes.planes.resize(scope.planes().size());
    after.lanes.planes.resize(scope.planes().size());
    for (Routing& one : earlier) one.lanes.planes.resize(scope.planes().size());
    for (const PlaneId id : scope.planes()) {
      const Plane& plane = scope.plane(id);
      const PlaneLanes& lanes = after.lanes.planes[id.index()] = random_lanes(plane, random);
      before.lanes.planes[id.index()] = lanes;
      std::vector<const Routing*> regarded;
      std::vector<const PlaneTables*> any{&before.tables.plane(id), &after.tables.plane(id)};
      for (Routing& one : earlier) {
        one.lanes.planes[id.index()] = lanes;
        regarded.push_back(&one);
        any.push_back(&one.tables.plane(id));
      }
      EveryStep steps(plane, lanes);
      for (std::uint32_t d = 0; d < plane.destination_count(); ++d) {
        steps.follow(any, nullptr, input.view, d);
      }
      const bool expected = steps.has_circle();
      (expected ? with : without) += 1;
      EXPECT_EQ(may_deadlock_between(input.view, id, before, after, regarded), expected)
          << "seed " << seed << " plane " << id.index();
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(with, 30U);
  EXPECT_GT(without, 30U);
}

// Destinations of the plane that change before packets are waited for.
std::set<std::uint32_t> changed_first(const Plane& plane, const RoutingScope& scope, const PlaneTables& before,
                                      const ForwardingDelta& delta) {
  std::set<std::uint32_t> changed;
  for (const LftBlock& block : delta.blocks) {
    if (!delta.waits.empty() && block.stage >= delta.waits.front()) continue;
    const auto s = std::ranges::find(plane.switches, block.sw) - plane.switches.begin();
    if (s == std::ssize(plane.switches)) continue;
    for (std::uint32_t d = 0; d < plane.destination_count(); ++d) {
      const Lid lid = scope.lid(plane.destination(d));
      if (lid / kLidsPerBlock != block.number) continue;
      if (block.ports.at(lid % kLidsPerBlock) != before.at(static_cast<std::size_t>(s), d)) changed.insert(d);
    }
  }
  return changed;
}

// Written again a moment after other writing, or amid it: packets by the tables from before it are on their way still.
TEST(MixtureOfTables, PacketsByEarlierTablesCloseNoCircleEither) {
  std::size_t judged = 0, needed = 0, changed = 0;
  for (std::uint64_t seed = 1; seed <= 2'400; ++seed) {
    std::mt19937_64 random(seed);
    RoutingInput input = input_of(build(random_graph(seed)));
    const LayeredEngine layered;
    const RoutingEngine& up_down = *find_engine("up-down");
    std::vector<Routing> tables;
    const unsigned count = 3 + static_cast<unsigned>(random() % 3);  // earlier ones, and two
    for (unsigned i = 0; i < count; ++i) {
      tables.push_back((random() % 2 == 0 ? layered.route(input) : up_down.route(input)).value());
      const LinkId link(random() % input.view.topology().links().size());
      const bool is_cut = i + 2 == count || random() % 3 == 0;
      if (is_cut && input.view.topology().joins_switches(link)) input.view.set_state(link, LinkState::down);
    }
    // What failed is back, so that new entries are those that packets on their way have met.
    if (seed % 3 == 0) {
      for (const LinkId link : input.view.topology().links()) input.view.set_state(link, LinkState::up);
      tables.back() = tables.front();
    }
    const Routing &before = tables[count - 2], &after = tables[count - 1];
    std::vector<const Routing*> earlier;
    for (unsigned i = 0; i + 2 < count; ++i) earlier.push_back(&tables[i]);
    const RoutingScope& scope = after.tables.scope();
    for (Routing& one : tables) {
      one.lanes.planes.resize(scope.planes().size());
      one.orders.clear();
    }
    for (const PlaneId id : scope.planes()) {
      const Plane& plane = scope.plane(id);
      const PlaneLanes lanes = random_lanes(plane, random);
      for (Routing& one : tables) one.lanes.planes[id.index()] = lanes;
      const auto has_circle = [&](const std::set<std::uint32_t>& at_once) {
        EveryStep steps(plane, lanes);
        for (std::uint32_t d = 0; d < plane.destination_count(); ++d) {
          std::vector<const PlaneTables*> any{&before.tables.plane(id)};
          for (const Routing* one : earlier) any.push_back(&one->tables.plane(id));
          const PlaneTables* to = at_once.contains(d) ? &after.tables.plane(id) : nullptr;
          if (to != nullptr && !EveryStep::arrives(plane, *any[0], *to, input.view, d))
            any.push_back(std::exchange(to, nullptr));
          steps.follow(any, to, input.view, d);
        }
        return steps.has_circle();
      };
      if (has_circle({})) {
        const auto delta =
            compute_delta(input.view, before, after, {.urgent = {}, .may_drop = false, .earlier = earlier});
        EXPECT_TRUE(delta.blocks.empty() || (!delta.waits.empty() && delta.waits.front() == 0)) << "seed " << seed;
        continue;
      }
      ++judged;
      const auto first = [&](const std::vector<const Routing*>& regarded) {
        return changed_first(
            plane, scope, before.tables.plane(id),
            compute_delta(input.view, before, after, {.urgent = {}, .may_drop = false, .earlier = regarded}));
      };
      needed += has_circle(first({})) ? 1 : 0;
      const auto at_once = first(earlier);
      changed += at_once.empty() ? 0 : 1;
      EXPECT_FALSE(has_circle(at_once)) << "seed " << seed << " plane " << id.index();
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(judged, 100U);
  EXPECT_GT(needed, 5U) << "else it need not be regarded";
  EXPECT_GT(changed, 50U);
}

}  // namespace
}  // namespace railweave::fabric
