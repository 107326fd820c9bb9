// Routes that are spread again over the links that failures left, once a subnet in direct mode is quiet.
#include <algorithm>
#include <string>
#include <vector>

#include "fabric/routing/plane/route_trace.h"
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
    auto command = submit_job("research", 1, static_cast<std::uint32_t>(nodes.size()));
    command.spec.gpus_per_node = 1;
    for (const unsigned node : nodes) command.spec.only_nodes.push_back("node-" + std::to_string(node));
    must(command);
    settle();
    ASSERT_EQ(loop_->state()->guaranteed->size(), 1U);
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

}  // namespace
}  // namespace railweave::control
