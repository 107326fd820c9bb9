// Repairs by hand and automatic obey what their jobs ask for, other tenants' reservations and maintenance; jobs start
// only where their ranks have routes to each other.
#include <map>

#include "services/control/guarantees/admitted_placement.h"
#include "services/control/guarantees/job_repair.h"
#include "tests/unit/control/control_fixture.h"

namespace railweave::control::repair_rules_test {
namespace {

constexpr std::int64_t kHour = 3'600'000'000;

// Hosts node-0, node-1, ... of `gpus` GPUs without NVLink, an adapter for each GPU, a leaf for each rail that no link
// joins to another; label gpu=h100, or b200 on every third.
fabric::TopologyPtr rails_alone(unsigned hosts, unsigned gpus) {
  fabric::TopologyBuilder builder;
  std::vector<fabric::SwitchDraft> leaves;
  for (unsigned rail = 0; rail < gpus; ++rail) {
    leaves.push_back(
        builder.add_switch({.guid = Guid(0x100 + rail), .name = "leaf-" + std::to_string(rail), .ports = hosts + 1}));
  }
  for (unsigned h = 0; h < hosts; ++h) {
    const auto host = builder.host("node-" + std::to_string(h));
    builder.add_label(host, "gpu", h % 3 == 2 ? "b200" : "h100");
    for (unsigned g = 0; g < gpus; ++g) {
      const auto hca =
          builder.add_hca({.guid = Guid(0x1000 + h * 16 + g), .host = host, .device = "mlx5_" + std::to_string(g)});
      builder.connect({leaves[g], h + 1}, {hca, 1}, fabric::infiniband_link(4, fabric::LinkSpeed::ndr));
      const auto gpu = builder.add_gpu(host);
      builder.add_nic(gpu, hca);
    }
  }
  auto topology = std::move(builder).build();
  RAILWEAVE_CHECK(topology.has_value(), "rails are a fabric");
  return std::make_shared<const fabric::Topology>(std::move(*topology));
}

class RepairRulesTest : public ControlTest {
 protected:
  void start_on(fabric::TopologyPtr topology) {
    start();
    must(accept(topology));
    must(PutTenant{{.name = "research"}, {}});
    must(PutTenant{{.name = "product"}, {}});
  }
  JobId submit(SubmitJob command) {
    const auto placed = ask(std::move(command));
    EXPECT_TRUE(placed) << placed.error().error.text();
    return placed ? placed->job : JobId();
  }
  [[nodiscard]] std::vector<std::string> nodes(JobId id) const { return loop_->state()->jobs.find(id)->nodes; }
  PutReservation window(const std::string& name, std::vector<std::string> nodes, std::int64_t in_us = 0) {
    PutReservation put;
    put.name = name;
    put.kind = scheduler::QueueWindow::Kind::maintenance;
    put.from_us = clock_us_ + in_us;
    put.to_us = put.from_us + kHour;
    put.nodes = std::move(nodes);
    return put;
  }
};

TEST_F(RepairRulesTest, KeepTheNodesAndLabelsOfTheRequest) {
  start_on(star_of_hosts(4, 2));
  auto job = submit_job("research", 1, 4);
  job.spec.only_nodes = {"node-0", "node-1"};
  const JobId id = submit(job);
  const auto refused = ask(RepairJob{.id = id, .nodes = {"node-0"}});
  ASSERT_FALSE(refused) << nodes(id).front();
  EXPECT_EQ(refused.error().error.code, "repair.noSpare");
  must(EndJob{id, JobState::completed, ""});
  auto excluding = submit_job("research", 1, 2);
  excluding.spec.only_nodes.clear();
  excluding.spec.exclude_nodes = {"node-2"};
  const JobId other = submit(excluding);
  must(RepairJob{.id = other, .nodes = {nodes(other).front()}});
  EXPECT_EQ(std::ranges::count(nodes(other), "node-2"), 0);
}

TEST_F(RepairRulesTest, TakeNoGpuThatIsReservedOrUnderMaintenance) {
  start_on(star_of_hosts(3, 2));
  const JobId id = submit(submit_job("research", 2, 1));
  const std::string here = nodes(id).front();
  std::vector<std::string> others;
  for (const auto* name : {"node-0", "node-1", "node-2"}) {
    if (name != here) others.emplace_back(name);
  }
  must(window("soon", {others[0]}, kHour));  // the job is expected to run for a day
  PutReservation put;
  put.name = "theirs";
  put.kind = scheduler::QueueWindow::Kind::reservation;
  put.from_us = clock_us_;
  put.to_us = clock_us_ + kHour;
  put.shape = submit_job("product", 2, 1).spec;
  must(put);
  const auto refused = ask(RepairJob{.id = id, .nodes = {here}});
  ASSERT_FALSE(refused) << "moved to " << nodes(id).front();
  EXPECT_EQ(refused.error().error.code, "repair.noSpare");
  must(RemoveReservation{"soon", {}});
  EXPECT_EQ(ask(RepairJob{.id = id, .nodes = {here}}).has_value(), true);
  EXPECT_EQ(nodes(id), std::vector<std::string>{others[0]});
}

// What is declared lost is lost, also where no link says so: it is damage with an alarm until there is room.
TEST_F(RepairRulesTest, WithoutASpareTheLossIsRecordedAndRepairedWhenThereIsRoom) {
  start_on(star_of_hosts(2, 2));
  must(PutTenant{{.name = "research", .repair = RepairPolicy::apply, .repair_after_s = 0}, {}});
  const JobId id = submit(submit_job("research", 2, 1));
  const JobId other = submit(submit_job("product", 2, 1));
  const std::string lost = nodes(id).front(), taken = nodes(other).front();
  const auto refused = ask(RepairJob{.id = id, .nodes = {lost}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code, "repair.noSpare");
  const auto damage = [&] { return loop_->state()->jobs.find(id)->damage.whole_text(); };
  const auto has_alarm = [&] { return loop_->state()->alarms->contains("job.damaged:" + to_string(id)); };
  EXPECT_NE(damage().find("2 GPUs on " + lost + " lost: no repair"), std::string::npos) << damage();
  EXPECT_GT(loop_->state()->jobs.find(id)->damaged_us, 0);
  EXPECT_TRUE(has_alarm());
  restart();
  EXPECT_NE(damage().find("lost: no repair"), std::string::npos) << damage();
  EXPECT_TRUE(has_alarm());
  must(EndJob{other, JobState::completed, ""});
  EXPECT_EQ(nodes(id), std::vector<std::string>{taken}) << "as its tenant's repair policy says";
  EXPECT_EQ(damage(), "");
  EXPECT_FALSE(has_alarm());
  // Returned to service it is lost no longer, although no repair came.
  const auto again = ask(RepairJob{.id = id, .nodes = {taken}});
  ASSERT_FALSE(again);
  EXPECT_TRUE(has_alarm());
  must(ClearDrain{{DrainKind::node, taken}, "it was the wrong one"});
  EXPECT_EQ(damage(), "");
  EXPECT_FALSE(has_alarm());
}

TEST_F(RepairRulesTest, WhereRepairsAreProposedTheDamageSaysWhenThereIsRoom) {
  start_on(star_of_hosts(2, 2));
  const JobId id = submit(submit_job("research", 2, 1));
  const JobId other = submit(submit_job("product", 2, 1));
  ASSERT_FALSE(ask(RepairJob{.id = id, .gpus = {{nodes(id).front(), 1}}}));
  const auto damage = [&] { return loop_->state()->jobs.find(id)->damage.whole_text(); };
  EXPECT_NE(damage().find("1 GPU on " + nodes(id).front() + " lost: no repair"), std::string::npos) << damage();
  must(EndJob{other, JobState::completed, ""});
  EXPECT_NE(damage().find("POST /v1/jobs/" + to_string(id) + "/repair moves their ranks"), std::string::npos)
      << damage();
  must(RepairJob{.id = id});
  EXPECT_EQ(damage(), "");
}

TEST_F(RepairRulesTest, PlacementsOnRequestObeyWindowsAsSubmissionsDo) {
  start_on(star_of_hosts(2, 2));
  must(window("firmware", {"node-0"}));
  const auto job = submit_job("research", 2, 2);
  PlacerCache placers;
  const auto state = loop_->state();
  const auto asked = admitted_placement(*state, job.spec, placers, clock_us_, true);
  ASSERT_FALSE(asked);
  ASSERT_NE(asked.error().placement, nullptr);
  EXPECT_EQ(asked.error().placement->outcome, scheduler::Outcome::not_now);
  EXPECT_NE(asked.error().placement->explanation.whole().whole_text().find("'firmware'"), std::string::npos);
  EXPECT_FALSE(ask(job));
  // One that fits beside it is placed on the other node by both.
  const auto small = submit_job("research", 2, 1);
  const auto placed = admitted_placement(*state, small.spec, placers, clock_us_, true);
  ASSERT_TRUE(placed);
  EXPECT_EQ(state->topology().name(state->topology().host(placed->result.placement.gpu_of_rank.front())), "node-1");
  EXPECT_EQ(nodes(submit(small)), std::vector<std::string>{"node-1"});
  // A window that begins after the job has ended does not concern it.
  clock_us_ += 2 * kHour;
  must(window("later", {"node-0", "node-1"}, 48 * kHour));
  EXPECT_TRUE(admitted_placement(*loop_->state(), submit_job("product", 2, 1).spec, placers, clock_us_));
}

TEST_F(RepairRulesTest, JobsWhoseRanksCannotReachEachOtherAreRefused) {
  start_on(rails_alone(2, 2));
  // Of each node one GPU is left, on different rails.
  std::map<std::pair<std::string, unsigned>, JobId> on;
  for (int i = 0; i < 4; ++i) {
    const JobId id = submit(submit_job("research", 1, 1));
    const auto gpu = loop_->state()->jobs.find(id)->placement.gpu_of_rank.front();
    on[{nodes(id).front(), loop_->state()->topology().local_index(gpu)}] = id;
  }
  ASSERT_EQ(on.size(), 4U);
  must(EndJob{on.at({"node-0", 0}), JobState::completed, ""});
  must(EndJob{on.at({"node-1", 1}), JobState::completed, ""});
  auto pair = submit_job("research", 1, 2);
  const auto refused = ask(pair);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code, "jobs.unreachable") << refused.error().error.text();
  pair.queue = true;
  const auto queued = ask(pair);
  ASSERT_TRUE(queued);
  EXPECT_EQ(loop_->state()->jobs.find(queued->job)->state, JobState::queued);
  // With a GPU of the same rail it starts.
  must(EndJob{on.at({"node-1", 0}), JobState::completed, ""});
  EXPECT_EQ(loop_->state()->jobs.find(queued->job)->state, JobState::placed);
}

TEST_F(RepairRulesTest, AMovedRankKeepsItsRailAndRoutes) {
  start_on(rails_alone(4, 2));
  auto job = submit_job("research", 1, 2);
  job.spec.gpus_per_node = 1;
  const JobId id = submit(job);
  const auto rail_of = [&](fabric::GpuId gpu) { return loop_->state()->topology().local_index(gpu); };
  const auto before = loop_->state()->jobs.find(id)->placement.gpu_of_rank;
  ASSERT_EQ(rail_of(before[0]), rail_of(before[1]));
  must(RepairJob{.id = id, .nodes = {nodes(id).front()}});
  const auto after = loop_->state()->jobs.find(id)->placement.gpu_of_rank;
  EXPECT_EQ(rail_of(after[0]), rail_of(before[0]));
  EXPECT_EQ(after[1], before[1]);
}

TEST_F(RepairRulesTest, LostNodesAndGpusAreRecordedWhereNoSpareIsFound) {
  start_on(star_of_hosts(2, 2));
  const JobId one = submit(submit_job("research", 2, 1));
  const JobId other = submit(submit_job("research", 2, 1));
  ASSERT_NE(nodes(one), nodes(other));
  const auto refused = ask(RepairJob{.id = one, .nodes = nodes(one)});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code, "repair.noSpare");
  EXPECT_TRUE(loop_->state()->drains->contains({DrainKind::node, nodes(one).front()}));
  EXPECT_FALSE(ask(RepairJob{.id = other, .gpus = {{nodes(other).front(), 1}}}));
  const DrainTarget gpu{DrainKind::gpu, nodes(other).front() + ":1"};
  EXPECT_TRUE(loop_->state()->drains->contains(gpu));
  EXPECT_FALSE(loop_->state()->drains->contains({DrainKind::node, nodes(other).front()}));
  const std::string before = state_text();
  stop();
  start();
  EXPECT_EQ(state_text(), before);
  must(EndJob{other, JobState::completed, ""});
  EXPECT_FALSE(ask(submit_job("research", 2, 1)));
  EXPECT_TRUE(ask(submit_job("research", 1, 1)));
}

TEST_F(RepairRulesTest, OneGpuOutOfServiceLeavesTheOthersOfItsNode) {
  start_on(star_of_hosts(1, 4));
  must(RequestDrain{{DrainKind::gpu, "node-0:2"}, "Xid 79", false, {}, loop_->state()->view_version});
  EXPECT_EQ(loop_->state()->drains->at({DrainKind::gpu, "node-0:2"}).state, DrainState::drained);
  EXPECT_FALSE(ask(submit_job("research", 4, 1)));
  const JobId id = submit(submit_job("research", 1, 3));
  for (const auto gpu : loop_->state()->jobs.find(id)->placement.gpu_of_rank) {
    EXPECT_NE(loop_->state()->topology().local_index(gpu), 2U);
  }
  stop();
  start();
  EXPECT_FALSE(ask(submit_job("research", 1, 1)));
  must(ClearDrain{{DrainKind::gpu, "node-0:2"}, ""});
  EXPECT_TRUE(ask(submit_job("research", 1, 1)));
}

TEST_F(RepairRulesTest, AFlappingLinkRestartsNoJob) {
  start_on(star_of_hosts(3, 2));
  must(PutTenant{{.name = "research", .repair = RepairPolicy::apply}, {}});
  const JobId id = submit(submit_job("research", 2, 1));
  const auto here = nodes(id);
  const auto report = [&](fabric::LinkState link) {
    const auto& t = loop_->state()->topology();
    const auto hca = t.hcas(t.find_host(here.front()))[0];
    must(ReportLinks{"default", {{t.link_text(t.link(t.ports(hca).front())), link}}});
  };
  report(fabric::LinkState::down);
  EXPECT_EQ(nodes(id), here);
  EXPECT_NE(loop_->state()->jobs.find(id)->damage.whole_text().find("if this lasts for 30 s"), std::string::npos);
  report(fabric::LinkState::up);
  EXPECT_EQ(loop_->state()->jobs.find(id)->damage, "");
  clock_us_ += 60'000'000;
  must(PutTenant{{.name = "other"}, {}});
  EXPECT_EQ(nodes(id), here);
  report(fabric::LinkState::down);
  clock_us_ += 31'000'000;
  must(PutTenant{{.name = "more"}, {}});
  EXPECT_NE(nodes(id), here);
  const auto& history = loop_->state()->jobs.find(id)->history;
  EXPECT_NE(history.back().reason.whole_text().find("(rank 0 " + here.front() + ":"), std::string::npos)
      << history.back().reason.whole_text();
}

TEST_F(RepairRulesTest, MaintenanceDrainsItsNodesAndNamesTheJobsThere) {
  start_on(star_of_hosts(2, 2));
  const JobId id = submit(submit_job("research", 2, 1));
  const std::string here = nodes(id).front();
  must(window("firmware", {here}, 60'000'000));
  EXPECT_TRUE(loop_->state()->drains->empty());
  clock_us_ += 60'000'000;
  must(PutTenant{{.name = "tick"}, {}});
  ASSERT_TRUE(loop_->state()->drains->contains({DrainKind::node, here}));
  EXPECT_TRUE(loop_->state()->reservations->at("firmware").begun);
  const auto& alarms = *loop_->state()->alarms;
  ASSERT_TRUE(alarms.contains("maintenance.jobsRemain:firmware"));
  EXPECT_EQ(alarms.at("maintenance.jobsRemain:firmware").jobs, std::vector<std::string>{to_string(id)});
  const std::string before = state_text();
  stop();
  start();
  EXPECT_EQ(state_text(), before);
  must(RepairJob{.id = id, .nodes = {here}});
  EXPECT_NE(nodes(id).front(), here);
  EXPECT_TRUE(loop_->state()->alarms->empty());
  EXPECT_EQ(loop_->state()->drains->at({DrainKind::node, here}).state, DrainState::drained);
  clock_us_ += kHour;
  must(PutTenant{{.name = "tock"}, {}});
  EXPECT_TRUE(loop_->state()->drains->empty());
  EXPECT_TRUE(loop_->state()->reservations->empty());
}

TEST_F(RepairRulesTest, TheAlarmOfALostGuaranteeNamesTheRepairThereIs) {
  start_on(star_of_hosts(3, 2));
  scheduler::Contract terms;
  terms.tenant = "research";
  terms.guaranteed = from_gbps(10);
  must(PutContract{terms, {}});
  const JobId id = submit(submit_job("research", 2, 2));
  ASSERT_TRUE(loop_->state()->jobs.find(id)->guarantee);
  const auto& t = loop_->state()->topology();
  const auto hca = t.hcas(t.find_host(nodes(id).front()))[0];
  must(ReportLinks{"default", {{t.link_text(t.link(t.ports(hca).front())), fabric::LinkState::down}}});
  ASSERT_TRUE(loop_->state()->jobs.find(id)->guarantee->at_risk());
  const auto& alarms = *loop_->state()->alarms;
  const bool named = std::ranges::any_of(alarms, [&](const auto& alarm) {
    return alarm.second.text.whole_text().find("railweave jobs repair " + to_string(id) + " moves 2 of its ranks") !=
           std::string::npos;
  });
  EXPECT_TRUE(named) << (alarms.empty() ? "no alarm" : alarms.begin()->second.text.whole_text());
  must(RepairJob{.id = id});
  EXPECT_FALSE(loop_->state()->jobs.find(id)->guarantee->at_risk());
}

}  // namespace
}  // namespace railweave::control::repair_rules_test
