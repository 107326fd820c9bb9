// Guarantees hold: on random fabrics with failures, jobs are admitted until links are full; then every job sends as its
// hose allows (matchings are the extreme points of hoses with equal rates), every port also floods without a guarantee,
// and rates come from weighted max-min fairness of classes (fabric/flow), or from packets served by weighted round
// robin. RAILWEAVE_MATRICES sets how many matrices are tried (a long run: 1000000).
#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <unordered_map>

#include <gtest/gtest.h>

#include "fabric/flow/class_shares.h"
#include "fabric/qos/arbitration.h"
#include "tests/unit/admission/admitted_site.h"

namespace railweave::scheduler {
namespace {

using namespace fabric;  // NOLINT
using testing::add_matchings;
using testing::matrices;
using testing::Site;
using testing::Traffic;

// Paths of a site's pairs, each walked once.
class KnownPaths {
 public:
  explicit KnownPaths(const Site& site) : walker_(site.fabric.view, site.fabric.routing.tables) {}
  const std::vector<DirectedLink>& path(EndPortPair pair) {
    auto [at, fresh] = paths_.try_emplace(std::uint64_t{pair.from.value()} << 32U | pair.to.value());
    if (fresh) walker_.append(pair, at->second);
    return at->second;
  }

 private:
  PathWalker walker_;
  std::unordered_map<std::uint64_t, std::vector<DirectedLink>> paths_;
};

TEST(Guarantee, HoldsForEveryMatchingUnderMaxMinWithOthersFlooding) {
  const std::size_t wanted = matrices(6000);
  const std::size_t of_a_site = wanted > 100'000 ? 300 : 60 / testing::kMatrixDivisor;
  std::size_t tried = 0, flows = 0, below = 0, admitted = 0, rejected = 0, sites = 0, unsettled = 0;
  double worst = 1;
  ClassShareSolver solver;
  ClassRates rates;
  Traffic traffic;
  std::vector<std::uint32_t> first, links;
  for (std::uint64_t seed = 1; tried < wanted; ++seed) {
    const Site site(seed);
    const auto reservations = site.ledger.reservations();
    if (reservations.empty()) continue;
    ++sites;
    admitted += reservations.size();
    rejected += site.rejected;
    KnownPaths paths(site);
    const auto capacity = link_capacities_mbps(site.fabric.view);
    std::vector<double> weight;
    for (const QosClass& one : site.classes) weight.push_back(one.share_permille);
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < of_a_site && tried < wanted; ++i, ++tried) {
      traffic.clear();
      add_matchings(site, reservations, random, traffic);
      const std::size_t promised = traffic.pairs.size();
      // And best effort from every port, without a limit.
      for (const PortId from : site.fabric.ends) {
        for (int k = 0; k < 2; ++k) {
          const PortId to = site.fabric.ends[random() % site.fabric.ends.size()];
          if (to != from) traffic.add({from, to}, 5, std::numeric_limits<double>::infinity());
        }
      }
      first.assign(1, 0);
      links.clear();
      for (std::size_t f = 0; f < traffic.pairs.size(); ++f) {
        const auto& path = paths.path(traffic.pairs[f]);
        // Floods that do not arrive send nothing.
        if (path.empty()) {
          ASSERT_GE(f, promised) << "an admitted pair has no route";
          traffic.cap[f] = 0;
        }
        links.insert(links.end(), path.begin(), path.end());
        first.push_back(static_cast<std::uint32_t>(links.size()));
      }
      const ClassProblem problem{.flows = {.capacity = capacity, .first = first, .links = links, .cap = traffic.cap},
                                 .class_of = traffic.class_of,
                                 .classes = site.classes.size(),
                                 .class_weight = weight};
      // Guaranteed rates do not depend on how far the shares of the residual capacity have settled.
      solver.solve(problem, rates, {.max_rounds = 60, .tolerance = 1e-5});
      unsettled += rates.settled ? 0 : 1;
      for (std::size_t f = 0; f < promised; ++f) {
        ++flows;
        const double got = rates.flows.rate[f] / traffic.cap[f];
        worst = std::min(worst, got);
        below += got < 1 - 1e-6 ? 1 : 0;
      }
    }
  }
  std::printf(
      "%zu matrices on %zu fabrics (%zu unsettled), %zu flows of %zu jobs (%zu refused): %zu below, the least got "
      "%.9f of its rate\n",
      tried, sites, unsettled, flows, admitted, rejected, below, worst);
  EXPECT_EQ(below, 0U);
  EXPECT_GT(rejected, admitted / 10) << "links are full: the test puts pressure on them";
}

// Without rates: on every link and in every class, what matchings put there is within what is reserved, and that within
// the class's share.
TEST(Guarantee, NoMatchingPutsMoreOnALinkThanIsReserved) {
  const std::size_t wanted = matrices(60'000);
  std::size_t tried = 0, violations = 0;
  double fullest = 0;
  for (std::uint64_t seed = 1; tried < wanted; ++seed) {
    const Site site(seed);
    const auto reservations = site.ledger.reservations();
    KnownPaths paths(site);
    Traffic traffic;
    std::vector<std::int64_t> load(site.ledger.links() * site.ledger.classes(), 0);
    std::vector<std::size_t> touched;
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < 1500 / testing::kMatrixDivisor && tried < wanted; ++i, ++tried) {
      traffic.clear();
      add_matchings(site, reservations, random, traffic);
      touched.clear();
      for (std::size_t f = 0; f < traffic.pairs.size(); ++f) {
        for (const DirectedLink link : paths.path(traffic.pairs[f])) {
          const std::size_t cell = link * site.ledger.classes() + traffic.class_of[f];
          load[cell] += static_cast<std::int64_t>(traffic.cap[f]);
          touched.push_back(cell);
        }
      }
      for (const std::size_t cell : touched) {
        const auto link = static_cast<DirectedLink>(cell / site.ledger.classes());
        const auto c = static_cast<std::uint8_t>(cell % site.ledger.classes());
        const std::int64_t reserved = site.ledger.reserved_mbps(link, c);
        if (load[cell] > reserved || reserved > site.ledger.limit_mbps(link, c)) ++violations;
        fullest =
            std::max(fullest, static_cast<double>(load[cell]) / static_cast<double>(site.ledger.limit_mbps(link, c)));
        load[cell] = 0;
      }
    }
  }
  std::printf("%zu matrices, %zu violations, the fullest class of a link at %.4f of its limit\n", tried, violations,
              fullest);
  EXPECT_EQ(violations, 0U);
  EXPECT_GT(fullest, 0.9);
}

// Serves queues by weighted round robin as a port does, packets of any size; shares nothing with fabric/qos but the
// table.
class Port {
 public:
  explicit Port(VlArbitration table) : table_(std::move(table)) {}
  std::map<unsigned, std::deque<unsigned>> queues;  // by lane: packet sizes, or what the caller means by them
  // The lane that sends next; false: nothing to send.
  bool next(unsigned& lane, unsigned bytes_of(unsigned)) {
    for (std::size_t step = 0; step <= table_.low.size(); ++step) {
      const VlWeight entry = table_.low[at_];
      auto& queue = queues[entry.vl];
      if (remaining_ > 0 && !queue.empty()) {
        lane = entry.vl;
        remaining_ -= static_cast<int>(bytes_of(queue.front()));
        return true;
      }
      at_ = (at_ + 1) % table_.low.size();
      remaining_ = table_.low[at_].weight * 64;
    }
    return false;
  }

