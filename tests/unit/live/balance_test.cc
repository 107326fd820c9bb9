// Routes that are spread again over the links that failures left, once a subnet in direct mode is quiet.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "fabric/routing/plane/route_trace.h"
#include "services/control/live/routes/balanced_routes.h"
#include "tests/unit/live/live_fixture.h"

namespace railweave::control {
namespace {

constexpr fabric::testing::FatTreeShape kTwoTiers = {
    .hosts_per_leaf = 18, .leaves_per_pod = 18, .spines_per_pod = 9, .pods = 1, .cores_per_spine = 0, .leaf_cables = 2};
constexpr std::size_t kMaxBlocks = 64;  // of a step

class BalanceTest : public LiveTest {
 protected:
  void start_cut(std::size_t cuts) {
    rebalance_ = true;
    fabric::testing::FatTreeShape shape = kTwoTiers;
    shape.gpus_per_host = 1;
    shape.planes = planes_;
    start_live(shape);
    settle();
    whole_ = fullest();
    for (std::size_t i = 0; i < cuts; ++i) cut(uplink(i * 3));
    step(1);
    settle();
    EXPECT_EQ(status()->phase, SubnetPhase::synced);
  }
  // Steps until routes were spread again, each of them small and valid.
  void spread() {
    step(11'000);
    for (int i = 0; i < 100 && !loop_->state()->route_bases->contains("plane-0"); ++i) step(400);
    ASSERT_TRUE(loop_->state()->route_bases->contains("plane-0"));
    for (int i = 0; i < 200; ++i) {
      const std::size_t before = switches_->writes().size();
      step(300);
      EXPECT_LE(switches_->writes().size() - before, kMaxBlocks);
      EXPECT_TRUE(walk().verified());
      if (status()->phase == SubnetPhase::synced) return;
    }
    ADD_FAILURE() << "never done: " << status()->problem;
  }
  // A job with a guarantee on these nodes.
  void promise(const std::vector<unsigned>& nodes) {
    must(PutTenant{{.name = "research"}, {}});
    must(PutContract{{.tenant = "research", .guaranteed = RateMbps(1'000)}, {}});
    submit("research", nodes);
    settle();
    ASSERT_EQ(loop_->state()->guaranteed->size(), 1U);
  }
  void submit(const std::string& tenant, const std::vector<unsigned>& nodes) {
    auto command = submit_job(tenant, 1, static_cast<std::uint32_t>(nodes.size()));
    command.spec.gpus_per_node = 1;
    for (const unsigned node : nodes) command.spec.only_nodes.push_back("node-" + std::to_string(node));
    must(command);
  }
  // The ports that packets between these nodes leave switches by, as switches hold them.
  [[nodiscard]] std::vector<fabric::PortId> paths(const std::vector<unsigned>& nodes) {
    const auto routes = routes_now();
    const auto& scope = (*routes)->scope();
    std::vector<fabric::SwitchId> all(topology_->switches().begin(), topology_->switches().end());
    const auto readings = switches_->read_tables(*topology_, all, top_lid(scope));
    const fabric::Routing held = with_readings((*routes)->routing, *readings);
    std::vector<fabric::PortId> ports, out;
    for (const unsigned node : nodes) {
      const auto host = topology_->find_host("node-" + std::to_string(node));
      for (const auto hca : topology_->hcas(host)) ports.push_back(topology_->ports(hca)[0]);
    }
    for (const auto from : ports) {
      for (const auto to : ports) {
        if (from == to) continue;
        for (const auto& hop :
             fabric::trace_route(loop_->state()->view, held.tables, held.lanes, from, scope.find(to)).hops) {
          out.push_back(hop.out);
        }
      }
    }
    return out;
  }
  [[nodiscard]] std::uint64_t fullest() { return walk().max_link_load_hosts; }

  unsigned planes_ = 1;
  std::uint64_t whole_ = 0;  // fullest() with all cables
};

TEST_F(BalanceTest, TheFullestLinkIsAsFullAsOfAFreshFabricAndARestartKeepsIt) {
  start_cut(8);
  const std::uint64_t repaired = fullest();
  spread();
  const std::uint64_t now = fullest();
  EXPECT_LT(now * 20, repaired * 19);
  const auto routes = routes_.wanted(*loop_->state());
  ASSERT_TRUE(routes);
  EXPECT_EQ((*routes)->routing.tables.digest(), *status()->applied_digest) << "what all of the service goes by";
  RoutingCache of_another_process;
  const auto again = of_another_process.wanted(*loop_->state());
  ASSERT_TRUE(again);
  EXPECT_TRUE((*again)->routing.tables == (*routes)->routing.tables);
  // After a restart nothing is written.
  const std::size_t writes = switches_->writes().size();
  make_controller();
  settle();
  step(11'000);
  settle();
  EXPECT_EQ(switches_->writes().size(), writes);
  EXPECT_EQ(fullest(), now);
  EXPECT_EQ(status()->phase, SubnetPhase::synced);
}

TEST_F(BalanceTest, AFailureMeanwhileIsRepairedAtOnce) {
  start_cut(8);
  step(11'000);
  for (int i = 0; i < 100 && !loop_->state()->route_bases->contains("plane-0"); ++i) step(400);
  step(300);
  EXPECT_NE(status()->phase, SubnetPhase::synced);
  cut(uplink(40));
  step(1);
  EXPECT_TRUE(walk().verified());
  settle();
  EXPECT_EQ(status()->phase, SubnetPhase::synced);
}

// Costs say who uses which link, and hold while the others are spread.
TEST_F(BalanceTest, RoutesThatHaveCostsAreSpreadWithThem) {
  start_cut(4);
  const auto dear = uplink(100).link;
  const auto pairs_on = [&] {
    const auto routes = routes_now();
    std::size_t pairs = 0;
    for (const auto from : topology_->hca_ports()) {
      for (const auto to : topology_->hca_ports()) {
        if (from == to) continue;
        for (const auto& hop : fabric::trace_route(loop_->state()->view, (*routes)->routing.tables,
                                                   (*routes)->routing.lanes, from, (*routes)->scope().find(to))
                                   .hops) {
          pairs += topology_->link(hop.out) == dear ? 1 : 0;
        }
      }
    }
    return pairs;
  };
  const std::size_t before = pairs_on();
  must(SetLinkCosts{{{topology_->link_text(dear), 8.0}}, "", loop_->state()->view_version});
  step(1);
  settle();
  const std::size_t with_costs = pairs_on();
  ASSERT_LT(with_costs * 4, before * 3);
  const std::uint64_t repaired = fullest();
  spread();
  EXPECT_LT(fullest() * 20, repaired * 19);
  EXPECT_LE(pairs_on(), with_costs);
  RoutingCache of_another_process;
  const auto again = of_another_process.wanted(*loop_->state());
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)->routing.tables.digest(), *status()->applied_digest) << "a restart makes the same";
}

TEST_F(BalanceTest, CablesThatAreBackAreUsedAgain) {
  start_cut(4);
  spread();
  for (std::size_t i = 0; i < 4; ++i) join(uplink(i * 3));
  step(1);
  settle();
  const std::uint64_t before = fullest();
  step(11'000);
  for (int i = 0; i < 100 && loop_->state()->route_bases->contains("plane-0"); ++i) step(400);
  EXPECT_TRUE(loop_->state()->route_bases->empty()) << "as cabled";
  for (int i = 0; i < 100 && (i < 3 || status()->phase != SubnetPhase::synced); ++i) step(300);
  EXPECT_LE(fullest(), before);
  EXPECT_EQ(fullest(), whole_) << "as it was before any cable was out";
  EXPECT_TRUE(walk().verified());
}

TEST_F(BalanceTest, AnotherModeGoesBackToRoutesOfTheCabling) {
  start_cut(8);
  spread();
  must(SetSubnetMode{"plane-0", SubnetMode::observe, "", {}});
  EXPECT_TRUE(loop_->state()->route_bases->empty());
}

// Of pairs of leaves some keep their paths when routes are spread again, and some do not.
TEST_F(BalanceTest, JobsWithGuaranteesKeepTheirPaths) {
  start_cut(8);
  const std::uint64_t repaired = fullest();
  const std::vector<unsigned> nodes{0, 1, 2};  // of one leaf
  promise(nodes);
  const auto before = paths(nodes);
  ASSERT_FALSE(before.empty());
  spread();
  EXPECT_LT(fullest() * 20, repaired * 19);
  EXPECT_EQ(paths(nodes), before);
}

TEST_F(BalanceTest, NothingMovesWhereAJobWithAGuaranteeWould) {
  start_cut(8);
  std::vector<unsigned> nodes;  // of the leaves that lost most
  for (unsigned node = 0; node < 54; ++node) nodes.push_back(node);
  promise(nodes);
  const auto before = paths(nodes);
  const std::uint64_t repaired = fullest();
  step(11'000);
  for (int i = 0; i < 100; ++i) step(400);
  EXPECT_TRUE(loop_->state()->route_bases->empty());
  EXPECT_EQ(fullest(), repaired);
  EXPECT_EQ(paths(nodes), before);
  EXPECT_EQ(alarms("guarantee.atRisk"), 0U);
}

// A job of two leaves, whatever becomes of it: at no step has it other paths.
TEST_F(BalanceTest, AtNoMomentAJobWithAGuaranteeHasOtherPaths) {
  start_cut(4);
  const std::vector<unsigned> nodes{200, 201, 300, 301};
  promise(nodes);
  const auto before = paths(nodes);
  step(11'000);
  for (int i = 0; i < 150; ++i) {
    step(300);
    ASSERT_EQ(paths(nodes), before) << "step " << i;
  }
  EXPECT_TRUE(loop_->state()->route_bases->contains("plane-0")) << "else the test holds nothing";
}

// A full tree: 4 leaves of 4 nodes below 4 spines, on which the closed form takes the same spine to the first node of every leaf.
class FollowTest : public BalanceTest {
 protected:
  void start_jobs(const std::vector<std::vector<unsigned>>& jobs, unsigned planes = 1) {
    follow_jobs_ = true;
    start_live({.hosts_per_leaf = 4,
                .leaves_per_pod = 4,
                .spines_per_pod = 4,
                .pods = 1,
                .cores_per_spine = 0,
                .gpus_per_host = 1,
                .planes = planes});
    settle();
    must(PutTenant{{.name = "others"}, {}});
    for (const auto& nodes : jobs) submit("others", nodes);
    settle();
    jobs_ = jobs;
  }
  void follow() {
    for (int i = 0; i < 100 && !loop_->state()->route_bases->contains("plane-0"); ++i) step(400);
    ASSERT_TRUE(loop_->state()->route_bases->contains("plane-0"));
    for (int i = 0; i < 100 && (i < 3 || status()->phase != SubnetPhase::synced); ++i) {
      step(300);
      // The controller is of one subnet: no other has tables here.
      EXPECT_TRUE(topology_->subnets().size() > 1 || walk().verified());
    }
    EXPECT_EQ(status()->phase, SubnetPhase::synced);
  }
  // Flows of the jobs on the fullest link between switches, as switches hold their routes.
  [[nodiscard]] std::size_t meet() {
    std::map<fabric::PortId, std::size_t> flows;
    std::size_t most = 0;
    for (const auto& nodes : jobs_) {
      for (const auto port : paths(nodes)) {
        if (topology_->is_switch_port(port) && topology_->is_switch_port(topology_->peer(port)))
          most = std::max(most, ++flows[port]);
      }
    }
    return most;
  }
  std::vector<std::vector<unsigned>> jobs_;
};

TEST_F(FollowTest, FlowsOfJobsAreKeptApartAndARestartKeepsThat) {
  start_jobs({{0, 4}, {1, 8}, {2, 12}});
  ASSERT_EQ(meet(), 3U);
  follow();
  EXPECT_EQ(meet(), 1U);
  RoutingCache of_another_process;
  const auto again = of_another_process.wanted(*loop_->state());
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)->routing.tables.digest(), *status()->applied_digest);
  const std::size_t writes = switches_->writes().size();
  make_controller();
  settle();
  for (int i = 0; i < 50; ++i) step(400);
  EXPECT_EQ(switches_->writes().size(), writes) << "nothing is left to be gained";
  EXPECT_EQ(meet(), 1U);
  // One that ends leaves the others where they are, and a link that is cut is no longer used.
  const auto used = paths({0, 4});
  switches_->cut(topology_->guid(topology_->switch_of(used[1])), topology_->number(used[1]), true);
  step(1);
  settle();
  EXPECT_TRUE(walk().verified());
  must(SetSubnetMode{"plane-0", SubnetMode::observe, "", {}});
  EXPECT_TRUE(loop_->state()->route_bases->empty());
}

TEST_F(FollowTest, JobsWithGuaranteesKeepTheirPathsAndOthersGiveWay) {
  start_jobs({{1, 8}, {2, 12}});
  promise({0, 4});
  jobs_.push_back({0, 4});
  const auto kept = paths({0, 4});
  ASSERT_EQ(meet(), 3U);
  follow();
  EXPECT_EQ(meet(), 1U);
  EXPECT_EQ(paths({0, 4}), kept);
  EXPECT_EQ(alarms("guarantee.atRisk"), 0U);
}

TEST(BalancedRoutes, AreWorthItForAFewFlowsBesideMany) {
  const auto worth = [](double before, double after) {
    BalancedRoutes made{.routes = nullptr, .is_verified = true, .followed = FollowedJobs{}};
    made.followed->balance.cost_before = before;
    made.followed->balance.cost = after;
    return made.is_worth_it();
  };
  EXPECT_TRUE(worth(1014, 1000));
  EXPECT_TRUE(worth(0.0106, 0.01));
  EXPECT_FALSE(worth(1000.05, 1000));
  EXPECT_FALSE(worth(0.0104, 0.01));
}

// A job with a guarantee has ports in both subnets, and the hops to them stay; each subnet keeps its own.
TEST_F(FollowTest, HopsOfAnotherSubnetAreNotTaken) {
  start_jobs({{1, 8}, {2, 12}}, 2);
  promise({0, 4});
  jobs_.push_back({0, 4});
  must(SetSubnetMode{"plane-1", SubnetMode::direct, "", {}});
  const auto routes = routes_.wanted(*loop_->state());
  ASSERT_TRUE(routes);
  RoutesRebalanced other{.subnet = "plane-1", .links = {}, .switches = {}};
  for (const auto hca : topology_->hcas(topology_->find_host("node-0"))) {
    const auto port = topology_->ports(hca)[0];
    if (topology_->name(topology_->subnet(port)) != "plane-1") continue;
    for (const auto sw : topology_->switches()) {
      const auto out = (*routes)->routing.tables.out_port(sw, (*routes)->scope().find(port));
      if (topology_->subnet(sw) != topology_->subnet(port) || out == fabric::kNoPort) continue;
      if (sw != topology_->switch_of(topology_->peer(port))) {
        other.hops.push_back({std::string(topology_->name(sw)), topology_->port_text(port), out});
      }
    }
  }
  ASSERT_FALSE(other.hops.empty());
  must(ReportBalance{other, loop_->state()->view_version});
  ASSERT_TRUE(loop_->state()->route_bases->contains("plane-1"));
  follow();
  ASSERT_FALSE(loop_->state()->route_bases->at("plane-0").hops.empty());
  for (const RouteHop& hop : loop_->state()->route_bases->at("plane-0").hops) {
    EXPECT_EQ(topology_->name(topology_->subnet(topology_->find_switch(hop.sw))), "plane-0") << hop.sw;
  }
  EXPECT_EQ(loop_->state()->route_bases->at("plane-1").hops, other.hops);
}

TEST_F(FollowTest, NothingIsChosenWithoutJobsThatMeet) {
  start_jobs({{0, 1}, {4, 8}});
  for (int i = 0; i < 60; ++i) step(400);
  EXPECT_TRUE(loop_->state()->route_bases->empty());
}

}  // namespace
}  // namespace railweave::control
