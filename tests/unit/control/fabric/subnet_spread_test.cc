// What a subnet is said to do with packets between two ports is what its guarantees count by.
#include "tests/unit/control/control_fixture.h"
#include "tests/unit/control/guarantee_fixture.h"

namespace railweave::control::subnet_spread_test {
namespace {

using fabric::LinkState;
using fabric::PathSpread;
using testing::Cluster;
using testing::leaves_and_spines;
using testing::terms;

// 2 leaves x 4 hosts, 2 spines, a job on 6 hosts at 80 Gb/s: a cable between switches has twice the rate where each pair
// has one path, and at most one and a half times where switches use both. The class has 133 Gb/s of a cable.
struct SpreadCluster : Cluster {
  explicit SpreadCluster(bool survives = false, std::int64_t gbps = 80) : Cluster(leaves_and_spines(2, 4, 2, 2)) {
    contract(terms(gbps, survives));
  }
  void spread(PathSpread how) { must(SetSubnetSpread{"default", how, "as told"}); }
};

TEST(SubnetSpread, DecidesWhatFits) {
  SpreadCluster cluster;
  const auto refused = cluster.ask(Cluster::job("t", 6));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code, "admission.linksFull");
  cluster.spread(PathSpread::adaptive);
  EXPECT_EQ(cluster.state.spread("default"), PathSpread::adaptive);
  cluster.must(Cluster::job("t", 6));
  const JobId job = cluster.last_job;
  EXPECT_FALSE(cluster.guarantee(job).at_risk());

  // In the same transaction as the word that it does not spread any more.
  const auto single = cluster.ask(SetSubnetSpread{"default", PathSpread::single, {}});
  ASSERT_TRUE(single);
  EXPECT_GT(single->size(), 1U);
  EXPECT_TRUE(cluster.guarantee(job).at_risk());
  EXPECT_NE(cluster.guarantee(job).reason.whole_text().find("too little residual capacity"), std::string::npos);
  cluster.spread(PathSpread::adaptive);
  EXPECT_FALSE(cluster.guarantee(job).at_risk());

  // On one spine what was on two.
  const std::string cable = cluster.cable("leaf-0", "spine-1");
  cluster.must(Cluster::report(cable, LinkState::down));
  EXPECT_TRUE(cluster.guarantee(job).at_risk());
  cluster.must(Cluster::report(cable, LinkState::up));
  EXPECT_FALSE(cluster.guarantee(job).at_risk());
}

TEST(SubnetSpread, CoversFailuresOnWhatIsLeftOfThePaths) {
  SpreadCluster cluster(true, 40);
  cluster.spread(PathSpread::adaptive);
  cluster.must(Cluster::job("t", 6));
  const JobId job = cluster.last_job;
  ASSERT_TRUE(cluster.guarantee(job).covered);
  cluster.spread(PathSpread::single);
  EXPECT_TRUE(cluster.guarantee(job).covered);
  GuaranteeBook fresh;
  ASSERT_TRUE(fresh.bring_to(cluster.state));
  ASSERT_TRUE(cluster.placers.guarantees().bring_to(cluster.state));
  const auto was = fresh.ledger().reservations_of(to_string(job)),
             is = cluster.placers.guarantees().ledger().reservations_of(to_string(job));
  ASSERT_EQ(is.size(), 1U);
  EXPECT_EQ(is.front()->loads, was.front()->loads);
}

TEST(SubnetSpread, IsKeptOverImports) {
  SpreadCluster cluster;
  cluster.spread(PathSpread::adaptive);
  cluster.must(AcceptTopology{leaves_and_spines(2, 4, 2, 2, {1}), nullptr, "another", "test", false, {}});
  const auto subnet = cluster.state.topology().subnets().front();
  EXPECT_EQ(cluster.state.view.spread(subnet), PathSpread::adaptive);
}

TEST(SubnetSpread, IsRefusedWhereItCannotBeSo) {
  SpreadCluster cluster;
  const auto code = [&](decltype(Command::body) body) {
    const auto done = cluster.ask(std::move(body));
    return done ? std::string() : done.error().error.code;
  };
  EXPECT_EQ(code(SetSubnetSpread{"default", PathSpread::lmc, {}}), "subnets.noLmc");
  cluster.must(SetSubnetMode{"default", SubnetMode::direct, {}, {}});
  EXPECT_EQ(code(SetSubnetSpread{"default", PathSpread::adaptive, {}}), "subnets.notAdaptive");
  cluster.must(SetSubnetMode{"default", SubnetMode::observe, {}, {}});
  cluster.spread(PathSpread::adaptive);
  EXPECT_EQ(code(SetSubnetMode{"default", SubnetMode::direct, {}, {}}), "subnets.notAdaptive");
  const auto same = cluster.ask(SetSubnetSpread{"default", PathSpread::adaptive, "again"});
  ASSERT_TRUE(same);
  EXPECT_TRUE(same->empty());
}

}  // namespace
}  // namespace railweave::control::subnet_spread_test
