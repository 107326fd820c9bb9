// Whether packets can wait in a circle while switches change from one table to another, on any lanes and maps: compared with
// every step that a packet can take, followed one by one.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/routing/audit/transition.h"
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
  EveryStep(const Plane& plane, const PlaneLanes& lanes) : plane_(plane), lanes_(lanes) {}

  void follow(const PlaneTables& a, const PlaneTables& b, const FabricView& view, std::uint32_t d) {
    const std::uint32_t end = plane_.homes[plane_.destination_home[d]].sw;
    std::set<std::tuple<std::uint32_t, unsigned, unsigned>> seen;  // arc, lane, level
    const auto exits = [&](std::uint32_t s) {
      std::set<std::uint32_t> arcs;
      for (const PlaneTables* tables : {&a, &b}) {
        const std::uint32_t arc = plane_.find_arc(s, tables->at(s, d));
        if (arc != Plane::kNone && view.state(plane_.arcs[arc].link) != LinkState::down) arcs.insert(arc);
      }
      return arcs;
    };
    std::vector<std::tuple<std::uint32_t, unsigned, unsigned>> queue;
    for (std::uint32_t h = 0; h < plane_.homes.size(); ++h) {
      if (plane_.homes[h].sw == end || !has_sender(view, plane_.switches[plane_.homes[h].sw])) continue;
      const unsigned level = lanes_.path_level.empty() ? 0U : lanes_.path_level[h * plane_.destination_count() + d];
      for (const std::uint32_t arc : exits(plane_.homes[h].sw)) queue.emplace_back(arc, lane(0, arc, level), level);
    }
    while (!queue.empty()) {
      const auto [arc, on, level] = queue.back();
      queue.pop_back();
      if (!seen.emplace(arc, on, level).second || plane_.arcs[arc].to == end) continue;
      for (const std::uint32_t next : exits(plane_.arcs[arc].to)) {
        const unsigned then = lane(lanes_.arc_class.empty() ? 0U : lanes_.arc_class[arc], next, level);
        waits_[{arc, on}].insert({next, then});
        queue.emplace_back(next, then, level);
      }
    }
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
    Routing before = (seed % 3 == 0 ? layered.route(input) : up_down.route(input)).value();
    for (std::size_t n = random() % 3; n > 0; --n) {
      const LinkId link(random() % input.view.topology().links().size());
      if (input.view.topology().joins_switches(link)) input.view.set_state(link, LinkState::down);
    }
    Routing after = (seed % 2 == 0 ? layered.route(input) : up_down.route(input)).value();
    const RoutingScope& scope = after.tables.scope();
    before.lanes.planes.resize(scope.planes().size());
    after.lanes.planes.resize(scope.planes().size());
    for (const PlaneId id : scope.planes()) {
      const Plane& plane = scope.plane(id);
      const PlaneLanes& lanes = after.lanes.planes[id.index()] = random_lanes(plane, random);
      before.lanes.planes[id.index()] = lanes;
      EveryStep steps(plane, lanes);
      for (std::uint32_t d = 0; d < plane.destination_count(); ++d) {
        steps.follow(before.tables.plane(id), after.tables.plane(id), input.view, d);
      }
      const bool expected = steps.has_circle();
      (expected ? with : without) += 1;
      EXPECT_EQ(may_deadlock_between(input.view, id, before, after), expected)
          << "seed " << seed << " plane " << id.index();
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(with, 30U);
  EXPECT_GT(without, 30U);
}

}  // namespace
}  // namespace railweave::fabric
