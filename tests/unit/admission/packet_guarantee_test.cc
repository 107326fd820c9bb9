// Guarantees hold packet by packet too (lane_network.h): on small random fabrics with failures, every admitted job
// sends along a matching at its rate, every port floods as best effort, buffers are finite and no packet is dropped.
#include <functional>
#include <set>

#include <gtest/gtest.h>

#include "fabric/qos/arbitration.h"
#include "tests/support/seeds.h"
#include "tests/unit/admission/admitted_site.h"
#include "tests/unit/admission/lane_network.h"

namespace railweave::scheduler {
namespace {

using namespace fabric;  // NOLINT
using testing::LaneNetwork;
using Turns = std::vector<testing::LanePort::Entry>;

constexpr LaneNetwork::Time kMtu = 4096;

// One table for all ports: by what is reserved of the fullest link in each class. Empty: no table can promise that.
Turns planned_turns(const testing::Site& site, std::size_t entries) {
  std::vector<LaneDemand> demands;
  for (std::uint8_t c = 0; c < site.classes.size(); ++c) {
    std::uint32_t most = 0;
    for (DirectedLink link = 0; link < site.ledger.links(); ++link) {
      const std::int64_t capacity = site.ledger.capacity_mbps(link);
      if (capacity == 0) continue;
      most = std::max(
          most, static_cast<std::uint32_t>((site.ledger.reserved_mbps(link, c) * 1000 + capacity - 1) / capacity));
    }
    demands.push_back({c, most, site.classes[c].share_permille, site.classes[c].bound == ClassBound::latency});
  }
  Turns turns;
  const auto table = assign_weights(demands, {.entries = entries});
  if (!table) return turns;
  for (const VlWeight entry : table->low) turns.push_back({entry.vl, entry.weight});
  return turns;
}

using Change = std::function<void(Turns&)>;

struct Outcome {
  std::size_t fabrics = 0, with_failures = 0, flows = 0, below = 0;
  double worst = 1;  // of a flow's rate
  std::int64_t packets_bytes = 0;
};

// Routes that need no second lane to be free of deadlocks: fat trees, whatever is down.
void try_site(std::uint64_t seed, std::size_t entries, Outcome& outcome, const Change& change = {}) {
  const testing::Site site(seed, {.entries = entries});
  const auto jobs = site.ledger.reservations();
  if (jobs.empty() || site.fabric.routing.lanes.used() > 1) return;
  auto turns = planned_turns(site, entries);
  if (turns.empty()) return;
  if (change) change(turns);
  const PathWalker walker(site.fabric.view, site.fabric.routing.tables);
  std::mt19937_64 random(seed);
  testing::Traffic traffic;
  testing::add_matchings(site, jobs, random, traffic);
  const std::size_t promised = traffic.pairs.size();
  const auto flood = static_cast<std::uint8_t>(site.classes.size() - 1);
  for (const PortId from : site.fabric.ends) {
    const PortId to = site.fabric.ends[random() % site.fabric.ends.size()];
    if (from != to) traffic.add({from, to}, flood, 1e9);
  }
  LaneNetwork network(24 * kMtu, seed);
  testing::LanePort port{.high = {}, .low = turns};
  for (std::uint8_t level = 0; level < site.classes.size(); ++level) port.lane_of_level[level] = level;
  std::set<DirectedLink> links;
  std::vector<std::size_t> hops;
  for (std::size_t f = 0; f < traffic.pairs.size(); ++f) {
    std::vector<DirectedLink> path;
    walker.append(traffic.pairs[f], path);
    hops.push_back(path.size());
    if (path.empty() && f >= promised) continue;  // a flood into another plane
    double slowest = 400'000;
    for (const DirectedLink link : path) slowest = std::min(slowest, double(site.ledger.capacity_mbps(link)));
    ASSERT_EQ(slowest, 400'000) << "links are equally fast";
    for (const DirectedLink link : path) {
      if (links.insert(link).second) network.add_port(link, port);
    }
    network.add_flow({.path = path,
                      .level = traffic.class_of[f],
                      .rate = f < promised ? traffic.cap[f] / slowest : 2,
                      .least = random() % 3 == 0 ? 64 : kMtu,
                      .most = kMtu});
  }
  const LaneNetwork::Time time = 6'000 * kMtu;
  network.run(time);
  ++outcome.fabrics;
  for (const LinkId link : site.fabric.view.topology().links()) {
    if (site.fabric.view.alive(link)) continue;
    ++outcome.with_failures;
    break;
  }
  outcome.packets_bytes += network.sent_bytes();
  for (std::size_t f = 0; f < promised; ++f) {
    ASSERT_GT(hops[f], 0U);
    ++outcome.flows;
    // Bytes in flight: at each hop what the flow sends in two rounds of the table, and two packets.
    std::int64_t round = 0;
    for (const auto& turn : turns) round += turn.weight * 64 + kMtu;
    const double rate = traffic.cap[f] / 400'000;
    const auto in_flight =
        static_cast<std::int64_t>(static_cast<double>(hops[f]) * 2 * (rate * static_cast<double>(round) + kMtu));
    const std::int64_t made = network.made_bytes(f), arrived = network.arrived_bytes(f);
    outcome.worst = std::min(outcome.worst, double(arrived + in_flight) / double(made));
    outcome.below += arrived + in_flight < made ? 1 : 0;
  }
}

TEST(PacketGuarantee, AdmittedJobsGetTheirRatesThroughFiniteBuffers) {
  Outcome outcome;
  const std::uint64_t seeds = part_of_seeds(40);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    try_site(seed, 64, outcome);
    ASSERT_EQ(outcome.below, 0U);
  }
  std::printf("%zu fabrics (%zu with failures), %zu promised flows, %.1f GB over links: none below\n", outcome.fabrics,
              outcome.with_failures, outcome.flows, double(outcome.packets_bytes) / 1e9);
  EXPECT_GT(outcome.flows, 10 * seeds);
  EXPECT_GE(outcome.with_failures, std::max<std::uint64_t>(1, seeds / 4));
}

// As few entries as common switches have.
TEST(PacketGuarantee, HoldsWithTablesOfEightEntries) {
  Outcome outcome;
  const std::uint64_t seeds = std::max<std::uint64_t>(2, part_of_seeds(16));
  for (std::uint64_t seed = 41; seed < 41 + seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    try_site(seed, 8, outcome);
    ASSERT_EQ(outcome.below, 0U);
  }
  EXPECT_GT(outcome.flows, 150 * seeds / 16);
}

// The test detects what it is for: with the weights of all-reduce and best effort exchanged, jobs fall short.
TEST(PacketGuarantee, SeesWeightsThatAreExchanged) {
  const auto exchange = [](Turns& turns) {
    for (auto& turn : turns) turn.lane = turn.lane == 2 ? 5 : turn.lane == 5 ? 2 : turn.lane;
  };
  Outcome outcome;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) try_site(seed, 64, outcome, exchange);
  EXPECT_GT(outcome.below, 10U);
  EXPECT_LT(outcome.worst, 0.9);
}

}  // namespace
}  // namespace railweave::scheduler
