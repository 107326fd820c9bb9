// Drains, modes, link states and alarms as durable state.
#include "services/control/state/drain.h"

#include "services/control/events/apply.h"
#include "tests/unit/control/control_fixture.h"

namespace railweave::control::drain_test {
namespace {

class DrainTest : public ControlTest {
 protected:
  void start_with_hosts(unsigned hosts) {
    start();
    topology_ = star_of_hosts(hosts, 8);
    ASSERT_TRUE(ask(accept(topology_)));
    ASSERT_TRUE(ask(PutTenant{{.name = "research"}, {}}));
  }
  CommandResult drain(DrainKind kind, const std::string& id, bool force = false,
                      std::vector<std::string> objections = {}) {
    const auto target = resolve(*topology_, kind, id);
    EXPECT_TRUE(target);
    return ask(RequestDrain{*target, "test", force, std::move(objections), loop_->state()->view_version});
  }
  [[nodiscard]] const Drain* find(DrainKind kind, const std::string& id) const {
    const auto& drains = *loop_->state()->drains;
    const auto found = drains.find({kind, id});
    return found == drains.end() ? nullptr : &found->second;
  }
  void restart() {
    stop();
    start();
  }
  // The link of a host's only adapter.
  [[nodiscard]] std::string link_of(unsigned host) const {
    for (const auto link : topology_->links()) {
      const std::string text = topology_->link_text(link);
      if (text.find(to_string(Guid(0x1000 + host))) != std::string::npos) return text;
    }
    return {};
  }

