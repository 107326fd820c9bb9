// Loads of jobs where a subnet spreads packets over several paths, against the definition: every pair of ports is followed
// port by port with its fractions, and on every link a linear program (GLPK) asks for the worst traffic that hose allows.
#include "fabric/capacity/spread_load.h"

#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "fabric/capacity/loads_of.h"
#include "fabric/capacity/reroute.h"
#include "fabric/routing/plane/route_trace.h"
#include "tests/support/seeds.h"
#include "tests/unit/capacity/hose_program.h"
#include "tests/unit/capacity/naive_hose.h"
#include "tests/unit/capacity/routed_fabrics.h"

namespace railweave::fabric {
namespace {

using testing::Crossing;
using testing::Health;
using testing::LinkWay;
using testing::NaivePort;
using Fractions = std::map<LinkWay, double>;

// The slow way: one packet after the other, port by port. None: some do not arrive.
class NaiveSpread {
 public:
  NaiveSpread(const FabricView& view, const ForwardingTables& tables)
      : view_(view), tables_(tables), t_(view.topology()) {}

  std::optional<Fractions> between(PortId from, PortId to) {
    Fractions sum;
    std::vector<DestinationId> lids;
    for (const DestinationId id : tables_.scope().destinations()) {
      if (tables_.scope().destination(id).port == to) lids.push_back(id);
    }
    if (lids.empty() || !t_.peer(from) || !view_.alive(t_.link(from)) || !view_.alive(t_.link(to))) return std::nullopt;
    if (view_.spread(t_.subnet(t_.switch_of(t_.peer(from)))) == PathSpread::lmc) {
      const Lanes lanes{std::vector<PlaneLanes>(tables_.scope().planes().size())};
      for (const DestinationId lid : lids) {
        const RouteTrace trace = trace_route(view_, tables_, lanes, from, lid);
        if (trace.end != TraceEnd::arrived) return std::nullopt;
        for (const TraceHop& hop : trace.hops) sum[way(hop.out)] += 1.0 / static_cast<double>(lids.size());
      }
      return sum;
    }
    to_ = lids.front();
    if (hops(t_.switch_of(t_.peer(from))) < 0) return std::nullopt;
    sum[way(from)] = sum[way(t_.peer(to))] = 1;
    go(t_.switch_of(t_.peer(from)), 1, sum);
    return sum;
  }

