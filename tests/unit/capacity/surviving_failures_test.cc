// Contracts that survive failures on random irregular fabrics: three jobs each, every link failed in turn, tables
// computed from scratch on what is left, and the load of every link by following every pair (naive_hose.h). Each job has a
// lane of its own as admission gives it: no two with one lane meet on a link after a failure that both survive.
// RAILWEAVE_FABRICS sets how many fabrics are tried.
#include <cstdlib>
#include <set>

#include <gtest/gtest.h>

#include "fabric/capacity/lane_owners.h"
#include "fabric/capacity/loads_of.h"
#include "tests/unit/capacity/naive_hose.h"
#include "tests/unit/capacity/routed_fabrics.h"
#include "tests/unit/routing/random_fabric.h"

namespace railweave::fabric {
namespace {

std::size_t fabrics_wanted(std::size_t usual) {
  const char* text = std::getenv("RAILWEAVE_FABRICS");
  return text == nullptr ? usual : std::strtoull(text, nullptr, 10);
}

TopologyPtr irregular(std::uint64_t seed) {
  switch (seed % 4) {
    case 0:
      return testing::build(testing::random_tree(seed));
    case 1: {  // a tree with uneven counts, some links of which may be down
      std::mt19937_64 random(seed);
      return testing::make_fat_tree(testing::random_shape(random, false));
    }
    default:
      return testing::build(testing::random_graph(seed));
  }
}

// Every third one with some links down.
FabricView irregular_view(std::uint64_t seed, std::mt19937_64& random) {
  FabricView view(irregular(seed));
  for (const LinkId link : view.topology().links()) {
    if (seed % 3 == 0 && view.topology().joins_switches(link) && random() % 12 == 0) {
      view.set_state(link, LinkState::down);
    }
  }
  return view;
}

struct SurvivingJob {
  Reservation wanted;
  std::vector<testing::NaivePort> ports;
  SurvivingLoad surviving;
  SurvivingLoad crossed_only;  // as if no failure changed routes that do not cross it
  LoadVector plain;            // as if nothing failed
  std::optional<std::uint8_t> lane, plain_lane;
};

// The lanes that admission would give in this order for such loads.
std::vector<std::optional<std::uint8_t>> lanes_for(const FabricView& view, const std::vector<const LoadVector*>& jobs) {
  Ledger ledger(whole_capacities_mbps(view), {.class_permille = {1'000}});
  std::vector<std::optional<std::uint8_t>> lanes;
  for (const LoadVector* loads : jobs) {
    Reservation one{.job = std::to_string(lanes.size()), .tenant = "t"};
    one.loads = *loads;
    one.lane = loads->empty() ? std::nullopt : free_lane(ledger, *loads, kMaxOwnedLanes);
    lanes.push_back(one.lane);
    ledger.reserve(std::make_shared<const Reservation>(std::move(one)));
  }
  return lanes;
}

void give_lanes(const FabricView& view, std::vector<SurvivingJob>& jobs) {
  std::vector<const LoadVector*> loads, plain;
  for (const SurvivingJob& job : jobs) {
    loads.push_back(&job.surviving.worst.loads);
    plain.push_back(&job.plain);
  }
  const auto lanes = lanes_for(view, loads), plain_lanes = lanes_for(view, plain);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    jobs[j].lane = lanes[j];
    jobs[j].plain_lane = plain_lanes[j];
  }
}

using Loads = std::map<testing::LinkWay, std::int64_t>;
bool meet(const Loads& a, const Loads& b) {
  return std::ranges::any_of(a, [&](const auto& one) { return b.contains(one.first); });
}

bool in_one_plane(const RoutingScope& scope, PortId a, PortId b) {
  return scope.plane_of(scope.find(a)) == scope.plane_of(scope.find(b));
}

SurvivingJob surviving_job(const testing::Routed& fabric, std::vector<PortId> ends, bool pattern,
                           std::mt19937_64& random) {
  SurvivingJob job;
  for (const PortId port : ends) {
    const auto mbps = static_cast<std::int64_t>(1000 + random() % 20'000);
    job.ports.push_back({port, mbps, mbps});
    if (!pattern) job.wanted.ports.push_back({port, mbps, mbps});
  }
  if (pattern) {
    job.wanted.promise = TrafficPromise::pattern;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const PortId to = ends[(i + 1) % ends.size()];
      if (!in_one_plane(*fabric.scope, ends[i], to)) continue;
      job.wanted.flows.push_back({{ends[i], to}, static_cast<std::int64_t>(1 + random() % 9'000)});
    }
  }
  HoseLoads loads(fabric.view, fabric.routing.tables);
  job.plain = load_of_promise(job.wanted, loads, PathWalker(loads.view(), loads.tables())).loads;
  FailureRoutes failures = testing::failure_routes(fabric);
  job.surviving = load_surviving_failures(job.wanted, loads, failures).value();
  failures.far_reaching = [](PlaneId) { return std::vector<LinkId>(); };
  job.crossed_only = load_surviving_failures(job.wanted, loads, failures).value();
  return job;
}

// What the job can put on each link, whatever it is that the promise allows; `whole`: everything arrives.
std::map<testing::LinkWay, std::int64_t> naive_load(const SurvivingJob& job, const FabricView& view,
                                                    const ForwardingTables& tables, bool& whole) {
  std::map<testing::LinkWay, std::int64_t> loads;
  const auto follow = [&](PortId from, PortId to) { return testing::walk(view, tables, from, to); };
  whole = true;
  for (const PatternFlow& flow : job.wanted.flows) {
    const auto path = follow(flow.ports.from, flow.ports.to);
    whole = whole && path.has_value();
    for (const auto& way : path.value_or(std::vector<testing::LinkWay>())) loads[way] += flow.mbps;
  }
  if (job.wanted.promise == TrafficPromise::pattern) return loads;
  for (const auto& a : job.ports) {
    for (const auto& b : job.ports) {
      if (a.port == b.port || !in_one_plane(tables.scope(), a.port, b.port)) continue;
      whole = whole && follow(a.port, b.port).has_value();
    }
  }
  for (const auto& [way, pairs] : testing::crossing_pairs(view, tables, job.ports)) {
    loads[way] = testing::largest_matching(job.ports, pairs);
  }
  return loads;
}

TEST(SurvivingFailures, NoLinkOfAnIrregularFabricIsShortAfterAnyFailure) {
  const std::size_t wanted = fabrics_wanted(120);
  std::size_t fabrics = 0, jobs_tried = 0, failures = 0, not_covered = 0, shortages = 0;
  std::size_t short_by_crossing = 0, hoses = 0, patterns = 0, one_lane = 0, met = 0, met_if_plain = 0;
  std::set<std::uint64_t> short_seeds;
  for (std::uint64_t seed = 1; fabrics < wanted; ++seed) {
    std::mt19937_64 random(seed);
    const testing::Routed fabric = testing::route_view(irregular_view(seed, random));
    std::vector<PortId> ends;
    for (const PortId port : fabric.ends) {
      if (fabric.view.topology().kind(fabric.view.topology().hca_of(port)) == HcaKind::host) ends.push_back(port);
    }
    if (ends.size() < 2) continue;
    ++fabrics;
    std::vector<SurvivingJob> jobs;
    for (int j = 0; j < 3; ++j) {
      std::ranges::shuffle(ends, random);
      const std::size_t count = 2 + random() % std::min<std::size_t>(6, ends.size() - 1);
      jobs.push_back(surviving_job(fabric, {ends.begin(), ends.begin() + static_cast<std::ptrdiff_t>(count)},
                                   random() % 3 == 0, random));
    }
    jobs_tried += jobs.size();
    for (const SurvivingJob& job : jobs) ++(job.wanted.promise == TrafficPromise::pattern ? patterns : hoses);
    give_lanes(fabric.view, jobs);
    for (const LinkId link : fabric.view.topology().links()) {
      if (!fabric.view.topology().joins_switches(link) || !fabric.view.alive(link)) continue;
      ++failures;
      FabricView failed = fabric.view;
      failed.set_state(link, LinkState::down);
      const Routing scratch =
          choose_engine(*fabric.scope).engine->route({.view = failed, .scope = fabric.scope}).value();
      std::vector<std::pair<const SurvivingJob*, Loads>> survivors;
      for (const SurvivingJob& job : jobs) {
        if (!job.surviving.worst.complete) continue;
        bool whole = true;
        auto loads = naive_load(job, failed, scratch.tables, whole);
        if (!whole) {  // a failure that cuts the job apart is survived by no promise, and says so
          ++not_covered;
          ASSERT_TRUE(std::ranges::binary_search(job.surviving.not_covered, link)) << "seed " << seed;
          continue;
        }
        for (const auto& [way, mbps] : loads) {
          const auto at = static_cast<DirectedLink>(way.first * 2 + (way.second ? 0 : 1));
          short_by_crossing += load_on(job.crossed_only.worst.loads, at) < mbps ? 1U : 0U;
          if (load_on(job.surviving.worst.loads, at) >= mbps) continue;
          ++shortages;
          short_seeds.insert(seed);
        }
        for (const auto& [other, others] : survivors) {
          const bool on_one_link = meet(loads, others);
          if (other->lane && other->lane == job.lane) {
            ++one_lane;
            if (on_one_link) ++met, short_seeds.insert(seed);
          }
          met_if_plain += on_one_link && job.plain_lane && other->plain_lane == job.plain_lane ? 1U : 0U;
        }
        survivors.emplace_back(&job, std::move(loads));
      }
    }
  }
  std::printf(
      "%zu fabrics, %zu jobs (%zu hoses, %zu patterns), %zu failures (%zu cut a job apart): %zu shortages, %zu if only "
      "failures of crossed links counted; %zu of %zu pairs of one lane meet, %zu if lanes went by routes before the "
      "failure; on %zu fabrics\n",
      fabrics, jobs_tried, hoses, patterns, failures, not_covered, shortages, short_by_crossing, met, one_lane,
      met_if_plain, short_seeds.size());
  EXPECT_EQ(shortages, 0U) << "first seed " << (short_seeds.empty() ? 0 : *short_seeds.begin());
  EXPECT_EQ(met, 0U) << "first seed " << (short_seeds.empty() ? 0 : *short_seeds.begin());
  EXPECT_GT(failures, 5 * wanted);
  EXPECT_GT(hoses, wanted / 2);
  EXPECT_GT(patterns, wanted / 2);
  EXPECT_GT(one_lane, failures / 10);
  EXPECT_GT(short_by_crossing, 0U) << "the test would see it if failures elsewhere were left out";
  EXPECT_GT(met_if_plain, 0U) << "and if lanes were given by the routes before a failure";
}

// On trees few failures reach beyond the routes that cross them: the work of a guarantee there grows with the links that
// it crosses, not with the fabric.
TEST(SurvivingFailures, AreFarReachingForFewLinksOfATree) {
  const testing::Routed tree = testing::route_view(FabricView(testing::make_fat_tree(
      {.hosts_per_leaf = 4, .leaves_per_pod = 4, .spines_per_pod = 4, .pods = 4, .cores_per_spine = 4})));
  EXPECT_TRUE(choose_engine(*tree.scope).engine->far_reaching_links(tree.routing, PlaneId(0)).empty());
  FabricView degraded = tree.view;
  std::mt19937_64 random(7);
  std::size_t down = 0;
  for (const LinkId link : degraded.topology().links()) {
    if (!degraded.topology().joins_switches(link) || random() % 16 != 0) continue;
    degraded.set_state(link, LinkState::down);
    ++down;
  }
  ASSERT_GT(down, 3U);
  const testing::Routed torn = testing::route_view(degraded);
  const auto few = choose_engine(*torn.scope).engine->far_reaching_links(torn.routing, PlaneId(0));
  EXPECT_LT(few.size(), links_of(torn.scope->plane(PlaneId(0))).size() / 4);
}

}  // namespace
}  // namespace railweave::fabric