  fabric::TopologyPtr topology_;
};

TEST_F(DrainTest, EmptyNodeIsDrainedAtOnceAndGetsNoJobs) {
  start_with_hosts(2);
  ASSERT_TRUE(drain(DrainKind::node, "node-0"));
  ASSERT_NE(find(DrainKind::node, "node-0"), nullptr);
  EXPECT_EQ(find(DrainKind::node, "node-0")->state, DrainState::drained);
  EXPECT_FALSE(ask(submit_job("research", 8, 2)));
  const auto placed = ask(submit_job("research", 8, 1));
  ASSERT_TRUE(placed);
  EXPECT_EQ(placed->state->jobs.find(placed->job)->nodes, std::vector<std::string>{"node-1"});
}

TEST_F(DrainTest, NodesBehindADrainedSwitchAreCutOffUntilItIsBack) {
  start_with_hosts(2);
  const std::string name(topology_->name(topology_->switches()[0]));
  ASSERT_TRUE(drain(DrainKind::network_switch, name, true, {"it cuts off node-0 and node-1"}));
  for (const bool again : {false, true}) {
    if (again) restart();
    for (const auto host : topology_->hosts()) {
      const auto& allocation = loop_->state()->allocations[host.index()];
      EXPECT_TRUE(allocation.unavailable && allocation.cut_off && !allocation.short_of_link);
    }
    const auto& alarms = *loop_->state()->alarms;
    ASSERT_EQ(alarms.size(), 1U);
    EXPECT_EQ(alarms.begin()->second.kind, "hosts.cutOff");
    EXPECT_EQ(alarms.begin()->second.severity, AlarmSeverity::critical);
    EXPECT_NE(alarms.begin()->second.text.whole_text().find("2 hosts are cut off"), std::string::npos);
    EXPECT_FALSE(ask(submit_job("research", 8, 1)));
  }
  // Who is drained as well expects nothing.
  ASSERT_TRUE(drain(DrainKind::node, "node-0"));
  EXPECT_NE(loop_->state()->alarms->begin()->second.text.whole_text().find("1 host is cut off"), std::string::npos);
  ASSERT_TRUE(ask(ClearDrain{*resolve(*topology_, DrainKind::network_switch, name), ""}));
  EXPECT_TRUE(loop_->state()->alarms->empty());
  EXPECT_TRUE(ask(submit_job("research", 8, 1)));
}

TEST_F(DrainTest, NodeIsDrainedWhenItsLastJobEnds) {
  start_with_hosts(1);
  const auto one = ask(submit_job("research", 4, 1));
  const auto two = ask(submit_job("research", 4, 1));
  ASSERT_TRUE(one && two);
  ASSERT_TRUE(drain(DrainKind::node, "node-0"));
  EXPECT_EQ(find(DrainKind::node, "node-0")->state, DrainState::requested);
  ASSERT_TRUE(ask(EndJob{one->job, JobState::completed, ""}));
  EXPECT_EQ(find(DrainKind::node, "node-0")->state, DrainState::requested);
  restart();  // while the drain waits
  EXPECT_EQ(find(DrainKind::node, "node-0")->state, DrainState::requested);
  ASSERT_TRUE(ask(EndJob{two->job, JobState::completed, ""}));
  EXPECT_EQ(find(DrainKind::node, "node-0")->state, DrainState::drained);
}

TEST_F(DrainTest, ObjectionsRefuseUnlessForced) {
  start_with_hosts(2);
  const std::string link = link_of(0);
  const auto refused = drain(DrainKind::link, link, false, {"it cuts off node-0"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code, "links.drainRefused");
  EXPECT_NE(refused.error().error.message.find("cuts off node-0"), std::string::npos);
  EXPECT_TRUE(loop_->state()->drains->empty());
  ASSERT_TRUE(drain(DrainKind::link, link, true, {"it cuts off node-0"}));
  EXPECT_TRUE(find(DrainKind::link, link)->forced);
  // The node is cut off, so no job is placed there.
  const auto placed = ask(submit_job("research", 8, 1));
  ASSERT_TRUE(placed);
  EXPECT_EQ(placed->state->jobs.find(placed->job)->nodes, std::vector<std::string>{"node-1"});
}

TEST_F(DrainTest, IsRefusedWhenTheViewHasChanged) {
  start_with_hosts(2);
  const auto target = resolve(*topology_, DrainKind::node, "node-0");
  const std::uint64_t looked_at = loop_->state()->view_version;
  ASSERT_TRUE(drain(DrainKind::node, "node-1"));
  const auto late = ask(RequestDrain{*target, "", false, {}, looked_at});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().error.code, "drains.viewChanged");
}

TEST_F(DrainTest, AdvancesAndClearsAcrossARestart) {
  start_with_hosts(2);
  const std::string link = link_of(1);
  ASSERT_TRUE(drain(DrainKind::link, link, true));
  const DrainTarget target{DrainKind::link, link};
  ASSERT_TRUE(ask(ReportDrains{{{target, DrainState::rerouting}, {{DrainKind::link, "gone"}, DrainState::drained}}}));
  restart();
  ASSERT_NE(find(DrainKind::link, link), nullptr);
  EXPECT_EQ(find(DrainKind::link, link)->state, DrainState::rerouting);
  EXPECT_EQ(find(DrainKind::link, link)->reason, "test");
  EXPECT_TRUE(loop_->state()->view.drained(loop_->state()->topology().find_link(link)));
  ASSERT_TRUE(ask(ClearDrain{target, "cable replaced"}));
  EXPECT_FALSE(loop_->state()->view.drained(loop_->state()->topology().find_link(link)));
  EXPECT_FALSE(ask(ClearDrain{target, ""}));
  restart();
  EXPECT_TRUE(loop_->state()->drains->empty());
}

TEST_F(DrainTest, OutlivesTheTopology) {
  start_with_hosts(2);
  ASSERT_TRUE(drain(DrainKind::node, "node-1"));
  topology_ = star_of_hosts(3, 8);
  ASSERT_TRUE(ask(accept(topology_)));
  EXPECT_TRUE(loop_->state()->view.drained(topology_->find_host("node-1")));
  EXPECT_FALSE(ask(submit_job("research", 8, 3)));
}

TEST_F(DrainTest, LostLinksKeepNewJobsAwayWithTheReason) {
  start_with_hosts(2);
  const std::string link = link_of(0);
  ASSERT_TRUE(ask(ReportLinks{"default", {{link, fabric::LinkState::down}}}));
  const auto seq = loop_->state()->seq;
  ASSERT_TRUE(
      ask(ReportLinks{"default", {{link, fabric::LinkState::down}, {"no/1--such/2", fabric::LinkState::down}}}));
  EXPECT_EQ(loop_->state()->seq, seq) << "what is known already is no event";
  const auto refused = ask(submit_job("research", 8, 2));
  ASSERT_FALSE(refused);
  ASSERT_NE(refused.error().placement, nullptr);
  const auto& excluded = refused.error().placement->explanation.excluded;
  ASSERT_EQ(excluded.size(), 1U);
  EXPECT_EQ(excluded[0].reason, "linkDown");
  restart();
  EXPECT_FALSE(ask(submit_job("research", 8, 2)));
  ASSERT_TRUE(ask(ReportLinks{"default", {{link, fabric::LinkState::up}}}));
  EXPECT_TRUE(ask(submit_job("research", 8, 2)));
}

TEST_F(DrainTest, ModesAndAlarmsSurviveSnapshots) {
  start_with_hosts(1);
  ASSERT_TRUE(ask(SetSubnetMode{"compute", SubnetMode::direct, "ours", {}}));
  EXPECT_EQ(loop_->state()->mode("compute"), SubnetMode::direct);
  EXPECT_EQ(loop_->state()->mode("storage"), SubnetMode::observe);
  Alarm alarm{.kind = "switch.silent",
              .subject_kind = "switch",
              .subject_id = "abc",
              .subnet = "compute",
              .severity = AlarmSeverity::critical,
              .text = "does not answer",
              .jobs = {"job-000001"}};
  ASSERT_TRUE(ask(ReportAlarms{{alarm}, {}}));
  ASSERT_TRUE(ask(ReportLinks{"default", {{link_of(0), fabric::LinkState::degraded}}}));
  const ClusterState before = *loop_->state();
  // Through a snapshot, without the events.
  const auto read = codec_.decode_state({before.seq, before.term, 0, 1, codec_.encode_state(before)},
                                        [&](const std::string& digest) { return journal_->blob(digest); });
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->mode("compute"), SubnetMode::direct);
  EXPECT_EQ(read->view.state(read->topology().find_link(link_of(0))), fabric::LinkState::degraded);
  ASSERT_EQ(read->alarms->size(), 1U);
  EXPECT_EQ(read->alarms->begin()->second.text.whole_text(), "does not answer");
  EXPECT_EQ(read->alarms->begin()->second.jobs, alarm.jobs);
  restart();
  ASSERT_EQ(loop_->state()->alarms->size(), 1U);
  ASSERT_TRUE(ask(ReportAlarms{{}, {alarm.id()}}));
  EXPECT_TRUE(loop_->state()->alarms->empty());
}

TEST_F(DrainTest, AnAcknowledgementStandsUntilTheAlarmGetsWorseOrIsOver) {
  start_with_hosts(1);
  Alarm alarm{.kind = "link.symbolErrors",
              .subject_kind = "port",
              .subject_id = "a/1",
              .severity = AlarmSeverity::warning,
              .text = "more than 10 an hour"};
  const auto present = [&]() -> const Alarm& { return loop_->state()->alarms->at(alarm.id()); };
  EXPECT_FALSE(ask(AcknowledgeAlarm{alarm.id(), true, ""})) << "there is none";
  ASSERT_TRUE(ask(ReportAlarms{{alarm}, {}}));
  EXPECT_FALSE(present().acknowledged());
  ASSERT_TRUE(ask(AcknowledgeAlarm{alarm.id(), true, "INC-42"}));
  EXPECT_EQ(present().acknowledged_note, "INC-42");
  const auto seq = loop_->state()->seq;
  ASSERT_TRUE(ask(AcknowledgeAlarm{alarm.id(), true, "INC-42"}));
  EXPECT_EQ(loop_->state()->seq, seq) << "repeated: no event";
  alarm.text = "more than 20 an hour";
  ASSERT_TRUE(ask(ReportAlarms{{alarm}, {}}));
  EXPECT_TRUE(present().acknowledged()) << "another text of the same severity";
  restart();
  EXPECT_EQ(present().acknowledged_note, "INC-42");
  alarm.severity = AlarmSeverity::critical;
  ASSERT_TRUE(ask(ReportAlarms{{alarm}, {}}));
  EXPECT_FALSE(present().acknowledged()) << "worse";
  ASSERT_TRUE(ask(AcknowledgeAlarm{alarm.id(), true, ""}));
  ASSERT_TRUE(ask(AcknowledgeAlarm{alarm.id(), false, ""}));
  EXPECT_FALSE(present().acknowledged());
  ASSERT_TRUE(ask(AcknowledgeAlarm{alarm.id(), true, ""}));
  ASSERT_TRUE(ask(ReportAlarms{{}, {alarm.id()}}));
  ASSERT_TRUE(ask(ReportAlarms{{alarm}, {}}));
  EXPECT_FALSE(present().acknowledged()) << "over, and raised again";
}

// The fixture's clock is in microseconds from its start: nearly nothing of a minute passes by itself.
TEST_F(DrainTest, AMuteOutlivesItsAlarmUntilItsTimeIsOverOrTheAlarmGetsWorse) {
  start_with_hosts(1);
  Alarm alarm{.kind = "link.symbolErrors",
              .subject_kind = "port",
              .subject_id = "a/1",
              .severity = AlarmSeverity::warning,
              .text = "more than 10 an hour"};
  const auto mute = [&] { return loop_->state()->mute(alarm.id()); };
  EXPECT_FALSE(ask(MuteAlarm{alarm.id(), AlarmMute::kShortest_us, ""})) << "there is none";
  must(ReportAlarms{{alarm}, {}});
  const auto seq = loop_->state()->seq;
  must(MuteAlarm{alarm.id(), 0, ""});
  EXPECT_EQ(loop_->state()->seq, seq) << "not muted: no event";
  must(MuteAlarm{alarm.id(), AlarmMute::kShortest_us, "INC-42"});
  ASSERT_NE(mute(), nullptr);
  EXPECT_EQ(mute()->by, "tester");
  EXPECT_EQ(mute()->note, "INC-42");
  restart();
  ASSERT_NE(mute(), nullptr);
  must(ReportAlarms{{}, {alarm.id()}});
  must(ReportAlarms{{alarm}, {}});
  ASSERT_NE(mute(), nullptr) << "it comes and goes";
  clock_us_ += AlarmMute::kShortest_us;
  must(PutTenant{{.name = "other"}, {}});
  EXPECT_EQ(mute(), nullptr) << "its time is over";
  must(MuteAlarm{alarm.id(), AlarmMute::kLongest_us, ""});
  must(MuteAlarm{alarm.id(), 0, "done"});
  EXPECT_EQ(mute(), nullptr);
  must(MuteAlarm{alarm.id(), AlarmMute::kLongest_us, ""});
  alarm.severity = AlarmSeverity::critical;
  must(ReportAlarms{{alarm}, {}});
  EXPECT_EQ(mute(), nullptr) << "worse";
}

}  // namespace
}  // namespace railweave::control::drain_test
