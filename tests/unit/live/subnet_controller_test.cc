#include "services/control/live/subnet_controller.h"

#include <algorithm>
#include <random>

#include "tests/unit/live/live_fixture.h"

namespace railweave::control {
namespace {

using fabric::LinkState;

TEST_F(LiveTest, ObservesWithoutWritingUntilTold) {
  start_live({}, SubnetMode::observe);
  settle();
  EXPECT_EQ(status()->phase, SubnetPhase::watching);
  EXPECT_EQ(status()->problem, "");
  EXPECT_TRUE(switches_->writes().empty());
  EXPECT_EQ(switches_->lid(topology_->guid(topology_->switches()[0]), 0), 0) << "no LIDs either";
  cut(uplink(0));
  step();
  EXPECT_TRUE(switches_->writes().empty());
  EXPECT_EQ(loop_->state()->view.state(uplink(0).link), LinkState::down);
  EXPECT_EQ(alarms("link.down"), 1U);
}

TEST_F(LiveTest, ProgramsWhatItTakesOver) {
  start_live();
  settle();
  EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
  EXPECT_EQ(status()->blocks_differing, 0U);
  ASSERT_TRUE(status()->wanted_digest && status()->applied_digest);
  EXPECT_EQ(*status()->wanted_digest, *status()->applied_digest);
  EXPECT_EQ(*status()->wanted_digest, (*routes_.at(*loop_->state()))->routing.tables.digest()) << "as /v1/routes says";
  const auto report = walk();
  EXPECT_TRUE(report.verified());
  EXPECT_EQ(report.unreachable_pairs, 0U);
  // What is programmed already is not written again by the next run.
  const auto writes = switches_->writes().size();
  EXPECT_GT(writes, 0U);
  make_controller();
  settle();
  EXPECT_EQ(status()->phase, SubnetPhase::synced);
  EXPECT_EQ(switches_->writes().size(), writes);
}

TEST_F(LiveTest, SwitchesOfOtherSubnetsAreNotWritten) {
  start_live({.planes = 2});
  settle();
  EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
  EXPECT_TRUE(status()->isolated.empty());
  EXPECT_NE(*status()->wanted_digest, (*routes_.at(*loop_->state()))->routing.tables.digest()) << "half of it";
  ASSERT_FALSE(switches_->writes().empty());
  for (const auto& write : switches_->writes()) {
    const auto sw = topology_->find_switch(write.sw);
    EXPECT_EQ(topology_->name(topology_->subnet(sw)), "plane-0");
  }
}

TEST_F(LiveTest, NothingIsWrittenBeforeAnOperatorChangesTheMode) {
  start_live({}, SubnetMode::observe);
  settle();
  EXPECT_TRUE(switches_->writes().empty());
  must(SetSubnetMode{"plane-0", SubnetMode::direct, "maintenance over", {}});
  settle();
  EXPECT_EQ(status()->phase, SubnetPhase::synced);
  const auto writes = switches_->writes().size();
  EXPECT_GT(writes, 0U);
  must(SetSubnetMode{"plane-0", SubnetMode::observe, "", {}});
  settle();
  cut(uplink(1));
  settle();
  EXPECT_EQ(switches_->writes().size(), writes);
}

// A round waits for reports with the state that it began with. What comes after an operator handed the subnet over is
// another subnet manager's.
TEST_F(LiveTest, NothingIsWrittenOnceTheSubnetIsHandedOver) {
  start_live();
  settle();
  ASSERT_EQ(status()->phase, SubnetPhase::synced);
  const auto before = loop_->state();
  const auto written = status()->repairs_total;
  must(SetSubnetMode{"plane-0", SubnetMode::observe, "", {}});
  cut(uplink(0));
  controller_->step(before, std::chrono::milliseconds(0));
  EXPECT_EQ(status()->repairs_total, written);
  EXPECT_GT(walk().unreachable_pairs, 0U) << "tables are as they were";
  settle();
  EXPECT_EQ(status()->phase, SubnetPhase::watching);
  EXPECT_EQ(status()->links.down, 1U) << "it is seen in the new mode";
  EXPECT_EQ(status()->repairs_total, written);
}

TEST_F(LiveTest, AlarmsOfAModeEndWithIt) {
  start_live();
  settle();
  switches_->set_master(true);
  step(11'000);
  ASSERT_EQ(alarms("subnet.notWritable"), 1U);
  must(SetSubnetMode{"plane-0", SubnetMode::observe, "", {}});
  settle();
  EXPECT_EQ(alarms("subnet.notWritable"), 0U);
  EXPECT_EQ(status()->problem, "");
  must(SetSubnetMode{"plane-0", SubnetMode::opensm, "", {}});
  settle();
  EXPECT_EQ(alarms("opensm.absent"), 1U);
  cut(uplink(0));
  settle();
  must(SetSubnetMode{"plane-0", SubnetMode::observe, "", {}});
  settle();
  EXPECT_EQ(alarms("opensm.absent") + alarms("sync.mismatch"), 0U);
  EXPECT_EQ(alarms("link.down"), 1U) << "what is wrong in any mode stays";
}

// No event says that a link is back because an operator changes the mode.
TEST_F(LiveTest, AlarmsOfLinksAndPortsStandThroughAChangeOfMode) {
  start_live({.hosts_per_leaf = 3, .leaves_per_pod = 3, .spines_per_pod = 3});
  settle();
  const auto cable = uplink(1);
  fabric::PortCounts counts;
  for (int i = 0; i < 150; ++i) {
    counts[fabric::ErrorCounter::symbol_errors] += 100;
    switches_->set_counts({cable.sw, static_cast<std::uint8_t>(cable.port)}, counts);
    switches_->set_time_us(1'000'000 + i * 10'000'000LL);
    for (int slice = 0; slice < 3; ++slice) step(3'400);
  }
  cut(uplink(0));
  settle();
  ASSERT_EQ(alarms("link.symbolErrors"), 1U);
  ASSERT_EQ(alarms("link.down"), 1U);
  for (const SubnetMode mode : {SubnetMode::observe, SubnetMode::direct}) {
    must(SetSubnetMode{"plane-0", mode, "", {}});
    for (int i = 0; i < 12; ++i) {
      now_us_ += 3'400'000;
      controller_->step(loop_->state(), std::chrono::milliseconds(0));
      for (const auto& report : reports_) {
        const auto* const changed = std::get_if<ReportAlarms>(&report);
        if (changed == nullptr) continue;
        EXPECT_TRUE(changed->cleared.empty()) << changed->cleared.front();
      }
      record();
    }
    EXPECT_EQ(alarms("link.symbolErrors"), 1U);
    EXPECT_EQ(alarms("link.down"), 1U);
  }
}

TEST_F(LiveTest, RepairsACutLinkInOneStepAndRecordsItAfterwards) {
  start_live({.hosts_per_leaf = 4, .leaves_per_pod = 4, .spines_per_pod = 4});
  settle();
  const auto before = switches_->writes().size();
  cut(uplink(3));
  now_us_ += 1000;
  controller_->step(loop_->state(), std::chrono::milliseconds(0));
  EXPECT_GT(switches_->writes().size(), before);
  EXPECT_EQ(loop_->state()->view.state(uplink(3).link), LinkState::up) << "not recorded yet";
  EXPECT_TRUE(walk().verified());
  record();
  EXPECT_EQ(loop_->state()->view.state(uplink(3).link), LinkState::down);
  ASSERT_FALSE(status()->repairs.empty());
  const Repair& repair = status()->repairs.back();
  EXPECT_EQ(repair.cause, "1 link down");
  EXPECT_LE(repair.noticed_us, repair.swept_us);
  EXPECT_LE(repair.swept_us, repair.computed_us);
  EXPECT_LE(repair.computed_us, repair.programmed_us);
  EXPECT_EQ(alarms("link.down"), 1U);
  EXPECT_FALSE(repair.unreachable_pairs) << "not counted yet";
  settle();
  EXPECT_EQ(status()->repairs.back().unreachable_pairs, 0U);
  join(uplink(3));
  settle();
  EXPECT_EQ(alarms("link.down"), 0U);
  EXPECT_EQ(loop_->state()->view.state(uplink(3).link), LinkState::up);
  EXPECT_EQ(status()->phase, SubnetPhase::synced);
}

TEST_F(LiveTest, LostTrapsAreCaughtByTheNextSweep) {
  start_live();
  settle();
  cut(uplink(0), false);
  step(1000);
  EXPECT_FALSE(walk().verified());
  step(10'000);
  EXPECT_TRUE(walk().verified());
  EXPECT_EQ(status()->phase, SubnetPhase::synced);
}

TEST_F(LiveTest, ASilentSwitchIsLeftOutAndRepairedWhenItIsBack) {
  start_live({.hosts_per_leaf = 3, .leaves_per_pod = 3, .spines_per_pod = 3});
  settle();
  const auto cable = uplink(0);
  const Guid silent = topology_->guid(topology_->switch_of(topology_->b(cable.link)));
  switches_->silence(silent);
  cut(cable);
  settle();
  EXPECT_EQ(status()->phase, SubnetPhase::partial) << "what it holds is not known";
  EXPECT_NE(status()->problem.find("1 of"), std::string::npos) << status()->problem;
  ASSERT_EQ(status()->isolated.size(), 1U);
  EXPECT_EQ(status()->isolated[0].guid, silent);
  EXPECT_EQ(alarms("switch.isolated"), 1U);
  // The others go on meanwhile.
  const auto writes = switches_->writes().size();
  cut(uplink(4));
  step();
  for (std::size_t i = writes; i < switches_->writes().size(); ++i) {
    EXPECT_NE(switches_->writes()[i].sw, silent) << "it delays no other";
  }
  switches_->silence(silent, false);
  step(11'000);
  settle();
  step(11'000);
  EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
  EXPECT_TRUE(status()->isolated.empty());
  EXPECT_EQ(alarms("switch.isolated"), 0U);
  EXPECT_TRUE(walk().verified());
}

TEST_F(LiveTest, ASwitchThatDidNotAnswerIsAskedAgainOnceLinksHaveChanged) {
  start_live({.hosts_per_leaf = 3, .leaves_per_pod = 3, .spines_per_pod = 3});
  settle();
  const auto cable = uplink(0);
  const Guid silent = topology_->guid(topology_->switch_of(topology_->b(cable.link)));
  switches_->silence(silent);
  cut(cable);
  step();
  ASSERT_EQ(status()->phase, SubnetPhase::partial);
  // As where the way to it was cut as well, which is reported only now.
  switches_->silence(silent, false);
  cut(uplink(4));
  for (int i = 0; i < 3; ++i) step(1);
  EXPECT_TRUE(walk().verified()) << "it is not left as it is for a second";
  EXPECT_TRUE(status()->isolated.empty());
}

TEST_F(LiveTest, ASwitchThatStaysSilentIsAskedEarlyAFewTimesOnly) {
  start_live({.hosts_per_leaf = 3, .leaves_per_pod = 3, .spines_per_pod = 3});
  settle();
  const auto cable = uplink(0);
  switches_->silence(topology_->guid(topology_->switch_of(topology_->b(cable.link))));
  cut(cable);
  step();
  table_reads_.clear();
  for (int i = 0; i < 12; ++i) {
    i % 2 == 0 ? cut(uplink(4)) : join(uplink(4));
    step(10);
    step(10);
  }
  const auto alone = std::ranges::count(table_reads_, 1U);
  EXPECT_GT(alone, 0);
  EXPECT_LE(alone, 3) << "each waits for it, and other repairs with it";
}

TEST_F(LiveTest, WhatReadsBackDifferentlyIsWrittenAgain) {
  start_live();
  settle();
  const auto cable = uplink(0);
  switches_->garble(cable.sw, 1);
  cut(cable);
  step();
  EXPECT_NE(status()->phase, SubnetPhase::synced);
  step(11'000);
  settle();
  EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
  EXPECT_TRUE(walk().verified());
}

TEST_F(LiveTest, AWholeSpineIsLostAndComesBack) {
  start_live({.hosts_per_leaf = 3, .leaves_per_pod = 3, .spines_per_pod = 3});
  settle();
  const auto spine = topology_->switch_of(topology_->b(uplink(0).link));
  std::vector<Cable> cables;
  for (const auto port : topology_->ports(spine)) {
    if (!topology_->peer(port)) continue;
    cables.push_back({topology_->guid(spine), topology_->number(port), topology_->link(port)});
  }
  for (const auto& cable : cables) cut(cable);
  settle();
  const auto report = walk();
  EXPECT_EQ(report.unreachable_pairs, report.cut_off_pairs);
  EXPECT_EQ(report.credit_loops, 0U);
  EXPECT_EQ(status()->isolated.size(), 1U);
  for (const auto& cable : cables) join(cable);
  settle();
  step(11'000);
  EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
  const auto healed = walk();
  EXPECT_TRUE(healed.verified());
  EXPECT_EQ(healed.unreachable_pairs, 0U);
  EXPECT_TRUE(loop_->state()->alarms->empty());
}

TEST_F(LiveTest, AConnectionThatFailsIsRetriedWithExponentialBackoff) {
  start();
  topology_ = fabric::testing::make_fat_tree({});
  switches_ = std::make_shared<fabric::SimulatedDriver>(topology_);
  must(accept(topology_));
  refused_ = Error{ErrorKind::unavailable, "ib.noPort", "there is no port", {}, {}};
  make_controller();
  step();
  EXPECT_EQ(status()->phase, SubnetPhase::offline);
  EXPECT_NE(status()->problem.find("no port"), std::string::npos);
  EXPECT_EQ(alarms("subnet.offline"), 1U);
  for (int i = 0; i < 100; ++i) step(1000);
  EXPECT_GT(connections_, 4U);
  EXPECT_LT(connections_, 12U);
  refused_.reset();
  step(31'000);
  settle();
  EXPECT_EQ(status()->phase, SubnetPhase::watching);
  EXPECT_EQ(alarms("subnet.offline"), 0U);
}

TEST_F(LiveTest, APortThatFailsIsOpenedAgain) {
  start_live();
  settle();
  switches_->fail_with({ErrorKind::unavailable, "ib.portFailed", "the port is gone", {}, {}});
  step();
  EXPECT_EQ(status()->phase, SubnetPhase::offline);
  cut(uplink(2));  // while there is no connection
  switches_->heal();
  step(2'000);
  settle();
  EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
  EXPECT_TRUE(walk().verified());
}

TEST_F(LiveTest, NothingIsWrittenWhileAnotherSubnetManagerIsMaster) {
  start_live();
  settle();
  switches_->set_master(true);
  step(11'000);
  EXPECT_EQ(alarms("subnet.notWritable"), 1U) << "seen by the next sweep, with nothing to write";
  EXPECT_NE(status()->problem.find("another subnet manager"), std::string::npos);
  const auto writes = switches_->writes().size();
  cut(uplink(0));
  settle();
  step(11'000);
  EXPECT_EQ(switches_->writes().size(), writes);
  switches_->set_master(false);
  step(11'000);
  settle();
  EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
  EXPECT_EQ(alarms("subnet.notWritable"), 0U);
  EXPECT_TRUE(walk().verified());
}

TEST_F(LiveTest, TablesThatAnotherManagerWroteAreFoundAndRepaired) {
  start_live();
  settle();
  // Another program clears a switch.
  fabric::ForwardingDelta foreign;
  fabric::LftBlock block{.sw = topology_->switches()[0], .number = 0};
  block.ports.fill(fabric::kNoPort);
  foreign.blocks.push_back(block);
  ASSERT_TRUE(switches_->program(*topology_, foreign));
  EXPECT_FALSE(walk().verified());
  step(600'000);
  settle();
  EXPECT_TRUE(walk().verified());
}

TEST_F(LiveTest, CountersBecomeRatesAndAlarmsThatNameTheJobs) {
  start_live({.hosts_per_leaf = 3, .leaves_per_pod = 3, .spines_per_pod = 3});
  settle();
  const auto cable = uplink(0);
  const fabric::PortRef ref{cable.sw, static_cast<std::uint8_t>(cable.port)};
  fabric::PortCounts counts;
  for (int i = 0; i < 150; ++i) {                     // load has to last a quarter of an hour
    counts.transmit_bytes += 10ULL * 48'000'000'000;  // 48 GB/s of 50
    counts[fabric::ErrorCounter::symbol_errors] += 100;
    switches_->set_counts(ref, counts);
    switches_->set_time_us(1'000'000 + i * 10'000'000LL);
    for (int slice = 0; slice < 3; ++slice) step(3'400);
  }
  EXPECT_EQ(alarms("link.symbolErrors"), 1U);
  EXPECT_EQ(alarms("link.peakLoad") + alarms("link.sustainedLoad"), 2U);
  const auto port = topology_->a(cable.link);
  const auto read = controller_->counters(*loop_->state()->accepted.topology, port);
  ASSERT_TRUE(read && read->utilisation);
  EXPECT_EQ(read->sent_bytes, counts.transmit_bytes);
  EXPECT_NEAR(*read->utilisation, 0.96, 0.01);
  ASSERT_TRUE(read->errors_per_hour);
  EXPECT_GT((*read->errors_per_hour)[0], 1000);
}

TEST_F(LiveTest, WhatWasCountedIsKeptOverAnImport) {
  start_live({.hosts_per_leaf = 3, .leaves_per_pod = 3, .spines_per_pod = 3});
  settle();
  const auto cable = uplink(0);
  const fabric::PortRef ref{cable.sw, static_cast<std::uint8_t>(cable.port)};
  fabric::PortCounts counts;
  const auto read = [&](int seconds, std::uint64_t bytes_per_s) {
    counts.transmit_bytes += 10 * bytes_per_s;
    counts[fabric::ErrorCounter::receive_errors] += 1;
    switches_->set_counts(ref, counts);
    switches_->set_time_us(1'000'000 + seconds * 1'000'000LL);
    for (int slice = 0; slice < 3; ++slice) step(3'400);
  };
  const auto archived = [&] {
    const auto state = loop_->state();
    const auto& topology = *state->accepted.topology;
    const auto link = topology.find_link(topology_->link_text(cable.link));
    const std::array ports = {topology.a(link), topology.b(link)};
    ArchivedPorts ranges(2);
    controller_->archive(topology, ports, fabric::health::ArchiveRing::fine, ranges);
    return ranges;
  };
  for (int i = 1; i <= 20; ++i) read(i * 10, 12'500'000'000);
  const auto before = archived();
  ASSERT_TRUE(before[0] && before[1]);
  float peak = 0;
  const auto count = [&](const ArchivedPorts& ranges) {
    std::uint32_t errors = 0;
    for (const auto& range : ranges) {
      for (const auto& slot : range->slots) {
        errors += slot.errors[static_cast<std::size_t>(fabric::ErrorCounter::receive_errors)];
        peak = std::max(peak, slot.peak);
      }
    }
    return errors;
  };
  EXPECT_GE(count(before), 18U);
  EXPECT_NEAR(peak, 0.25, 0.02);
  const auto version = loop_->state()->accepted.version;
  auto again = accept(std::make_shared<const fabric::Topology>(*topology_));
  again.document = std::make_shared<const std::string>(*again.document + "\n");  // else it is known already
  again.digest = std::string(64, '0');
  must(std::move(again));
  settle();
  ASSERT_NE(loop_->state()->accepted.version, version);
  const auto after = archived();
  ASSERT_TRUE(after[0] && after[1]);
  EXPECT_EQ(count(after), count(before));
}

// Any mixture of faults, by seed: nothing wrong is ever programmed, and when they are over everything is as wanted.
TEST_F(LiveTest, ComesBackFromAnyMixtureOfFaults) {
  start_live({.hosts_per_leaf = 2, .leaves_per_pod = 3, .spines_per_pod = 3, .pods = 3, .cores_per_spine = 2});
  settle();
  std::size_t cables = 0;
  for (const auto link : topology_->links()) cables += topology_->joins_switches(link) ? 1 : 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    std::set<std::size_t> down;
    std::set<Guid> silent;
    for (int round = 0; round < 6; ++round) {
      const auto n = random() % cables;
      switch (random() % 6) {
        case 0:
        case 1:
        case 2:
          cut(uplink(n), random() % 4 != 0);
          down.insert(n);
          break;
        case 3:
          if (!down.empty()) {
            join(uplink(*down.begin()), random() % 4 != 0);
            down.erase(down.begin());
          }
          break;
        case 4:
          silent.insert(uplink(n).sw);
          switches_->silence(uplink(n).sw);
          break;
        default:
          switches_->garble(uplink(n).sw, random() % 3);
      }
      step(static_cast<std::int64_t>(random() % 12'000));
    }
    for (const auto n : down) join(uplink(n), random() % 2 == 0);
    for (const auto guid : silent) switches_->silence(guid, false);
    for (int i = 0; i < 4; ++i) step(11'000);
    step(31 * 60'000);  // whatever flapped is calm
    settle();
    ASSERT_EQ(status()->phase, SubnetPhase::synced) << "seed " << seed << ": " << status()->problem;
    const auto report = walk();
    ASSERT_TRUE(report.verified()) << "seed " << seed;
    ASSERT_EQ(report.unreachable_pairs, 0U) << "seed " << seed;
    ASSERT_TRUE(loop_->state()->alarms->empty()) << "seed " << seed << ": " << loop_->state()->alarms->begin()->first;
    ASSERT_EQ(*status()->wanted_digest, *status()->applied_digest) << "seed " << seed;
  }
}

}  // namespace
}  // namespace railweave::control