 private:
  LinkWay way(PortId out) const { return {t_.link(out).value(), t_.a(t_.link(out)) == out}; }
  SwitchId home() const { return tables_.scope().destination(to_).home; }
  SwitchId next(SwitchId sw) const {
    const std::uint16_t port = tables_.out_port(sw, to_);
    if (port == kNoPort || port == kPortZero || port > t_.ports(sw).size()) return {};
    const PortId out = t_.ports(sw)[port - 1U];
    return t_.peer(out) && view_.alive(t_.link(out)) ? t_.switch_of(t_.peer(out)) : SwitchId();
  }
  int hops(SwitchId sw) const {
    int count = 0;
    for (; sw && sw != home() && count < 1000; ++count) sw = next(sw);
    return sw == home() ? count : -1;
  }
  void go(SwitchId sw, double fraction, Fractions& sum) const {
    if (sw == home()) return;
    std::vector<std::pair<PortId, double>> members;
    double all = 0;
    for (std::size_t number = 1; number <= t_.ports(sw).size(); ++number) {
      const PortId out = t_.ports(sw)[number - 1];
      if (!t_.peer(out) || !t_.is_switch_port(t_.peer(out)) || !view_.alive(t_.link(out))) continue;
      if (hops(t_.switch_of(t_.peer(out))) != hops(sw) - 1) continue;
      const auto rate = static_cast<double>(t_.rate(t_.link(out)).value());
      members.emplace_back(out, rate == 0 ? 100'000 : rate);
      all += members.back().second;
    }
    for (const auto& [out, rate] : members) {
      sum[way(out)] += fraction * rate / all;
      go(t_.switch_of(t_.peer(out)), fraction * rate / all, sum);
    }
  }

  const FabricView& view_;
  const ForwardingTables& tables_;
  const Topology& t_;
  DestinationId to_;
};

struct NaiveJob {
  std::map<LinkWay, std::vector<Crossing>> crossing;
  bool whole = true;
};

NaiveJob follow_all(const FabricView& view, const ForwardingTables& tables, const std::vector<NaivePort>& ports) {
  NaiveJob job;
  NaiveSpread naive(view, tables);
  const auto plane = [&](PortId port) { return tables.scope().plane_of(tables.scope().find(port)); };
  for (std::size_t s = 0; s < ports.size(); ++s) {
    for (std::size_t d = 0; d < ports.size(); ++d) {
      if (s == d || plane(ports[s].port) != plane(ports[d].port)) continue;
      const auto fractions = naive.between(ports[s].port, ports[d].port);
      job.whole = job.whole && fractions;
      if (!fractions) continue;
      for (const auto& [way, fraction] : *fractions) job.crossing[way].push_back({s, d, fraction});
    }
  }
  return job;
}

std::vector<NaivePort> some_ports(const testing::Routed& fabric, std::mt19937_64& random, std::size_t most, bool even) {
  std::vector<PortId> ends = fabric.ends;
  std::ranges::shuffle(ends, random);
  ends.resize(std::min<std::size_t>(ends.size(), 2 + random() % most));
  std::vector<NaivePort> ports;
  for (const PortId port : ends) {
    const auto rate = [&] { return even ? 12'000 : static_cast<std::int64_t>(random() % 5) * 700; };
    ports.push_back({port, rate(), rate()});
  }
  return ports;
}

DirectedLink directed(const LinkWay& way) { return static_cast<DirectedLink>(way.first * 2 + (way.second ? 0 : 1)); }

#ifdef RAILWEAVE_HAS_GLPK
struct SpreadCompared {
  std::size_t links = 0, below = 0, above = 0, whole_jobs = 0, broken_jobs = 0;
  double reserved = 0, needed = 0;
};

void compare_hoses(std::uint64_t seed, Health health, PathSpread spread, SpreadCompared& sum) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  const testing::Routed fabric = testing::spread_fabric(seed, health, spread);
  std::mt19937_64 random(seed * 31);
  HoseLoads loads(fabric.view, fabric.routing.tables);
  for (int job = 0; job < 2; ++job) {
    const auto ports = some_ports(fabric, random, 12, job == 0);
    const HoseLoad hose = loads.load(testing::as_hose(ports));
    const NaiveJob naive = follow_all(fabric.view, fabric.routing.tables, ports);
    // Ports of no rate are not asked about.
    if (job == 0) {
      EXPECT_EQ(hose.complete(), naive.whole);
    }
    ++(naive.whole ? sum.whole_jobs : sum.broken_jobs);
    std::size_t loaded = 0;
    for (const auto& [way, crossing] : naive.crossing) {
      const double worst = worst_load(ports, crossing);
      const auto reserved = static_cast<double>(load_on(hose.loads, directed(way)));
      loaded += worst > 1e-3 ? 1 : 0;
      ++sum.links;
      if (!naive.whole) continue;
      sum.below += reserved < worst - 1e-3 ? 1 : 0;
      sum.above += reserved >= worst + 1 ? 1 : 0;
      sum.reserved += reserved;
      sum.needed += worst;
    }
    if (naive.whole) {
      EXPECT_EQ(hose.loads.size(), loaded) << "other links carry nothing";
    }
  }
}

TEST(SpreadLoad, OfAHoseIsTheLinearProgramsOnHealthyFatTrees) {
  for (const PathSpread spread : {PathSpread::lmc, PathSpread::adaptive}) {
    SCOPED_TRACE(to_text(spread));
    SpreadCompared sum;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) compare_hoses(seed, Health::even, spread, sum);
    EXPECT_EQ(sum.below, 0U);
    if (spread == PathSpread::adaptive) {
      EXPECT_EQ(sum.above, 0U) << "fractions are alike: nothing is lower";
    }
    EXPECT_GT(sum.links, 2'000U);
    EXPECT_LT(sum.reserved, 1.05 * sum.needed);
    RecordProperty("links", static_cast<int>(sum.links));
  }
}

TEST(SpreadLoad, OfAHoseIsNeverBelowTheLinearPrograms) {
  for (const PathSpread spread : {PathSpread::lmc, PathSpread::adaptive}) {
    SCOPED_TRACE(to_text(spread));
    SpreadCompared sum;
    for (std::uint64_t seed = 1; seed <= part_of_seeds(80); ++seed) {
      compare_hoses(seed, seed % 3 == 0 ? Health::uneven : Health::failures, spread, sum);
    }
    EXPECT_EQ(sum.below, 0U);
    EXPECT_GT(sum.whole_jobs, part_of_seeds(60));
    EXPECT_GE(sum.broken_jobs, part_of_seeds(3));
    EXPECT_LT(sum.reserved, 1.25 * sum.needed);
    std::printf("%s: %zu links, %.4f of the linear programs, above on %zu\n", std::string(to_text(spread)).c_str(),
                sum.links, sum.reserved / sum.needed, sum.above);
  }
}

// Every link failed in turn: tables as rerouted, and the worst traffic on what is left.
TEST(SpreadLoad, SurvivesEveryFailureThatItSays) {
  std::size_t covered = 0, not_covered = 0, links = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const PathSpread spread = seed % 2 == 0 ? PathSpread::lmc : PathSpread::adaptive;
    const testing::Routed fabric =
        testing::spread_fabric(seed, seed % 3 == 0 ? Health::failures : Health::uneven, spread);
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed * 13);
    const auto ports = some_ports(fabric, random, 5, true);
    HoseLoads loads(fabric.view, fabric.routing.tables);
    Reservation wanted;
    wanted.ports = testing::as_hose(ports);
    const auto surviving = load_surviving_failures(wanted, loads, testing::failure_routes(fabric)).value();
    if (!surviving.worst.complete) continue;
    for (const LinkId link : fabric.view.topology().links()) {
      if (!fabric.view.topology().joins_switches(link) || !fabric.view.alive(link)) continue;
      const auto failed = testing::fail_one(fabric, link);
      const NaiveJob naive = follow_all(failed.view, failed.routing.tables, ports);
      if (!naive.whole) {
        ++not_covered;
        EXPECT_TRUE(std::ranges::binary_search(surviving.not_covered, link));
        continue;
      }
      ++covered;
      for (const auto& [way, crossing] : naive.crossing) {
        ++links;
        EXPECT_GE(static_cast<double>(load_on(surviving.worst.loads, directed(way))) + 1e-3,
                  worst_load(ports, crossing));
      }
    }
  }
  EXPECT_GT(covered, 100U);
  EXPECT_GT(not_covered, 5U);
  EXPECT_GT(links, 1'500U);
}
#endif

TEST(SpreadLoad, OfAPatternIsTheSumOfItsFlows) {
  std::size_t links = 0, lost = 0;
  for (std::uint64_t seed = 1; seed <= part_of_seeds(120); ++seed) {
    const PathSpread spread = seed % 2 == 0 ? PathSpread::lmc : PathSpread::adaptive;
    const testing::Routed fabric =
        testing::spread_fabric(seed, seed % 3 == 0 ? Health::uneven : Health::failures, spread);
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed * 17);
    Reservation wanted;
    wanted.promise = TrafficPromise::pattern;
    NaiveSpread naive(fabric.view, fabric.routing.tables);
    std::map<LinkWay, double> expected;
    bool whole = true;
    for (int i = 0; i < 12; ++i) {
      const PortId from = fabric.ends[random() % fabric.ends.size()], to = fabric.ends[random() % fabric.ends.size()];
      const auto& scope = *fabric.scope;
      if (from == to || scope.plane_of(scope.find(from)) != scope.plane_of(scope.find(to))) continue;
      const auto mbps = static_cast<std::int64_t>(1 + random() % 9'000);
      wanted.flows.push_back({{from, to}, mbps});
      const auto fractions = naive.between(from, to);
      whole = whole && fractions;
      if (!fractions) continue;
      for (const auto& [way, fraction] : *fractions) expected[way] += fraction * static_cast<double>(mbps);
    }
    HoseLoads loads(fabric.view, fabric.routing.tables);
    const auto load = load_of_promise(wanted, loads, PathWalker(fabric.view, fabric.routing.tables));
    EXPECT_EQ(load.complete, whole);
    lost += whole ? 0 : 1;
    EXPECT_EQ(load.loads.size(), expected.size());
    for (const auto& [way, mbps] : expected) {
      ++links;
      EXPECT_EQ(load_on(load.loads, directed(way)), std::llround(std::ceil(mbps - 1e-4)));
    }
  }
  EXPECT_GT(links, part_of_seeds(3'000));
  EXPECT_GT(lost, part_of_seeds(3));
}

// Bit by bit, continued on a copy, it ends where it ends at once.
TEST(SpreadLoad, TheSearchThroughFailuresMayBeInterrupted) {
  std::size_t steps = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const PathSpread spread = seed % 2 == 0 ? PathSpread::lmc : PathSpread::adaptive;
    const testing::Routed fabric = testing::spread_fabric(seed, Health::uneven, spread);
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    HoseLoads loads(fabric.view, fabric.routing.tables);
    Reservation wanted;
    wanted.ports = testing::as_hose(some_ports(fabric, random, 8, true));
    const FailureRoutes failures = testing::failure_routes(fabric);
    const auto at_once = load_surviving_failures(wanted, loads, failures).value();
    SurvivingSearch search(wanted, loads, failures);
    std::size_t left = search.spread_work();
    EXPECT_EQ(left == 0, search.is_done());
    while (!search.is_done()) {
      SurvivingSearch copy = search;
      ASSERT_TRUE(copy.run(wanted, loads, failures, 2));
      EXPECT_LT(copy.spread_work(), left);
      left = copy.spread_work();
      search = std::move(copy);
      ++steps;
    }
    const SurvivingLoad bitwise = std::move(search).take(wanted);
    EXPECT_EQ(bitwise.worst.loads, at_once.worst.loads);
    EXPECT_EQ(bitwise.covered, at_once.covered);
    EXPECT_EQ(bitwise.not_covered, at_once.not_covered);
  }
  EXPECT_GT(steps, 20U);
}

// Where packets are spread, a link that comes back changes shares without changing a table entry.
TEST(SpreadLoad, ReservationsCrossEveryChangeOfTheirPlane) {
  const testing::Routed fabric = testing::spread_fabric(2, Health::even, PathSpread::adaptive);
  HoseLoads loads(fabric.view, fabric.routing.tables);
  std::mt19937_64 random(5);
  auto wanted = std::make_shared<Reservation>();
  wanted->job = "job-1";
  wanted->ports = testing::as_hose(some_ports(fabric, random, 6, true));
  wanted->loads = loads.load(wanted->ports).loads;
  Ledger ledger(whole_capacities_mbps(fabric.view), {{1000}, 950});
  ledger.reserve(wanted);
  EXPECT_TRUE(crossing_changes(ledger, fabric.view, fabric.routing.tables, fabric.view, fabric.routing.tables).empty());
  for (const LinkId link : fabric.view.topology().links()) {
    if (!fabric.view.topology().joins_switches(link)) continue;
    FabricView changed = fabric.view;
    changed.set_state(link, LinkState::down);
    const bool same_plane =
        fabric.scope->arc_of(link).plane == fabric.scope->plane_of(fabric.scope->find(wanted->ports[0].port));
    EXPECT_EQ(crossing_changes(ledger, changed, fabric.routing.tables, fabric.view, fabric.routing.tables).size(),
              same_plane ? 1U : 0U);
  }
  FabricView single = fabric.view;
  for (const SubnetId subnet : single.topology().subnets()) single.set_spread(subnet, PathSpread::single);
  EXPECT_EQ(crossing_changes(ledger, fabric.view, fabric.routing.tables, single, fabric.routing.tables).size(), 1U);
}

}  // namespace
}  // namespace railweave::fabric
