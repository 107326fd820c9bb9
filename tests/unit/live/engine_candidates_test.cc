// Other engines on a subnet as it is: what is said of each is counted here again, by walking tables, and what is called better is.
#include "services/control/live/routes/engine_candidates.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "fabric/routing/engine_registry.h"
#include "gtest/gtest.h"
#include "tests/unit/live/irregular_graph.h"
#include "tests/unit/live/live_fixture.h"

namespace railweave::control {
namespace engine_candidates_test {

using namespace fabric;  // NOLINT: this file is about its types

using irregular_graph::graph, irregular_graph::kSwitches;

// Pairs of hosts on the fullest link between switches, entry by entry; 0: a pair does not arrive.
std::uint64_t fullest(const ForwardingTables& tables) {
  const Topology& t = tables.scope().topology();
  std::map<PortId, std::uint64_t> load;
  std::uint64_t most = 0;
  for (const PortId from : t.hca_ports()) {
    for (const PortId to : t.hca_ports()) {
      if (from == to) continue;
      PortId in = t.peer(from);
      for (unsigned hops = 0; in != to; ++hops) {
        if (hops > kSwitches) return 0;
        const SwitchId sw = t.switch_of(in);
        const unsigned number = tables.out_port(sw, tables.scope().find(to));
        PortId out;
        for (const PortId port : t.ports(sw)) {
          if (t.number(port) == number) out = port;
        }
        if (!out || !t.peer(out)) return 0;
        in = t.peer(out);
        if (t.is_switch_port(in)) most = std::max(most, ++load[out]);
      }
    }
  }
  return most;
}

FabricRoutesPtr routes_by(const TopologyPtr& topology, const RoutingEngine* engine, unsigned lanes) {
  RoutingCache cache;
  if (engine != nullptr) cache.prefer(engine, lanes);
  return cache.on(FabricView(topology)).value();
}

BalanceInput input_of(const FabricRoutesPtr& routes) {
  BalanceInput in{.base = routes, .input = routes->input, .now = routes->routing, .planes = {}, .view_version = 7};
  for (const PlaneId plane : routes->scope().planes()) in.planes.push_back(plane);
  in.input.threads = 1;
  return in;
}

TEST(EngineCandidates, WhatIsSaidOfEachIsWhatItsTablesDo) {
  unsigned better = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    const TopologyPtr topology = graph(seed);
    const auto used = routes_by(topology, nullptr, 0);
    const std::atomic<bool> never{false};
    const ComparedView compared = compare_engines(input_of(used), std::chrono::minutes(10), never);
    EXPECT_EQ(compared.view_version, 7U);
    const auto& engines = compared.comparison.engines;
    ASSERT_TRUE(engines.front().is_used);
    const std::uint64_t before = fullest(used->routing.tables);
    EXPECT_EQ(engines.front().fullest, before);
    std::set<std::string> names;
    for (const ComparedEngine& one : engines) {
      names.insert(one.engine);
      if (!one.problem.empty() || one.is_used) continue;
      const auto made = routes_by(topology, find_engine(one.engine), one.max_lanes);
      EXPECT_EQ(one.fullest, fullest(made->routing.tables)) << one.engine;
      EXPECT_EQ(one.lanes, std::max(1U, made->routing.lanes.used())) << one.engine;
      EXPECT_LE(one.lanes, one.max_lanes);
    }
    EXPECT_EQ(names.size(), routing_engines().size());
    if (!compared.comparison.better) continue;
    ++better;
    // What the setting takes is less full, and the same once more, as after a restart.
    const ComparedEngine& best = engines[*compared.comparison.better];
    const auto taken = routes_by(topology, find_engine(best.engine), best.max_lanes);
    EXPECT_EQ(taken->choice.engine->name(), best.engine);
    EXPECT_LE(fullest(taken->routing.tables) * 10, before * 9);
    EXPECT_TRUE(routes_by(topology, find_engine(best.engine), best.max_lanes)->routing.tables == taken->routing.tables);
    const ComparedView again = compare_engines(input_of(taken), std::chrono::minutes(10), never);
    const auto& next = again.comparison;
    EXPECT_TRUE(!next.better || next.engines[*next.better].fullest * 10 <= next.engines.front().fullest * 9)
        << "each one that is taken is less full, so that there is no circle";
  }
  EXPECT_GT(better, 0U) << "else the test holds little";
}

TEST(EngineCandidates, NoneIsBegunOnceItIsStopped) {
  const auto used = routes_by(graph(1), nullptr, 0);
  const std::atomic<bool> stopped{true};
  const ComparedView compared = compare_engines(input_of(used), std::chrono::minutes(10), stopped);
  EXPECT_FALSE(compared.comparison.better);
  for (const ComparedEngine& one : compared.comparison.engines) EXPECT_EQ(one.is_used, one.problem.empty());
}

TEST(EngineCandidates, TheFewestLanesAmongNearEquals) {
  const ComparedEngine used{.engine = "up-down", .lanes = 1, .fullest = 1'000, .is_used = true};
  const auto layered = [](unsigned lanes, std::uint64_t fullest) {
    return ComparedEngine{.engine = "layered", .max_lanes = lanes, .lanes = lanes, .fullest = fullest};
  };
  EXPECT_EQ(better_engine({used, layered(8, 500), layered(4, 520), layered(2, 600)}), 2U);
  EXPECT_EQ(better_engine({used, layered(8, 901)}), std::nullopt) << "no clear margin";
  ComparedEngine faulty = layered(2, 100);
  faulty.problem = "a credit loop";
  EXPECT_EQ(better_engine({used, faulty}), std::nullopt);
}

TEST(EngineCandidates, WhereTheNamedEngineCannotRouteTheShapeDoes) {
  const RoutingEngine* torus = find_engine("torus-3d");
  ASSERT_NE(torus, nullptr);
  const auto routes = routes_by(graph(1), torus, 2);
  EXPECT_EQ(routes->choice.engine, choose_engine(routes->scope()).engine);
  EXPECT_GT(fullest(routes->routing.tables), 0U);
}

class ComparedEngines : public LiveTest {
 protected:
  void wait_until_compared() {
    for (int i = 0; i < 60 && status()->engines == nullptr; ++i) step(1'000);
    ASSERT_NE(status()->engines, nullptr);
  }
};

// They are of a fabric that is no more, once a link has failed: it is repaired as ever, and they are compared again.
TEST_F(ComparedEngines, OfTheFabricAsItIs) {
  engines_.compare = true;
  start_live();
  settle();
  wait_until_compared();
  const auto before = status()->engines;
  EXPECT_TRUE(before->engines.front().is_used);
  EXPECT_EQ(before->engines.front().fullest, walk().max_link_load_hosts);
  const auto writes = switches_->writes().size();
  cut(uplink(0));
  step(1);
  EXPECT_GT(switches_->writes().size(), writes) << "repaired at once";
  settle();
  EXPECT_EQ(status()->engines, nullptr);
  wait_until_compared();
  EXPECT_NE(status()->engines, before);
  EXPECT_EQ(status()->engines->engines.front().fullest, walk().max_link_load_hosts);
  // As one fails while they are compared.
  cut(uplink(1));
  step(1);
  settle();
  step(11'000);
  cut(uplink(2));
  const auto amid = switches_->writes().size();
  step(1);
  EXPECT_GT(switches_->writes().size(), amid) << "repaired at once";
  wait_until_compared();
  EXPECT_EQ(status()->engines->engines.front().fullest, walk().max_link_load_hosts);
  must(SetSubnetMode{subnet_, SubnetMode::observe, "", {}});
  settle();
  EXPECT_EQ(status()->engines, nullptr);
  EXPECT_EQ(alarms("routes.betterEngine"), 0U);
}

}  // namespace engine_candidates_test
}  // namespace railweave::control
