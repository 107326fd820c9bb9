// The audit against the naive checker, and whether it finds planted errors: a wrong entry, a wrong lane, a dead link.
#include "fabric/routing/audit/audit.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "fabric/routing/engine_registry.h"
#include "fabric/routing/layered/layered_engine.h"
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

std::uint64_t load_of(const std::map<PortId, std::uint64_t>& loads, PortId port) {
  const auto found = loads.find(port);
  return found == loads.end() ? 0 : found->second;
}

void expect_as_naive(const FabricView& view, const Routing& routing, const std::string& what) {
  const auto naive = check_naively(view, routing);
  const AuditReport report = audit(view, routing.tables, routing.lanes);
  EXPECT_EQ(report.pairs, naive.pairs) << what;
  EXPECT_EQ(report.unreachable_pairs, naive.unreachable) << what;
  EXPECT_EQ(report.unreachable_pairs - report.cut_off_pairs, naive.failed) << what << ": " << naive.text();
  EXPECT_EQ(report.credit_loops > 0, naive.credit_loop) << what;
  EXPECT_EQ(report.max_link_load, naive.max_load) << what;
  EXPECT_EQ(report.max_link_load_hosts, naive.max_host_load) << what;
  EXPECT_EQ(load_of(naive.load, report.max_link), naive.max_load) << what;
  EXPECT_EQ(load_of(naive.host_load, report.max_link_hosts), naive.max_host_load) << what;
  EXPECT_EQ(report.longest_route, naive.longest) << what;
  EXPECT_EQ(report.nonminimal_pairs, naive.nonminimal) << what;
  // Cut into parts, run in another order: the same.
  AuditOptions options;
  options.parts = 5;
  options.run = [](std::size_t parts, const std::function<void(std::size_t)>& part) {
    for (std::size_t i = parts; i-- > 0;) part(i);
  };
  const AuditReport parted = audit(view, routing.tables, routing.lanes, options);
  EXPECT_EQ(parted.unreachable_pairs, report.unreachable_pairs) << what;
  EXPECT_EQ(parted.credit_loops, report.credit_loops) << what;
  EXPECT_EQ(parted.max_link_load, report.max_link_load) << what;
  EXPECT_EQ(parted.max_link, report.max_link) << what;
  EXPECT_EQ(parted.unreached.size(), report.unreached.size()) << what;
  EXPECT_EQ(parted.findings.size(), report.findings.size()) << what;
}

// Tables of any content, most of them wrong.
TEST(Audit, CountsWhatTheNaiveCheckerCountsOnCorruptTables) {
  std::size_t loops = 0, credit_loops = 0, failures = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const auto topology = build(seed % 2 == 0 ? random_graph(seed) : random_tree(seed));
    RoutingInput input = input_of(topology);
    const LayeredEngine layered;
    Routing routing = (seed % 5 == 0 ? &layered : choose_engine(*input.scope).engine)->route(input).value();
    if (seed % 5 == 0) routing.lanes = {};  // shortest routes all on one lane
    routing.lanes.planes.resize(input.scope->planes().size());
    std::mt19937_64 random(seed);
    if (seed % 3 == 0) input.view.set_state(LinkId(random() % topology->links().size()), LinkState::down);
    for (const PlaneId id : input.scope->planes()) {
      const Plane& plane = input.scope->plane(id);
      if (plane.destination_count() == 0) continue;
      PlaneTables tables = routing.tables.plane(id);
      {
        PlaneTables::Editor editor(tables);
        const std::size_t wrong = seed % 4 == 0 ? tables.switches() * tables.destinations() : random() % 4;
        for (std::size_t i = 0; i < wrong; ++i) {
          const std::size_t s = random() % tables.switches(), d = random() % tables.destinations();
          const auto port = static_cast<std::uint16_t>(random() % (plane.port_count[s] + 1U));
          editor.set(s, d, random() % 8 == 0 ? kNoPort : port);
        }
      }
      routing.tables.set_plane(id, std::move(tables));
    }
    expect_as_naive(input.view, routing, "seed " + std::to_string(seed));
    const AuditReport report = audit(input.view, routing.tables, routing.lanes);
    loops += report.looping_pairs > 0 ? 1 : 0;
    credit_loops += report.credit_loops > 0 ? 1 : 0;
    failures += report.verified() ? 0 : 1;
    if (HasFailure()) break;
  }
  EXPECT_GT(loops, 30U);
  EXPECT_GT(credit_loops, 5U);
  EXPECT_GT(failures, 60U);
}

TEST(Audit, AgreesWithTheNaiveCheckerOnTablesOfEveryEngine) {
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    const auto topology = build(seed % 2 == 0 ? random_graph(seed) : random_tree(seed));
    const RoutingInput input = input_of(topology);
    for (const RoutingEngine* engine : routing_engines()) {
      const auto routing = engine->route(input);
      if (!routing) continue;  // an engine for other topologies
      expect_as_naive(input.view, *routing, std::string(engine->name()) + ", seed " + std::to_string(seed));
    }
    if (HasFailure()) break;
  }
}

