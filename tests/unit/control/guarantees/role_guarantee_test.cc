// What is promised of traffic between roles of a gang, against an oracle (naive_roles.h).
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "services/control/views/role_receivers.h"
#include "tests/unit/control/guarantee_fixture.h"
#include "tests/unit/control/guarantees/naive_roles.h"
#include "tests/unit/control/guarantees/role_fixture.h"

namespace railweave::control::role_guarantee_test {
namespace {

using namespace fabric;  // NOLINT: this file is about its types
using testing::Cluster;
using testing::leaves_and_spines;
using testing::nodes;
using testing::pair;
using testing::Pair;

::testing::AssertionResult as_expected(Cluster& cluster) {
  auto& book = cluster.placers.guarantees();
  if (!book.bring_to(cluster.state)) return ::testing::AssertionFailure() << "no routes";
  GuaranteeBook fresh;
  if (!fresh.bring_to(cluster.state)) return ::testing::AssertionFailure() << "no routes";
  const auto all = testing::naive_roles(cluster.state, *book.routes());
  const auto& ledger = book.ledger();
  for (DirectedLink link = 0; link < ledger.links(); ++link) {
    for (std::uint8_t c = 0; c < ledger.classes(); ++c) {
      const auto at = all.mbps.find({link, c});
      const std::int64_t wanted = at == all.mbps.end() ? 0 : at->second, has = ledger.reserved_mbps(link, c);
      const std::string where = "link " + std::to_string(link) + " class " + std::to_string(c) + ": ";
      if (has < wanted || (has > wanted && !all.at_least)) {
        return ::testing::AssertionFailure() << where << has << " reserved, " << wanted << " wanted";
      }
      if (has != fresh.ledger().reserved_mbps(link, c)) {
        return ::testing::AssertionFailure()
               << where << has << " reserved, " << fresh.ledger().reserved_mbps(link, c) << " from a fresh start";
      }
      if (has > ledger.limit_mbps(link, c)) return ::testing::AssertionFailure() << where << "too much";
    }
  }
  return ::testing::AssertionSuccess();
}

std::int64_t reserved(Cluster& cluster, const std::string& from, bool up) {
  const auto& t = cluster.state.topology();
  auto& book = cluster.placers.guarantees();
  EXPECT_TRUE(book.bring_to(cluster.state));
  const std::size_t at = 2;  // all-reduce
  for (const LinkId link : t.links()) {
    for (const PortId port : {t.a(link), t.b(link)}) {
      const PortId peer = t.peer(port);
      const bool is_host = t.is_hca_port(port) && t.name(t.host(t.hca_of(port))) == from;
      const bool is_leaf = t.joins_switches(link) && t.name(t.switch_of(port)) == from;
      if (is_host || is_leaf) return book.ledger().reserved_mbps(directed_link(t, up ? port : peer), at);
    }
  }
  return -1;
}

// By hand: two leaves under one spine, prefill on two nodes of the first, decode on three of the second.
TEST(RoleGuarantee, ReachesToTheReceiversAndFollowsThem) {
  Cluster cluster(leaves_and_spines(2, 4, 1, 1));
  cluster.contract(testing::terms(20));
  Pair gang = pair(cluster.state, 2, 3, 8);
  gang.sender.spec.only_nodes = nodes(0, 2);
  gang.receiver.spec.only_nodes = nodes(4, 3);
  cluster.must(gang.sender);
  const JobId sender = cluster.last_job;
  EXPECT_EQ(reserved(cluster, "leaf-0", true), 0) << "decode is nowhere yet";
  cluster.must(gang.receiver);
  const JobId receiver = cluster.last_job;
  EXPECT_EQ(reserved(cluster, "leaf-0", true), 24'000) << "three ports may receive 8 each, two could send 20 each";
  EXPECT_EQ(reserved(cluster, "leaf-1", true), 0) << "decode sends nothing to prefill";
  EXPECT_EQ(reserved(cluster, "leaf-1", false), 24'000);
  EXPECT_EQ(reserved(cluster, "node-0", true), 20'000) << "no more than its rate in sum";
  EXPECT_EQ(reserved(cluster, "node-0", false), 20'000);
  EXPECT_EQ(reserved(cluster, "node-4", false), 28'000) << "its own, and what comes from prefill";
  EXPECT_EQ(reserved(cluster, "node-4", true), 20'000);
  EXPECT_TRUE(as_expected(cluster));
  // A node of decode is lost, and its rank moves to the first leaf.
  RepairJob move{.id = receiver, .nodes = {"node-4"}};
  cluster.must(RequestDrain{{DrainKind::node, "node-7"}, {}, true, {}, cluster.state.view_version});
  ASSERT_TRUE(cluster.ask(move));
  EXPECT_TRUE(as_expected(cluster));
  cluster.must(EndJob{receiver, JobState::completed, {}, {}});
  EXPECT_EQ(reserved(cluster, "leaf-0", true), 0);
  EXPECT_EQ(reserved(cluster, "node-0", true), 20'000) << "the sender keeps its own";
  EXPECT_FALSE(cluster.guarantee(sender).at_risk());
  EXPECT_TRUE(as_expected(cluster));
}

// One cable between the leaves has 133 Gb/s for the class.
TEST(RoleGuarantee, APlaceIsRefusedWhereOnlyWhatPassesBetweenRolesDoesNotFit) {
  for (const bool guaranteed : {true, false}) {
    for (const auto& [between, fits] : {std::pair(0, true), std::pair(33, true), std::pair(34, false)}) {
      Cluster cluster(leaves_and_spines(2, 4, 1, 1));
      cluster.contract(testing::terms(60));
      Pair gang = pair(cluster.state, 4, 4, between);
      if (!guaranteed) gang.receiver.spec.bandwidth->guaranteed = RateMbps(0);
      gang.sender.spec.only_nodes = nodes(0, 4);
      gang.receiver.spec.only_nodes = nodes(4, 4);
      cluster.must(gang.sender);
      const auto placed = cluster.ask(gang.receiver);
      ASSERT_EQ(placed.has_value(), fits) << between << (placed ? "" : placed.error().error.text());
      EXPECT_TRUE(as_expected(cluster));
      if (fits) continue;
      EXPECT_EQ(placed.error().error.code, "admission.linksFull");
      const std::string why = placed.error().error.whole().whole_text();
      EXPECT_NE(why.find("job-000001, which sends to it"), std::string::npos) << why;
      ASSERT_FALSE(placed.error().links.empty());
      EXPECT_EQ(placed.error().links.front().wanted_mbps, 4 * between * 1000);
      EXPECT_FALSE(cluster.guarantee(JobId(1)).at_risk()) << "what runs keeps what it has";
    }
  }
}

TEST(RoleGuarantee, IsRefusedWhereItCannotBeKept) {
  Cluster cluster(leaves_and_spines(2, 4, 1, 1));
  auto terms = testing::terms(20);
  cluster.contract(terms);
  const auto code = [&](auto change) {
    Pair gang = pair(cluster.state, 2, 2, 10);
    change(gang.sender.spec);
    const auto asked = cluster.ask(gang.sender);
    return asked ? std::string() : asked.error().error.code;
  };
  using scheduler::JobSpec;
  EXPECT_EQ(code([](JobSpec& spec) { spec.bandwidth->model = scheduler::BandwidthModel::pattern; }),
            "admission.betweenRoles");
  EXPECT_EQ(code([](JobSpec& spec) { spec.bandwidth->guaranteed = RateMbps(0); }), "admission.betweenRoles");
  EXPECT_EQ(code([](JobSpec& spec) { spec.bandwidth->between_roles = RateMbps(20'001); }), "admission.betweenRoles");
  EXPECT_EQ(code([](JobSpec& spec) { spec.tenant = "none"; }), "tenants.unknown");
  EXPECT_EQ(code([](JobSpec& spec) { spec.bandwidth->between_roles = RateMbps(20'000); }), "");
  terms.isolation = scheduler::Isolation::within_class;
  EXPECT_FALSE(cluster.ask(PutContract{terms, {}})) << "a job has a promise that such a contract does not give";
  cluster.must(EndJob{cluster.last_job, JobState::completed, {}, {}});
  cluster.must(PutContract{terms, {}});
  EXPECT_EQ(code([](JobSpec&) {}), "admission.betweenRoles");
}

// A sender with a lane of its own has it on the links to its receivers, too, and no other job has it there.
TEST(RoleGuarantee, ASendersLaneGoesToTheReceivers) {
  Cluster cluster(leaves_and_spines(2, 4, 1, 1));
  auto terms = testing::terms(20);
  terms.isolation = scheduler::Isolation::lane;
  cluster.contract(terms);
  Pair gang = pair(cluster.state, 2, 2, 10);
  gang.sender.spec.only_nodes = nodes(0, 2);
  gang.receiver.spec.only_nodes = nodes(4, 2);
  cluster.must(gang.sender);
  cluster.must(gang.receiver);
  ASSERT_TRUE(as_expected(cluster));
  const auto& ledger = cluster.placers.guarantees().ledger();
  const auto sender = ledger.reservations_of("job-000001"), receiver = ledger.reservations_of("job-000002");
  ASSERT_EQ(sender.size() + receiver.size(), 2U);
  EXPECT_EQ(sender.front()->lane, cluster.guarantee(JobId(1)).lane);
  EXPECT_EQ(receiver.front()->lane, cluster.guarantee(JobId(2)).lane);
  EXPECT_NE(sender.front()->lane, receiver.front()->lane) << "they meet at the receiver's cables";
}

class RoleGuaranteeRandom : public ::testing::TestWithParam<unsigned> {};

TEST_P(RoleGuaranteeRandom, WhatIsReservedIsWhatRolesMaySend) {
  testing::RandomRoles roles(GetParam());
  Cluster& cluster = roles.cluster;
  cluster.contract(testing::terms(30, GetParam() % 3 == 0));
  std::size_t ports = 0, at_risk = 0;
  for (int turn = 0; turn < 60; ++turn) {
    roles.step();
    ASSERT_TRUE(as_expected(cluster)) << "turn " << turn;
    for (const JobId id : *cluster.state.guaranteed) at_risk += cluster.guarantee(id).at_risk() ? 1 : 0;
    ports += roles.reached();
  }
  EXPECT_GT(roles.gangs, 2U);
  EXPECT_GT(ports, 0U);
  RecordProperty("refused", static_cast<int>(roles.refused));
  RecordProperty("moved", static_cast<int>(roles.moved));
  RecordProperty("at_risk", static_cast<int>(at_risk));
}

INSTANTIATE_TEST_SUITE_P(Seeds, RoleGuaranteeRandom, ::testing::Range(1U, 25U));

}  // namespace
}  // namespace railweave::control::role_guarantee_test
