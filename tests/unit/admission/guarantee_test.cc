// What was admitted holds: on random fabrics with failures, jobs are admitted until links are full; then every job
// sends as its hose allows (matchings are the extreme points of hoses with equal rates), everybody without a guarantee
// floods, and rates come from weighted max-min fairness of classes (fabric/flow), or from packets served in weighted
// turns. RAILWEAVE_MATRICES sets how many matrices are tried (a long run: 1000000).
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>

#include <gtest/gtest.h>

#include "fabric/flow/class_shares.h"
#include "fabric/qos/arbitration.h"
#include "scheduler/admission/bandwidth_admission.h"
#include "tests/unit/capacity/routed_fabrics.h"

namespace railweave::scheduler {
namespace {

using namespace fabric;  // NOLINT
using fabric::testing::Health;
using fabric::testing::random_fabric;
using fabric::testing::Routed;

struct Site {
  Routed fabric;
  QosClasses classes = default_qos_classes();
  Ledger ledger;
  std::size_t rejected = 0;

  explicit Site(std::uint64_t seed) : fabric(random_fabric(seed, seed % 3 == 0 ? Health::even : Health::failures)) {
    std::mt19937_64 random(seed * 31);
    ledger = Ledger(whole_capacities_mbps(fabric.view), capacity_rules(classes));
    HoseLoads loads(fabric.view, fabric.routing.tables);
    BandwidthAdmission admission(classes, ledger, loads);
    for (int job = 0; job < 40; ++job) {
      Contract contract{.tenant = "tenant-" + std::to_string(job % 5)};
      contract.guaranteed = RateMbps(static_cast<std::int64_t>(2'000 + random() % 60'000));
      const std::string names[] = {"latency", "all-reduce", "all-to-all", "storage"};
      contract.classes = {names[random() % 4]};
      BandwidthRequest request{.job = "job-" + std::to_string(job)};
      request.order = static_cast<std::uint64_t>(job);
      std::vector<PortId> ends = fabric.ends;
      std::ranges::shuffle(ends, random);
      ends.resize(std::min<std::size_t>(ends.size(), 2 + random() % 10));
      request.ports = ends;
      const AdmissionResult result = admission.admit(contract, request);
      if (const auto* admitted = std::get_if<Admitted>(&result)) {
        ledger.reserve(admitted->reservation);
      } else {
        ++rejected;
      }
    }
  }
};

// A random matching of each job's ports, ordered so that most pairs share switches with others' or go across.
void add_matchings(const Site& site, std::mt19937_64& random, std::vector<EndPortPair>& pairs,
                   std::vector<std::uint8_t>& class_of, std::vector<double>& cap) {
  for (const ReservationPtr& job : site.ledger.reservations()) {
    std::vector<PortId> to;
    for (const HosePort& port : job->ports) to.push_back(port.port);
    std::ranges::shuffle(to, random);
    for (std::size_t i = 0; i < to.size(); ++i) {
      const RoutingScope& scope = *site.fabric.scope;
      if (to[i] == job->ports[i].port) continue;
      if (scope.plane_of(scope.find(to[i])) != scope.plane_of(scope.find(job->ports[i].port))) continue;
      pairs.push_back({job->ports[i].port, to[i]});
      class_of.push_back(job->qos_class);
      cap.push_back(static_cast<double>(job->ports[i].send_mbps));
    }
  }
}

std::size_t matrices(std::size_t usual) {
  const char* asked = std::getenv("RAILWEAVE_MATRICES");
  return asked != nullptr ? static_cast<std::size_t>(std::atoll(asked)) : usual;
}

TEST(Guarantee, HoldsForEveryMatchingUnderMaxMinWithOthersFlooding) {
  const std::size_t wanted = matrices(3000);
  std::size_t tried = 0, flows = 0, below = 0, admitted = 0, rejected = 0;
  double worst = 1;
  for (std::uint64_t seed = 1; tried < wanted; ++seed) {
    const Site site(seed);
    const auto reservations = site.ledger.reservations();
    if (reservations.empty()) continue;
    admitted += reservations.size();
    rejected += site.rejected;
    const PathWalker walker(site.fabric.view, site.fabric.routing.tables);
    const auto capacity = link_capacities_mbps(site.fabric.view);
    std::vector<double> weight;
    for (const QosClass& one : site.classes) weight.push_back(one.share_permille);
    std::mt19937_64 random(seed);
    for (int i = 0; i < 60 && tried < wanted; ++i, ++tried) {
      std::vector<EndPortPair> pairs;
      std::vector<std::uint8_t> class_of;
      std::vector<double> cap;
      add_matchings(site, random, pairs, class_of, cap);
      const std::size_t promised = pairs.size();
      // Everybody else: best effort from every port, without a limit.
      for (const PortId from : site.fabric.ends) {
        for (int k = 0; k < 2; ++k) {
          const PortId to = site.fabric.ends[random() % site.fabric.ends.size()];
          if (to == from) continue;
          pairs.push_back({from, to});
          class_of.push_back(5);
          cap.push_back(std::numeric_limits<double>::infinity());
        }
      }
      FlowPaths all = walker.paths(pairs);
      // Floods that do not arrive send nothing.
      for (std::size_t f = 0; f < pairs.size(); ++f) {
        if (all.path(f).empty()) {
          ASSERT_GE(f, promised) << "an admitted pair has no route";
          cap[f] = 0;
        }
      }
      const ClassProblem problem{.flows = {.capacity = capacity, .first = all.first, .links = all.links, .cap = cap},
                                 .class_of = class_of,
                                 .classes = site.classes.size(),
                                 .class_weight = weight};
      const ClassRates rates = class_shared_rates(problem);
      for (std::size_t f = 0; f < promised; ++f) {
        ++flows;
        const double got = rates.flows.rate[f] / cap[f];
        worst = std::min(worst, got);
        below += got < 1 - 1e-6 ? 1 : 0;
      }
    }
  }
  std::printf("%zu matrices, %zu flows of %zu jobs (%zu refused): %zu below, the least got %.9f of its rate\n", tried,
              flows, admitted, rejected, below, worst);
  EXPECT_EQ(below, 0U);
  EXPECT_GT(rejected, admitted / 10) << "links are full: the test presses";
}

// Without rates: on every link and in every class, what matchings put there is within what is reserved, and that within
// the class's share.
TEST(Guarantee, NoMatchingPutsMoreOnALinkThanIsReserved) {
  const std::size_t wanted = matrices(60'000);
  std::size_t tried = 0, violations = 0;
  double fullest = 0;
  for (std::uint64_t seed = 1; tried < wanted; ++seed) {
    const Site site(seed);
    const PathWalker walker(site.fabric.view, site.fabric.routing.tables);
    const auto reservations = site.ledger.reservations();
    std::vector<std::map<std::pair<PortId, PortId>, std::vector<DirectedLink>>> paths(1);
    std::vector<std::int64_t> load(site.ledger.links() * site.ledger.classes(), 0);
    std::mt19937_64 random(seed);
    for (int i = 0; i < 1500 && tried < wanted; ++i, ++tried) {
      std::vector<EndPortPair> pairs;
      std::vector<std::uint8_t> class_of;
      std::vector<double> cap;
      add_matchings(site, random, pairs, class_of, cap);
      std::vector<std::size_t> touched;
      for (std::size_t f = 0; f < pairs.size(); ++f) {
        auto [at, fresh] = paths[0].try_emplace({pairs[f].from, pairs[f].to});
        if (fresh) walker.append(pairs[f], at->second);
        for (const DirectedLink link : at->second) {
          const std::size_t cell = link * site.ledger.classes() + class_of[f];
          load[cell] += static_cast<std::int64_t>(cap[f]);
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

// Serves queues in weighted turns as a port does, packets of any size; shares nothing with fabric/qos but the table.
class Port {
 public:
  explicit Port(VlArbitration table) : table_(std::move(table)) {}
  std::map<unsigned, std::deque<unsigned>> queues;  // by lane: packet sizes, or what the caller means by them
  // The lane that sends next; false: nothing to send.
  bool next(unsigned& lane, unsigned bytes_of(unsigned)) {
    for (std::size_t looked = 0; looked <= table_.low.size(); ++looked) {
      const VlWeight entry = table_.low[at_];
      auto& queue = queues[entry.vl];
      if (left_ > 0 && !queue.empty()) {
        lane = entry.vl;
        left_ -= static_cast<int>(bytes_of(queue.front()));
        return true;
      }
      at_ = (at_ + 1) % table_.low.size();
      left_ = table_.low[at_].weight * 64;
    }
    return false;
  }

 private:
  VlArbitration table_;
  std::size_t at_ = 0;
  int left_ = 0;
};

VlArbitration table_of(const QosClasses& classes, std::size_t entries) {
  std::vector<LaneDemand> demands;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    demands.push_back({static_cast<std::uint8_t>(c), classes[c].share_permille * 95 / 100, classes[c].share_permille,
                       classes[c].bound == ClassBound::latency});
  }
  return arbitration_of(demands, deal_turns(demands, entries).value(), entries);
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
        // A turn ends with the packet that uses it up, so lanes with odd sizes send up to a packet more per turn.
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

// A whole fabric in slots of one 4 KiB packet per link: queues per lane at every port, jobs send at their rates along a
// matching, best effort floods every cable.
TEST(Packets, AdmittedJobsGetTheirRatesAcrossAFabric) {
  std::size_t checked = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Site site(seed * 3);
    if (site.ledger.reservations().empty()) continue;
    const VlArbitration table = table_of(site.classes, 64);
    const PathWalker walker(site.fabric.view, site.fabric.routing.tables);
    std::mt19937_64 random(seed);
    std::vector<EndPortPair> pairs;
    std::vector<std::uint8_t> class_of;
    std::vector<double> cap;
    add_matchings(site, random, pairs, class_of, cap);
    const std::size_t promised = pairs.size();
    for (const PortId from : site.fabric.ends) {
      const PortId to = site.fabric.ends[random() % site.fabric.ends.size()];
      if (from == to) continue;
      pairs.push_back({from, to});
      class_of.push_back(5);
      cap.push_back(1e9);
    }
    std::vector<std::vector<DirectedLink>> path(pairs.size());
    for (std::size_t f = 0; f < pairs.size(); ++f) walker.append(pairs[f], path[f]);
    std::map<DirectedLink, Port> ports;
    for (const auto& links : path) {
      for (const DirectedLink link : links) ports.try_emplace(link, table);
    }
    const double full = static_cast<double>(site.ledger.capacity_mbps(path[0][0]));
    std::vector<double> credit(pairs.size(), 0);
    std::vector<std::uint64_t> arrived(pairs.size(), 0);
    std::map<std::pair<std::size_t, DirectedLink>, std::size_t> hop_of;
    for (std::size_t f = 0; f < pairs.size(); ++f) {
      for (std::size_t h = 0; h < path[f].size(); ++h) hop_of[{f, path[f][h]}] = h;
    }
    const int slots = 3000, warm = 1000;
    for (int slot = 0; slot < slots; ++slot) {
      for (std::size_t f = 0; f < pairs.size(); ++f) {
        if (path[f].empty()) continue;
        auto& queue = ports.at(path[f][0]).queues[class_of[f]];
        if (f >= promised) {
          if (queue.size() < 4) queue.push_back(static_cast<unsigned>(f));
          continue;
        }
        credit[f] += cap[f] / full;
        for (; credit[f] >= 1; credit[f] -= 1) queue.push_back(static_cast<unsigned>(f));
      }
      std::vector<std::pair<DirectedLink, unsigned>> moved;
      for (auto& [link, port] : ports) {
        unsigned lane = 0;
        if (!port.next(lane, [](unsigned) { return 4096U; })) continue;
        moved.emplace_back(link, port.queues[lane].front());
        port.queues[lane].pop_front();
      }
      for (const auto& [link, f] : moved) {
        const std::size_t hop = hop_of[{f, link}];
        if (hop + 1 == path[f].size()) {
          arrived[f] += slot >= warm ? 1U : 0U;
        } else {
          ports.at(path[f][hop + 1]).queues[class_of[f]].push_back(f);
        }
      }
    }
    for (std::size_t f = 0; f < promised; ++f) {
      const double rate = cap[f] / full * (slots - warm);
      EXPECT_GE(static_cast<double>(arrived[f]), rate * 0.97 - 20) << "flow " << f << " of class " << +class_of[f];
      ++checked;
    }
  }
  EXPECT_GT(checked, 100U);
}

}  // namespace
}  // namespace railweave::scheduler
