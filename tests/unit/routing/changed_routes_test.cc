#include "fabric/routing/audit/changed_routes.h"

#include <random>

#include "fabric/routing/audit/audit.h"
#include "fabric/routing/engine_registry.h"
#include "gtest/gtest.h"
#include "tests/unit/routing/random_fabric.h"
#include "tests/unit/routing/routed.h"

namespace railweave::fabric {
namespace {

using testing::build;
using testing::input_of;
using testing::random_graph;
using testing::random_tree;

void fail_something(FabricView& view, std::mt19937_64& random) {
  for (std::size_t n = 1 + random() % 4; n > 0; --n) {
    const LinkId link(random() % view.topology().links().size());
    switch (random() % 5) {
      case 0:
        view.set_drained(link, true);
        break;
      case 1:
        view.set_drained(SwitchId(random() % view.topology().switches().size()), true);
        break;
      default:
        view.set_state(link, LinkState::down);
    }
  }
}

// Tables of engines are verified by the check of changed routes as by the whole audit.
TEST(ChangedRoutes, AgreesWithTheAuditOnWhatEnginesMake) {
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    const auto topology = build(seed % 3 == 0 ? random_graph(seed) : random_tree(seed));
    RoutingInput input = input_of(topology, {.switch_management = seed % 2 == 0});
    const RoutingEngine& engine = *find_engine(seed % 4 == 0 ? "up-down" : "fat-tree");
    const Routing before = engine.route(input).value();
    std::mt19937_64 random(seed);
    fail_something(input.view, random);
    const Routing after = engine.reroute(before, input).value();
    const auto report = check_changed_routes(input.view, before, after);
    EXPECT_TRUE(report.complete);
    EXPECT_TRUE(report.changed.verified()) << "seed " << seed << ": " << report.changed.example;
    EXPECT_TRUE(audit(input.view, after.tables, after.lanes).verified()) << "seed " << seed;
  }
}

// Random wrong entries: the check of changed routes finds the lost pairs that the whole audit finds.
TEST(ChangedRoutes, FindsLostPairsAsTheAuditDoes) {
  std::size_t broken = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    const auto topology = build(random_tree(seed));
    RoutingInput input = input_of(topology);
    const Routing before = find_engine("fat-tree")->route(input).value();
    Routing after = before;
    std::mt19937_64 random(seed);
    const PlaneId id(random() % input.scope->planes().size());
    const Plane& plane = input.scope->plane(id);
    if (plane.destination_count() == 0) continue;
    PlaneTables tables = before.tables.plane(id);
    {
      PlaneTables::Editor editor(tables);
      for (int n = 0; n < 3; ++n) {
        const std::size_t s = random() % plane.switch_count();
        editor.set(s, random() % plane.destination_count(),
                   static_cast<std::uint16_t>(1 + random() % plane.port_count[s]));
      }
    }
    after.tables.set_plane(id, std::move(tables));
    const auto whole = audit(input.view, after.tables, after.lanes);
    const auto quick = check_changed_routes(input.view, before, after).changed;
    EXPECT_EQ(quick.lost_pairs, whole.unreachable_pairs - whole.cut_off_pairs) << "seed " << seed;
    if (whole.credit_loops > 0) {
      EXPECT_GT(quick.bends, 0U) << "seed " << seed;
    }
    broken += whole.verified() ? 0 : 1;
  }
  EXPECT_GT(broken, 200U);
}

}  // namespace
}  // namespace railweave::fabric