// Every single wrong entry that traffic meets is found, as lost pairs or as longer routes.
TEST(Audit, OneWrongEntryIsFound) {
  const auto topology = testing::make_fat_tree(
      {.hosts_per_leaf = 2, .leaves_per_pod = 2, .spines_per_pod = 2, .pods = 2, .cores_per_spine = 2});
  const RoutingInput input = input_of(topology);
  const Routing routing = choose_engine(*input.scope).engine->route(input).value();
  const AuditReport healthy = audit(input.view, routing.tables, routing.lanes);
  ASSERT_TRUE(healthy.verified());
  const Plane& plane = input.scope->plane(PlaneId(0));
  std::size_t planted = 0, harmless = 0;
  for (std::uint32_t s = 0; s < plane.switch_count(); ++s) {
    for (std::uint32_t d = 0; d < plane.destination_count(); ++d) {
      const std::uint16_t right = routing.tables.plane(PlaneId(0)).at(s, d);
      for (std::uint16_t port = 0; port <= plane.port_count[s]; ++port) {
        if (port == right) continue;
        Routing wrong = routing;
        PlaneTables tables = routing.tables.plane(PlaneId(0));
        PlaneTables::Editor(tables).set(s, d, port);
        wrong.tables.set_plane(PlaneId(0), std::move(tables));
        const AuditReport report = audit(input.view, wrong.tables, wrong.lanes);
        const auto naive = check_naively(input.view, wrong);
        ++planted;
        EXPECT_EQ(report.verified(), naive.failed == 0 && !naive.credit_loop) << "switch " << s << " destination " << d;
        EXPECT_EQ(report.nonminimal_pairs, naive.nonminimal);
        if (report.verified() && report.nonminimal_pairs == 0) ++harmless;  // another route up, or no packets pass
      }
    }
  }
  EXPECT_GT(planted, 300U);
  EXPECT_LT(harmless, planted / 2);
}

// A plane whose tables were never set drops every packet; its neighbour is audited as ever.
TEST(Audit, APlaneWithoutTablesReachesNothing) {
  const auto topology = testing::make_fat_tree(
      {.hosts_per_leaf = 2, .leaves_per_pod = 2, .spines_per_pod = 2, .pods = 2, .cores_per_spine = 2});
  const RoutingInput input = input_of(topology);
  const Routing routing = choose_engine(*input.scope).engine->route(input).value();
  const AuditReport whole = audit(input.view, routing.tables, routing.lanes);
  const AuditReport none = audit(input.view, ForwardingTables(input.scope), routing.lanes);
  ASSERT_GT(whole.pairs, 0U);
  EXPECT_EQ(none.pairs, whole.pairs);
  EXPECT_EQ(none.unreachable_pairs + none.unmanaged_pairs, none.pairs);
  EXPECT_FALSE(none.verified());
  EXPECT_EQ(none.credit_loops, 0U);
  EXPECT_TRUE(std::ranges::any_of(none.findings, [](const Finding& one) { return one.code == "noTables"; }));
}

TEST(Audit, ALinkThatDiedAfterwardsIsFound) {
  std::size_t found = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    testing::FabricSketch sketch = random_tree(seed);
    sketch.lmc_of_hosts = {0};  // loads count the first LID of a port only
    const auto topology = build(sketch);
    RoutingInput input = input_of(topology);
    const Routing routing = choose_engine(*input.scope).engine->route(input).value();
    const auto used = check_naively(input.view, routing).load;
    for (const LinkId link : topology->links()) {
      if (!topology->joins_switches(link)) continue;
      FabricView view = input.view;
      view.set_state(link, LinkState::down);
      const AuditReport report = audit(view, routing.tables, routing.lanes);
      const bool in_use = used.contains(topology->a(link)) || used.contains(topology->b(link));
      EXPECT_EQ(report.unreachable_pairs > 0, in_use) << "seed " << seed;
      found += report.verified() ? 0 : 1;
    }
  }
  EXPECT_GT(found, 100U);
}

