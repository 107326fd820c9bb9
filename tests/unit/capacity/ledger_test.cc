// The ledger against plain sums, and reservations after a reroute.
#include "fabric/capacity/ledger.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "fabric/capacity/hose_routes.h"
#include "fabric/capacity/loads_of.h"
#include "fabric/capacity/reroute.h"
#include "tests/support/seeds.h"
#include "tests/unit/capacity/naive_hose.h"
#include "tests/unit/capacity/routed_fabrics.h"

namespace railweave::fabric {
namespace {

constexpr std::uint8_t kBulk = 1;

Ledger ledger_of(const FabricView& view) {
  return {whole_capacities_mbps(view), {.class_permille = {200, 800}, .usable_permille = 950}};
}

std::shared_ptr<Reservation> hose_of(std::string job, std::span<const PortId> ports, std::int64_t mbps,
                                     std::uint64_t order) {
  auto one = std::make_shared<Reservation>();
  one->job = std::move(job);
  one->qos_class = kBulk;
  one->order = order;
  for (const PortId port : ports) one->ports.push_back({port, mbps, mbps});
  return one;
}

TEST(Ledger, KeepsSumsOfReservationsThroughCopiesAndReleases) {
  const testing::Routed fabric = testing::random_fabric(3, testing::Health::even);
  Ledger ledger = ledger_of(fabric.view);
  std::mt19937_64 random(1);
  std::map<std::pair<std::string, std::uint8_t>, LoadVector> plain;
  for (int step = 0; step < 400; ++step) {
    const std::string job = "job-" + std::to_string(random() % 20);
    const auto qos_class = static_cast<std::uint8_t>(random() % 2);
    if (ledger.find(job, qos_class)) {
      EXPECT_EQ(ledger.release(job, qos_class)->loads, plain[std::pair(job, qos_class)]);
      plain.erase({job, qos_class});
    } else {
      auto one = std::make_shared<Reservation>();
      one->job = job;
      one->qos_class = qos_class;
      for (DirectedLink link = 0; link < ledger.links(); ++link) {
        if (random() % 5 == 0) one->loads.push_back({link, static_cast<std::int64_t>(1 + random() % 1000)});
      }
      plain[std::pair(job, qos_class)] = one->loads;
      const Ledger copy = ledger;
      ledger.reserve(one);
      if (!one->loads.empty()) {
        EXPECT_NE(copy.reserved_mbps(one->loads[0].link, qos_class),
                  ledger.reserved_mbps(one->loads[0].link, qos_class));
      }
    }
    for (std::uint8_t c = 0; c < 2; ++c) {
      const auto link = static_cast<DirectedLink>(random() % ledger.links());
      std::int64_t sum = 0;
      for (const auto& [key, loads] : plain) sum += key.second == c ? load_on(loads, link) : 0;
      ASSERT_EQ(ledger.reserved_mbps(link, c), sum);
    }
  }
}

TEST(Ledger, NamesFullLinksAndTheJobsThatHoldThem) {
  const testing::Routed fabric = testing::random_fabric(3, testing::Health::even);
  Ledger ledger = ledger_of(fabric.view);
  const std::int64_t limit = ledger.limit_mbps(0, kBulk);
  EXPECT_EQ(limit, ledger.capacity_mbps(0) * 950 / 1000 * 800 / 1000);
  for (const auto& [job, mbps] : {std::pair("small", limit / 4), std::pair("large", limit / 2)}) {
    auto one = std::make_shared<Reservation>();
    one->job = job;
    one->qos_class = kBulk;
    one->loads = {{0, mbps}};
    EXPECT_TRUE(ledger.full_links(one->loads, kBulk).empty());
    ledger.reserve(one);
  }
  EXPECT_TRUE(ledger.full_links({{0, limit - limit / 4 - limit / 2}}, kBulk).empty());
  const auto full = ledger.full_links({{0, limit - limit / 4 - limit / 2 + 1}, {1, 1}}, kBulk);
  ASSERT_EQ(full.size(), 1U);
  EXPECT_EQ(full[0].link, 0U);
  ASSERT_EQ(full[0].holders.size(), 2U);
  EXPECT_EQ(full[0].holders[0].job, "large");
  EXPECT_EQ(full[0].holders[1].mbps, limit / 4);
}

// Links at any rate, below, at and above what is accepted: what fits is what a plain sum says, and the jobs that a change of rates
// concerns are those with a load on one of its links.
TEST(Ledger, CountsWhatLinksAreSeenToRunAt) {
  std::size_t refused = 0, fitted = 0, concerned = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const testing::Routed fabric =
        testing::random_fabric(seed, seed % 2 == 0 ? testing::Health::even : testing::Health::failures);
    const Topology& t = fabric.view.topology();
    std::mt19937_64 random(seed);
    FabricView slower = fabric.view;
    std::map<std::uint32_t, std::int64_t> seen;  // by link
    for (const LinkId link : t.links()) {
      if (random() % 3 != 0) continue;
      seen[link.value()] = static_cast<std::int64_t>(2'000 << random() % 9);
      slower.set_rate_seen(link, RateMbps(seen[link.value()]));
    }
    const auto naive_capacity = [&](DirectedLink link) -> std::int64_t {
      const LinkId of(link / 2);
      if (fabric.view.state(of) == LinkState::down) return 0;
      const std::int64_t accepted = t.rate(of).value() == 0 ? 100'000 : t.rate(of).value();
      const auto at = seen.find(of.value());
      return at != seen.end() && (at->second < accepted || t.rate(of).value() == 0) ? at->second : accepted;
    };
    Ledger ledger = ledger_of(slower);
    HoseLoads loads(fabric.view, fabric.routing.tables);
    std::vector<PortId> ends = fabric.ends;
    std::ranges::shuffle(ends, random);
    std::map<std::string, LoadVector> plain;
    for (std::size_t at = 0; at + 1 < ends.size(); at += 3) {
      auto job =
          hose_of("job-" + std::to_string(at), std::span(ends).subspan(at, std::min<std::size_t>(3, ends.size() - at)),
                  static_cast<std::int64_t>(100 + random() % 20'000), at);
      job->loads = loads.load(job->ports).loads;
      bool fits = true;
      for (const LinkLoad& load : job->loads) {
        std::int64_t sum = load.mbps;
        for (const auto& [name, held] : plain) sum += load_on(held, load.link);
        fits = fits && sum <= naive_capacity(load.link) * 950 / 1000 * 800 / 1000;
      }
      EXPECT_EQ(ledger.full_links(job->loads, kBulk).empty(), fits) << job->job;
      ++(fits ? fitted : refused);
      if (!fits) continue;
      plain[job->job] = job->loads;
      ledger.reserve(job);
    }
    for (DirectedLink link = 0; link < ledger.links(); ++link) {
      ASSERT_EQ(ledger.capacity_mbps(link), naive_capacity(link));
    }
    std::set<std::string> crossing;
    for (const auto& one :
         crossing_changes(ledger, slower, fabric.routing.tables, fabric.view, fabric.routing.tables)) {
      crossing.insert(one->job);
    }
    for (const auto& reservation : ledger.reservations()) {
      bool is_concerned = false;
      for (DirectedLink link = 0; link < ledger.links(); ++link) {
        const bool differs = fabric.view.state(LinkId(link / 2)) != LinkState::down &&
                             naive_capacity(link) !=
                                 (t.rate(LinkId(link / 2)).value() == 0 ? 100'000 : t.rate(LinkId(link / 2)).value());
        const bool is_own = std::ranges::any_of(
            reservation->ports, [&](const HosePort& port) { return t.link(port.port) == LinkId(link / 2); });
        is_concerned = is_concerned || (differs && (is_own || load_on(reservation->loads, link) > 0));
      }
      if (!is_concerned) continue;
      EXPECT_TRUE(crossing.contains(reservation->job)) << reservation->job;
      ++concerned;
    }
  }
  EXPECT_GT(refused, 20U);
  EXPECT_GT(fitted, 20U);
  EXPECT_GT(concerned, 20U);
}

// After a reroute, jobs that are not recomputed keep their loads; recomputed ones have the loads on the new tables.
TEST(Reroute, RecomputesJobsWhoseRoutesChangedAndNoOthers) {
  std::size_t recomputed = 0, kept = 0;
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const testing::Routed fabric =
        testing::random_fabric(seed, seed % 2 == 0 ? testing::Health::even : testing::Health::failures);
    Ledger ledger = ledger_of(fabric.view);
    HoseLoads loads(fabric.view, fabric.routing.tables);
    std::mt19937_64 random(seed);
    std::vector<PortId> ends = fabric.ends;
    std::ranges::shuffle(ends, random);
    for (std::size_t at = 0; at < ends.size(); at += 4) {
      auto job = hose_of("job-" + std::to_string(at),
                         std::span(ends).subspan(at, std::min<std::size_t>(4, ends.size() - at)), 100, at);
      job->loads = loads.load(job->ports).loads;
      ledger.reserve(job);
    }
    const auto all = ledger.reservations();
    for (int i = 0; i < 6; ++i) {
      const LinkId link(random() % fabric.view.topology().links().size());
      const testing::FailedOne after = testing::fail_one(fabric, link);
      const auto crossing =
          crossing_changes(ledger, fabric.view, fabric.routing.tables, after.view, after.routing.tables);
      Ledger changed = ledger;
      changed.set_capacity(whole_capacities_mbps(after.view));
      HoseLoads fresh(after.view, after.routing.tables);
      const RerouteOutcome outcome = recompute(changed, crossing, fresh);
      recomputed += outcome.recomputed.size();
      std::set<std::string> lapsed;
      for (const auto& one : outcome.lapsed) lapsed.insert(one.reservation->job);
      for (const ReservationPtr& one : all) {
        const HoseLoad expected = fresh.load(one->ports);
        const ReservationPtr now = changed.find(one->job, kBulk);
        if (now == nullptr) {
          EXPECT_TRUE(lapsed.contains(one->job));
          continue;
        }
        EXPECT_EQ(now->loads, expected.loads) << one->job;
        kept += now == one ? 1 : 0;
      }
    }
  }
  EXPECT_GT(recomputed, 100U);
  EXPECT_GT(kept, 100U);
}

TEST(Reroute, KeepsJobsAdmittedFirstIfNotAllFit) {
  // Two leaves with two hosts each and two spines; each job has a port on either leaf and needs 60 % of a cable.
  const testing::Routed fabric = testing::route_view(FabricView(testing::make_fat_tree(
      {.hosts_per_leaf = 2, .leaves_per_pod = 2, .spines_per_pod = 2, .pods = 1, .cores_per_spine = 0})));
  Ledger ledger = ledger_of(fabric.view);
  HoseLoads loads(fabric.view, fabric.routing.tables);
  const std::int64_t rate = ledger.limit_mbps(0, kBulk) * 6 / 10;
  for (std::uint64_t job = 0; job < 2; ++job) {
    auto one =
        hose_of("job-" + std::to_string(job), std::vector{fabric.ends[job], fabric.ends[2 + job]}, rate, 10 - job);
    one->loads = loads.load(one->ports).loads;
    ASSERT_TRUE(ledger.full_links(one->loads, kBulk).empty());
    ledger.reserve(one);
  }
  LinkId uplink;
  for (const LinkId link : fabric.view.topology().links()) {
    if (fabric.view.topology().joins_switches(link)) uplink = link;
  }
  const testing::FailedOne after = testing::fail_one(fabric, uplink);
  const auto crossing = crossing_changes(ledger, fabric.view, fabric.routing.tables, after.view, after.routing.tables);
  Ledger changed = ledger;
  changed.set_capacity(whole_capacities_mbps(after.view));
  HoseLoads fresh(after.view, after.routing.tables);
  const RerouteOutcome outcome = recompute(changed, ledger.reservations(), fresh);
  ASSERT_EQ(crossing.size(), 1U);
  ASSERT_EQ(outcome.lapsed.size(), 1U);
  EXPECT_EQ(outcome.lapsed[0].reservation->job, "job-0") << "which was admitted second";
  ASSERT_FALSE(outcome.lapsed[0].links.empty());
  EXPECT_EQ(outcome.lapsed[0].links[0].holders[0].job, "job-1");
}

// For every single failure, the reserved load is enough by the naive computation.
TEST(SurvivingFailures, ReservesEnoughForEachLinkFailure) {
  std::size_t covered = 0;
  for (std::uint64_t seed = 2; seed < 2 + part_of_seeds(12); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const testing::Routed fabric =
        testing::random_fabric(seed, seed % 2 == 0 ? testing::Health::even : testing::Health::failures);
    std::mt19937_64 random(seed);
    std::vector<PortId> ends = fabric.ends;
    std::ranges::shuffle(ends, random);
    ends.resize(std::min<std::size_t>(ends.size(), 8));
    const auto job = hose_of("job", ends, 100, 0);
    HoseLoads loads(fabric.view, fabric.routing.tables);
    const auto surviving = load_surviving_failures(*job, loads, testing::failure_routes(fabric));
    ASSERT_TRUE(surviving);
    std::vector<testing::NaivePort> ports;
    for (const PortId port : ends) ports.push_back({port, 100, 100});
    const std::set<LinkId> promised(surviving->covered.begin(), surviving->covered.end());
    ASSERT_FALSE(fabric.view.topology().links().empty());
    for (const LinkId link : fabric.view.topology().links()) {
      const bool crossed = load_on(surviving->worst.loads, static_cast<DirectedLink>(link.index() * 2)) > 0 ||
                           load_on(surviving->worst.loads, static_cast<DirectedLink>(link.index() * 2 + 1)) > 0;
      if (!promised.contains(link) && (crossed || !fabric.view.alive(link))) continue;
      const testing::FailedOne after = testing::fail_one(fabric, link);
      for (const auto& [way, pairs] : testing::crossing_pairs(after.view, after.routing.tables, ports)) {
        const auto at = static_cast<DirectedLink>(way.first * 2 + (way.second ? 0 : 1));
        ASSERT_GE(load_on(surviving->worst.loads, at), testing::largest_matching(ports, pairs));
      }
      covered += promised.contains(link) ? 1 : 0;
    }
  }
  EXPECT_GT(covered, part_of_seeds(50));
}

// Loads computed from changed entries alone equal those computed from scratch on each failed fabric, link by link: not
// more and not less.
TEST(SurvivingFailures, AreTheLargestLoadsOfAllFailedFabrics) {
  std::size_t covered = 0, not_covered = 0, raised = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const testing::Routed fabric = testing::random_fabric(
        seed,
        seed % 3 == 0 ? testing::Health::even : (seed % 3 == 1 ? testing::Health::uneven : testing::Health::failures));
    std::mt19937_64 random(seed);
    std::vector<PortId> ends = fabric.ends;
    std::ranges::shuffle(ends, random);
    ends.resize(std::min<std::size_t>(ends.size(), 3 + random() % 20));
    auto job = hose_of("job", {}, 0, 0);
    for (const PortId port : ends) {
      job->ports.push_back(
          {port, static_cast<std::int64_t>(1 + random() % 300), static_cast<std::int64_t>(1 + random() % 300)});
    }
    if (seed % 4 == 0) {
      job->promise = TrafficPromise::pattern;
      for (int i = 0; i < 30; ++i) {
        const PortId from = ends[random() % ends.size()], to = ends[random() % ends.size()];
        if (from != to) job->flows.push_back({{from, to}, static_cast<std::int64_t>(1 + random() % 300)});
      }
    }
    if (seed % 5 == 0) job->reserved_permille = 700;
    HoseLoads loads(fabric.view, fabric.routing.tables);
    const auto got = load_surviving_failures(*job, loads, testing::failure_routes(fabric));
    ASSERT_TRUE(got);
    const auto plain = load_of_promise(*job, loads, PathWalker(fabric.view, fabric.routing.tables));
    LoadVector worst = plain.loads;
    const std::set<LinkId> covers(got->covered.begin(), got->covered.end());
    const std::set<LinkId> leaves_out(got->not_covered.begin(), got->not_covered.end());
    ASSERT_FALSE(fabric.view.topology().links().empty());
    for (const LinkId link : fabric.view.topology().links()) {
      const auto way = static_cast<DirectedLink>(link.index() * 2);
      const bool crossed = load_on(plain.loads, way) > 0 || load_on(plain.loads, way + 1) > 0;
      if (!fabric.view.topology().joins_switches(link) || !fabric.view.alive(link) || !plain.complete) {
        ASSERT_EQ(leaves_out.contains(link), crossed);
        continue;
      }
      const testing::FailedOne after = testing::fail_one(fabric, link);
      HoseLoads after_loads(after.view, after.routing.tables);
      const auto load = load_of_promise(*job, after_loads, PathWalker(after.view, after.routing.tables));
      if (load.complete) worst = larger_of(worst, load.loads);
      ASSERT_FALSE((load.complete ? leaves_out : covers).contains(link));
      ASSERT_TRUE((load.complete ? covers : leaves_out).contains(link) || (!crossed && load.complete));
    }
    ASSERT_EQ(got->worst.loads, worst);
    covered += covers.size();
    not_covered += plain.complete ? leaves_out.size() : 0;
    raised += worst != plain.loads ? 1U : 0U;
  }
  EXPECT_GT(covered, 500U);
  EXPECT_GT(not_covered, 50U);
  EXPECT_GT(raised, 20U);
}

// Entries that still lead to the failed link lose packets: such a failure is not survived.
TEST(SurvivingFailures, AreNotCoveredIfEntriesStayOnTheDeadLink) {
  const testing::Routed fabric = testing::random_fabric(3, testing::Health::even);
  std::vector<HosePort> ports;
  for (const PortId port : fabric.ends) {
    if (fabric.scope->plane_of(fabric.scope->find(port)) == PlaneId(0)) ports.push_back({port, 10, 10});
  }
  HoseRoutes routes(fabric.view, fabric.routing.tables, PlaneId(0), ports);
  ASSERT_TRUE(routes.complete());
  HoseLoads loads(fabric.view, fabric.routing.tables);
  std::size_t crossed = 0;
  ASSERT_FALSE(loads.load(ports).loads.empty());
  for (const LinkLoad& load : loads.load(ports).loads) {
    if (!fabric.view.topology().joins_switches(link_of(load.link))) continue;
    ++crossed;
    EXPECT_FALSE(routes.loads_without(link_of(load.link), {PlaneId(0), {}}));
  }
  EXPECT_GT(crossed, 0U);
}

TEST(PatternLoad, SumsFlowsAndNeverNeedsMoreThanTheHose) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const testing::Routed fabric = testing::random_fabric(seed, testing::Health::uneven);
    const PathWalker walker(fabric.view, fabric.routing.tables);
    std::vector<PatternFlow> ring;
    std::vector<HosePort> ports;
    const std::size_t n = fabric.ends.size();
    for (std::size_t i = 0; i < n && n > 1; ++i) {
      ring.push_back({{fabric.ends[i], fabric.ends[(i + 1) % n]}, 50});
      ports.push_back({fabric.ends[i], 50, 50});
    }
    HoseLoads loads(fabric.view, fabric.routing.tables);
    const LoadVector hose = loads.load(ports).loads;
    const PatternLoad pattern = pattern_load(walker, ring);
    std::map<DirectedLink, std::int64_t> sums;
    for (const PatternFlow& flow : ring) {
      std::vector<DirectedLink> path;
      if (!walker.append(flow.ports, path)) continue;
      for (const DirectedLink link : path) sums[link] += 50;
    }
    ASSERT_EQ(pattern.loads.size(), sums.size());
    for (const LinkLoad& load : pattern.loads) {
      EXPECT_EQ(load.mbps, sums[load.link]);
      EXPECT_LE(load.mbps, load_on(hose, load.link));
    }
  }
}

}  // namespace
}  // namespace railweave::fabric