 private:
  VlArbitration table_;
  std::size_t at_ = 0;
  int remaining_ = 0;
};

VlArbitration table_of(const QosClasses& classes, std::size_t entries) {
  std::vector<LaneDemand> demands;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    demands.push_back({static_cast<std::uint8_t>(c), classes[c].share_permille * 95 / 100, classes[c].share_permille,
                       classes[c].bound == ClassBound::latency});
  }
  return arbitration_of(demands, assign_quanta(demands, entries).value(), entries);
}

TEST(Packets, EveryLaneOfAFullPortGetsItsShareAndWaitsNoLongerThanPromised) {
  const QosClasses classes = default_qos_classes();
  for (const std::size_t entries : {8U, 16U, 64U}) {
    const VlArbitration table = table_of(classes, entries);
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      std::mt19937_64 random(seed);
      Port port(table);
      // Each lane has a packet size of its own, the worst for someone.
      std::vector<unsigned> size;
      for (std::size_t c = 0; c < classes.size(); ++c) size.push_back(random() % 3 == 0 ? 4096 : 64 + random() % 4032);
      std::vector<std::uint64_t> sent(classes.size(), 0), waited(classes.size(), 0), longest(classes.size(), 0);
      std::uint64_t all = 0;
      for (int packet = 0; packet < 60'000; ++packet) {
        for (unsigned c = 0; c < classes.size(); ++c) {
          if (port.queues[c].empty()) port.queues[c].push_back(size[c]);
        }
        unsigned lane = 0;
        ASSERT_TRUE(port.next(lane, [](unsigned bytes) { return bytes; }));
        port.queues[lane].pop_front();
        sent[lane] += size[lane];
        all += size[lane];
        for (std::size_t c = 0; c < classes.size(); ++c) waited[c] = c == lane ? 0 : waited[c] + size[lane];
        for (std::size_t c = 0; c < classes.size(); ++c) longest[c] = std::max(longest[c], waited[c]);
      }
      for (unsigned c = 0; c < classes.size(); ++c) {
        const double share = static_cast<double>(sent[c]) / static_cast<double>(all);
        // A lane is served until a packet uses up its weight, so lanes with odd sizes send up to a packet more each
        // time.
        std::uint64_t own = 0, others = 0;
        for (const VlWeight entry : table.low) {
          (entry.vl == c ? own : others) += entry.weight * 64U + (entry.vl == c ? 0U : size[entry.vl] - 64U);
        }
        EXPECT_GE(share, 0.999 * static_cast<double>(own) / static_cast<double>(own + others)) << classes[c].name;
        EXPECT_LE(longest[c], longest_wait_bytes(table, static_cast<std::uint8_t>(c)) + 4096) << classes[c].name;
        if (std::ranges::all_of(size, [](unsigned bytes) { return bytes == 4096; })) {
          EXPECT_GE(share * 1000 + 1, promised_permille(table, static_cast<std::uint8_t>(c)));
        }
      }
    }
  }
}

}  // namespace
}  // namespace railweave::scheduler