// Planes that did not change are not audited again, and the whole report equals that of a new audit.
TEST(Audit, OfChangedPlanesEqualsAuditOfAll) {
  const auto topology = testing::make_fat_tree(
      {.hosts_per_leaf = 2, .leaves_per_pod = 3, .spines_per_pod = 2, .pods = 2, .cores_per_spine = 2, .planes = 4});
  RoutingInput input = input_of(topology);
  const auto planes = input.scope->planes().size();
  ASSERT_EQ(planes, 4U);
  const auto choice = choose_engine(*input.scope);
  Routing was = choice.engine->route(input).value();
  PlaneReports reports = audit_planes(input.view, was.tables, was.lanes, {});
  std::mt19937_64 random(5);
  std::vector<std::size_t> kept_of(planes + 1, 0);
  for (int round = 0; round < 120; ++round) {
    RoutingInput next = input;
    for (auto changes = random() % 3; changes-- > 0;) {
      if (random() % 4 == 0) {
        const SwitchId sw(static_cast<std::uint32_t>(random() % topology->switches().size()));
        next.view.set_drained(sw, !next.view.drained(sw));
      } else {
        const LinkId link(static_cast<std::uint32_t>(random() % topology->links().size()));
        const bool up = next.view.state(link) == LinkState::up;
        next.view.set_state(link, up ? LinkState::down : LinkState::up);
      }
    }
    Routing is = choice.engine->reroute(was, next).value();
    if (round % 10 == 9) {  // a changed entry without a changed cable
      const PlaneId id(static_cast<std::uint32_t>(random() % planes));
      PlaneTables tables = is.tables.plane(id);
      PlaneTables::Editor(tables).set(0, tables.destinations() - 1, kNoPort);
      is.tables.set_plane(id, std::move(tables));
    }
    const PlaneReports known =
        unchanged_planes(reports, {input.view, was.tables, was.lanes}, {next.view, is.tables, is.lanes});
    ++kept_of[static_cast<std::size_t>(std::ranges::count_if(known, [](const auto& one) { return one != nullptr; }))];
    reports = audit_planes(next.view, is.tables, is.lanes, {}, known);
    const AuditReport report = combined(next.view, is.tables, reports, {});
    const AuditReport fresh = audit(next.view, is.tables, is.lanes);
    EXPECT_EQ(report.pairs, fresh.pairs);
    EXPECT_EQ(report.unreachable_pairs, fresh.unreachable_pairs) << round;
    EXPECT_EQ(report.cut_off_pairs, fresh.cut_off_pairs) << round;
    EXPECT_EQ(report.nonminimal_pairs, fresh.nonminimal_pairs) << round;
    EXPECT_EQ(report.drained_entries, fresh.drained_entries) << round;
    EXPECT_EQ(report.longest_route, fresh.longest_route) << round;
    EXPECT_EQ(report.max_link_load, fresh.max_link_load) << round;
    EXPECT_EQ(report.max_link, fresh.max_link) << round;
    EXPECT_EQ(report.max_link_load_hosts, fresh.max_link_load_hosts) << round;
    EXPECT_EQ(report.worst_shift_load, fresh.worst_shift_load) << round;
    EXPECT_EQ(report.mean_shift_load, fresh.mean_shift_load) << round;
    EXPECT_EQ(report.unreached.size(), fresh.unreached.size()) << round;
    EXPECT_EQ(report.findings.size(), fresh.findings.size()) << round;
    input = std::move(next);
    was = std::move(is);
  }
  EXPECT_GT(kept_of[planes] + kept_of[planes - 1] + kept_of[planes - 2], 100U)
      << "most rounds touch two planes at most";
  EXPECT_LT(kept_of[planes], 60U);
}

// A ring of five on shortest routes: without the second lane its channels wait for each other in a circle.
TEST(Audit, AWrongLaneIsFound) {
  testing::FabricSketch ring;
  for (unsigned i = 0; i < 5; ++i) {
    ring.switches.push_back({2, 0});
    ring.cables.emplace_back(i, (i + 1) % 5);
  }
  const RoutingInput input = input_of(build(ring));
  const LayeredEngine engine;
  Routing routing = engine.route(input).value();
  ASSERT_GE(routing.lanes.used(), 2U);
  const AuditReport healthy = audit(input.view, routing.tables, routing.lanes);
  EXPECT_TRUE(healthy.verified());
  EXPECT_EQ(healthy.lanes, routing.lanes.used());
  Routing one_lane = routing;
  one_lane.lanes = {};
  EXPECT_EQ(audit(input.view, one_lane.tables, one_lane.lanes).credit_loops, 1U);
  // Single paths moved to another lane: the audit agrees with the naive checker.
  std::size_t circles = 0;
  PlaneLanes& lanes = routing.lanes.planes.front();
  const auto levels = lanes.path_level;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (levels[i] == 0) continue;
    lanes.path_level[i] = 0;
    const bool circle = check_naively(input.view, routing).credit_loop;
    const AuditReport report = audit(input.view, routing.tables, routing.lanes);
    EXPECT_EQ(report.credit_loops > 0, circle);
    EXPECT_EQ(report.credit_loop.empty(), !circle);
    circles += circle ? 1 : 0;
  }
  EXPECT_GT(circles, 0U);
}

}  // namespace
}  // namespace railweave::fabric
