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

// A port that sends a packet of some size at each turn of a lane until its weight is used up; what a turn sends too much
// is charged to the next turn of the entry, or not: devices may do either.
TEST(Packets, EveryLaneOfAFullPortGetsWhatIsPromisedWhateverSizesPacketsHave) {
  const unsigned sizes[] = {4'126, 4'032, 4'182, 2'078, 1'100, 64, 4'096};
  std::size_t lanes_tried = 0, tables = 0;
  double least = 1;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<LaneDemand> demands;
    std::uint32_t left = 300 + random() % 500;  // permille that may be reserved
    for (std::uint8_t vl = 0; vl < 2 + random() % 7; ++vl) {
      const auto min = static_cast<std::uint32_t>(random() % 3 == 0 ? 0 : random() % (left / 2 + 1));
      left -= min;
      demands.push_back({vl, min, static_cast<std::uint32_t>(10 + random() % 300), random() % 3 == 0});
    }
    const auto table = assign_weights(demands, {.entries = random() % 2 == 0 ? 8U : 16U});
    if (!table) continue;
    ++tables;
    for (const LaneDemand& lane : demands) EXPECT_GE(promised_permille(*table, lane.vl), lane.min_permille);
    for (int trial = 0; trial < 6; ++trial) {
      // Each lane has packets of one size, or of any.
      std::vector<unsigned> size;
      for (std::size_t i = 0; i < demands.size(); ++i) size.push_back(random() % 8 == 7 ? 0 : sizes[random() % 7]);
      if (trial == 0) {  // the worst for one lane
        std::ranges::fill(size, 4'032U);
        size[random() % size.size()] = 4'126;
      }
      const bool carries = random() % 3 == 0;
      std::vector<std::uint64_t> sent(demands.size(), 0), waited(demands.size(), 0), longest(demands.size(), 0);
      std::vector<std::int64_t> left_of(table->low.size(), 0);
      std::uint64_t all = 0;
      for (int round = 0; round < 100; ++round) {
        for (std::size_t e = 0; e < table->low.size(); ++e) {
          const VlWeight entry = table->low[e];
          std::int64_t remaining = entry.weight * 64 + (carries ? left_of[e] : 0);
          while (remaining > 0) {
            const unsigned bytes = size[entry.vl] != 0 ? size[entry.vl] : 64 + random() % 4'118;
            remaining -= bytes;
            sent[entry.vl] += bytes;
            all += bytes;
            for (std::size_t i = 0; i < waited.size(); ++i) waited[i] = i == entry.vl ? 0 : waited[i] + bytes;
            for (std::size_t i = 0; i < waited.size(); ++i) longest[i] = std::max(longest[i], waited[i]);
          }
          left_of[e] = remaining;
        }
      }
      for (const LaneDemand& lane : demands) {
        ++lanes_tried;
        const double share = static_cast<double>(sent[lane.vl]) / static_cast<double>(all);
        const double promised = promised_permille(*table, lane.vl) / 1000.0;
        if (promised > 0) least = std::min(least, share / promised);
        EXPECT_GE(share + 0.0005, promised) << "seed " << seed << ", lane " << int(lane.vl);
        if (!carries) {
          EXPECT_LE(longest[lane.vl], longest_wait_bytes(*table, lane.vl));
        }
      }
    }
  }
  std::printf("%zu tables, %zu lanes: the least got %.3f of what was promised\n", tables, lanes_tried, least);
  EXPECT_GT(tables, 150U);
  EXPECT_LT(least, 1.1) << "the promise is not far from the worst case";
}

}  // namespace
}  // namespace railweave::scheduler
