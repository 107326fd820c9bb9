// What a controller does when nothing changes, and that a repair never waits for it.
#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

#include "services/control/live/routes/route_audit.h"
#include "tests/unit/live/live_fixture.h"

namespace railweave::control {
namespace {

using std::chrono::milliseconds;

constexpr fabric::testing::FatTreeShape kFortySwitches = {
    .hosts_per_leaf = 2, .leaves_per_pod = 4, .spines_per_pod = 4, .pods = 4, .cores_per_spine = 2};

TEST_F(LiveTest, AllTablesAreReadBackSomeSwitchesAtATime) {
  start_live(kFortySwitches);
  settle();
  ASSERT_EQ(topology_->switches().size(), 40U);
  table_reads_.clear();
  step(600'000);
  EXPECT_EQ(table_reads_, std::vector<std::size_t>{16});
  const auto read_back_us = status()->tables_seen.read_back_us;
  // A cut in the middle of it is repaired by the next step, and the reading goes on afterwards.
  const auto writes = switches_->writes().size();
  cut(uplink(0));
  step(1);
  EXPECT_GT(switches_->writes().size(), writes);
  EXPECT_EQ(table_reads_.size(), 1U) << "not before it is quiet again";
  EXPECT_EQ(status()->tables_seen.read_back_us, read_back_us);
  for (int i = 0; i < 6; ++i) step(400);
  ASSERT_GE(table_reads_.size(), 3U);
  EXPECT_LE(std::ranges::max(table_reads_), 16U);
  EXPECT_GE(std::accumulate(table_reads_.begin(), table_reads_.end(), std::size_t{0}), 40U);
  EXPECT_GT(status()->tables_seen.read_back_us, read_back_us);
  EXPECT_EQ(status()->phase, SubnetPhase::synced);
}

TEST_F(LiveTest, TablesThatAnotherManagerWroteAreRepairedWhereverTheyAreFound) {
  start_live(kFortySwitches);
  settle();
  for (const std::size_t n : {std::size_t{3}, std::size_t{20}, std::size_t{39}}) {
    fabric::ForwardingDelta foreign;
    fabric::LftBlock block{.sw = topology_->switches()[n], .number = 0};
    block.ports.fill(fabric::kNoPort);
    foreign.blocks.push_back(block);
    ASSERT_TRUE(switches_->program(*topology_, foreign));
  }
  EXPECT_FALSE(walk().verified());
  step(600'000);
  for (int i = 0; i < 4; ++i) step(50);
  EXPECT_TRUE(walk().verified());
  EXPECT_EQ(*status()->wanted_digest, *status()->applied_digest);
}

// An observer that has read half of the tables does not assume the other half.
TEST_F(LiveTest, AnObserverCallsNothingDrainedBeforeItHasReadTheTables) {
  start_live(kFortySwitches);
  settle();
  must(SetSubnetMode{"plane-0", SubnetMode::observe, "", {}});
  const auto cable = uplink(90);  // of a spine and a core, which are read last
  const DrainTarget target{DrainKind::link, topology_->link_text(cable.link)};
  must(RequestDrain{target, "", false, {}, loop_->state()->view_version});
  table_reads_.clear();
  while (table_reads_.empty()) step(1000);
  must(RequestDrain{
      {DrainKind::link, topology_->link_text(uplink(0).link)}, "", false, {}, loop_->state()->view_version});
  for (int i = 0; i < 40; ++i) step(400);  // tables stay as they are, so it stays in use
  EXPECT_NE(loop_->state()->drains->at(target).state, DrainState::drained);
}

TEST_F(LiveTest, AuditsRunBesideTheThreadThatRepairs) {
  audits_ = std::launch::async;
  start_live(kFortySwitches);
  settle();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!status()->wanted_digest && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
    step(1);
  }
  ASSERT_TRUE(status()->wanted_digest && status()->applied_digest);
  EXPECT_EQ(*status()->wanted_digest, *status()->applied_digest);
  EXPECT_EQ(alarms("routes.unsound"), 0U);
}

TEST_F(LiveTest, AnAuditOfOtherRoutesIsNotTakenForOneOfThese) {
  start_live();
  const auto routes = routes_of(routes_, *loop_->state());
  ASSERT_TRUE(routes);
  const std::vector<fabric::PlaneId> planes = planes_of(
      (*routes)->scope(), std::vector<fabric::SwitchId>(topology_->switches().begin(), topology_->switches().end()));
  for (const auto policy : {std::launch::async, std::launch::deferred}) {
    RouteAudit audit(policy);
    EXPECT_FALSE(audit.take(1));
    audit.start((*routes)->input.view, (*routes)->routing, planes, 1);
    while (audit.is_running()) EXPECT_FALSE(audit.take(2));
    audit.start((*routes)->input.view, (*routes)->routing, planes, 3);
    audit.wait();
    const std::optional<AuditedRoutes> made = audit.take(3);
    ASSERT_TRUE(made);
    EXPECT_TRUE(made->report.verified());
    EXPECT_EQ(fault_of(made->report), "");
    EXPECT_EQ(made->digest, (*routes)->routing.tables.digest());
    EXPECT_FALSE(audit.is_running());
  }
}

// What a controller holds of another subnet's switches is not known: it reads none of them.
TEST_F(LiveTest, ACableOfAnotherSubnetThatStaysCutSaysNothingOfThisOne) {
  start_live({.planes = 2});
  settle();
  for (int i = 0; i < 8; ++i) step(10'000);
  ASSERT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
  const std::uint64_t pairs = status()->discovery.walk.pairs;
  ASSERT_GT(pairs, 0U);
  fabric::LinkId last;
  for (const auto link : topology_->links()) last = topology_->joins_switches(link) ? link : last;
  const auto other = topology_->switch_of(topology_->a(last));
  ASSERT_NE(topology_->subnet(other), topology_->subnet(topology_->switches()[0]));
  const LinkReport report{.link = topology_->link_text(last), .state = fabric::LinkState::down};
  must(ReportLinks{.subnet = "plane-1", .links = {report}, .reason = {}});
  for (int i = 0; i < 16; ++i) step(10'000);
  EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
  EXPECT_EQ(alarms("routes.blackHole"), 0U);
  EXPECT_EQ(status()->discovery.walk.pairs, pairs);
}

}  // namespace
}  // namespace railweave::control
