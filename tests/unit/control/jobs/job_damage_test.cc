// Jobs that lose nodes, GPUs or links: alarms, repairs by their tenants' policies, and what is whole again.
#include "services/control/guarantees/job_repair.h"
#include "tests/unit/control/queue_fixture.h"

namespace railweave::control::job_damage_test {
namespace {

class JobDamageTest : public QueueTest {};

TEST_F(JobDamageTest, DamagedJobsAreRepairedByTheirTenantsPolicy) {
  start_with_hosts(3);
  must(PutTenant{{.name = "guests", .repair = RepairPolicy::apply, .repair_after_s = 0, .max_priority = "high"}, {}});
  const JobId proposed = submit("research", 4);
  const JobId applied = submit("guests", 4);
  const auto node = [&](JobId id) { return topology_->find_host(job(id)->nodes.front()).index(); };
  ASSERT_EQ(node(proposed), node(applied));
  const auto lost = static_cast<unsigned>(node(proposed));
  must(ReportLinks{"fabric", {link_of(lost, fabric::LinkState::down)}});
  EXPECT_NE(job(proposed)->damage.whole_text().find("4 GPUs on node-" + std::to_string(lost)), std::string::npos)
      << job(proposed)->damage.whole_text();
  EXPECT_EQ(node(proposed), lost);
  EXPECT_NE(node(applied), lost);
  EXPECT_TRUE(job(applied)->damage.empty());
  restart();
  must(RepairJob{proposed, {}, {}, "", {}});
  EXPECT_NE(node(proposed), lost);
  EXPECT_TRUE(job(proposed)->damage.empty());
  const auto again = ask(RepairJob{proposed, {}, {}, "", {}});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().error.code, "jobs.notDamaged");
  restart();
}

TEST_F(JobDamageTest, DamageEndsWhenTheLinkReturns) {
  start_with_hosts(2);
  const JobId id = submit("research", 8);
  const auto host = static_cast<unsigned>(topology_->find_host(job(id)->nodes.front()).index());
  must(ReportLinks{"fabric", {link_of(host, fabric::LinkState::down)}});
  EXPECT_FALSE(job(id)->damage.empty());
  must(ReportLinks{"fabric", {link_of(host, fabric::LinkState::up)}});
  EXPECT_TRUE(job(id)->damage.empty());
  EXPECT_EQ(job(id)->history.back().reason.whole_text(), "all its GPUs are back");
}

// None of these jobs has a guarantee, whose alarm is another.
TEST_F(JobDamageTest, DamageIsAnAlarmUntilTheJobIsWholeMovedOrEnded) {
  start_with_hosts(3);
  const JobId id = submit("research", 8);
  const std::string alarm = "job.damaged:" + to_string(id);
  const auto cable = [&](fabric::LinkState link) {
    const auto host = static_cast<unsigned>(topology_->find_host(job(id)->nodes.front()).index());
    must(ReportLinks{"fabric", {link_of(host, link)}});
  };
  const auto stands = [&] { return loop_->state()->alarms->contains(alarm); };
  EXPECT_FALSE(stands());
  cable(fabric::LinkState::down);
  ASSERT_TRUE(stands());
  const Alarm raised = loop_->state()->alarms->at(alarm);
  EXPECT_EQ(raised.severity, AlarmSeverity::critical);
  EXPECT_NE(raised.text.whole_text().find(job(id)->damage.whole_text()), std::string::npos) << raised.text.whole_text();
  EXPECT_EQ(raised.jobs, std::vector<std::string>{to_string(id)});
  restart();
  EXPECT_TRUE(stands());
  cable(fabric::LinkState::up);
  EXPECT_FALSE(stands());

  cable(fabric::LinkState::down);
  ASSERT_TRUE(stands());
  must(RepairJob{id, {}, {}, "", {}});
  EXPECT_FALSE(stands());

  cable(fabric::LinkState::down);
  ASSERT_TRUE(stands());
  must(EndJob{id, JobState::completed, ""});
  EXPECT_FALSE(stands());
  EXPECT_TRUE(loop_->state()->alarms->empty());
}

TEST_F(JobDamageTest, RanksLeaveALostGpuWhichIsDrained) {
  start_with_hosts(2);
  const JobId id = submit("research", 4);
  const std::string node = job(id)->nodes.front();
  const unsigned local = topology_->local_index(job(id)->placement.gpu_of_rank[2]);
  must(RepairJob{id, {}, {{node, local}}, "Xid 79", {}});
  EXPECT_TRUE(loop_->state()->drains->contains({DrainKind::gpu, node + ":" + std::to_string(local)}));
  EXPECT_FALSE(loop_->state()->drains->contains({DrainKind::node, node})) << "its other GPUs stay in service";
  ASSERT_FALSE(job(id)->placement.gpu_of_rank.empty());
  for (const auto gpu : job(id)->placement.gpu_of_rank) {
    EXPECT_FALSE(topology_->name(topology_->host(gpu)) == node && topology_->local_index(gpu) == local);
  }
  restart();
}

}  // namespace
}  // namespace railweave::control::job_damage_test
