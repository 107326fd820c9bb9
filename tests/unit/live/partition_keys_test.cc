// Partition keys on the ports of a simulated subnet: they follow the jobs and stay where they are.
#include "tests/unit/live/subnet_qos_fixture.h"

namespace railweave::control {
namespace {

using fabric::PortTables;

TEST_F(SubnetQosTest, KeysFollowTheJobsAndNothingElseIsWritten) {
  start_live(kTree);
  put_tenant("red", true, true);
  put_tenant("blue", true, true);
  settle();
  settle_ports();
  expect_done(6, "without jobs");
  std::mt19937_64 random(7);
  std::vector<JobId> running;
  for (int round = 0; round < 12; ++round) {
    const auto before = switches_->table_writes().size();
    if (running.size() < 2 || random() % 3 != 0) {
      running.push_back(place(random() % 2 == 0 ? "red" : "blue", 2 + 2 * (random() % 4)));
    } else {
      must(EndJob{running.front(), JobState::completed, "", {}});
      running.erase(running.begin());
    }
    settle_ports();
    expect_done(6, "round " + std::to_string(round));
    const auto& writes = switches_->table_writes();
    EXPECT_LT(writes.size() - before, 10U) << "of the hosts of one job";
    for (std::size_t i = before; i < writes.size(); ++i) EXPECT_TRUE(writes[i].pkeys && !writes[i].sl_to_vl);
  }
  for (const JobId job : running) must(EndJob{job, JobState::completed, "", {}});
  must(RemoveContract{"red", {}});
  settle_ports();
  expect_done(6, "without a contract");
}

// Queue pairs hold an index of the table, not a key: another tenant's job that comes or goes must not move it, and a
// contract must not make a limited member of a port whose jobs talk by index 0.
TEST_F(SubnetQosTest, KeysOfARunningJobStayAtTheirIndex) {
  start_live(kTree);
  put_tenant("zebra", false);
  put_tenant("ant", true, true);
  const JobId first = place("zebra", 2);  // two GPUs of a host with four
  settle();
  settle_ports();
  const auto host = topology_->host(loop_->state()->jobs.find(first)->placement.gpu_of_rank[0]);
  fabric::PortRef port;
  for (const Place& at : cabled_ports()) {
    if (at.host == host) port = at.ref;
  }
  const auto keys = [&] { return *read(port).pkeys; };
  EXPECT_EQ(keys(), std::vector<std::uint16_t>{0xffff});
  must(PutContract{{.tenant = "zebra", .isolated = true}, {}});
  settle_ports();
  const auto pkey = [&](const char* tenant) {
    return static_cast<std::uint16_t>(loop_->state()->contracts->at(tenant).pkey | 0x8000U);
  };
  EXPECT_EQ(keys(), (std::vector<std::uint16_t>{0xffff, pkey("zebra")})) << "index 0 is as the job found it";
  const auto on_host = [&](const std::string& tenant) {
    auto job = submit_job(tenant, 2, 1);
    job.spec.only_nodes = {std::string(topology_->name(host))};
    const auto placed = ask(job);
    EXPECT_TRUE(placed) << placed.error().error.text();
    settle_ports();
    return placed ? placed->job : JobId();
  };
  const JobId beside = on_host("ant");
  EXPECT_EQ(keys(), (std::vector<std::uint16_t>{0xffff, pkey("zebra"), pkey("ant")}));
  must(EndJob{first, JobState::completed, "", {}});
  settle_ports();
  EXPECT_EQ(keys(), (std::vector<std::uint16_t>{0xffff, 0, pkey("ant")})) << "ant's queue pairs are at index 2";
  (void)on_host("zebra");
  EXPECT_EQ(keys(), (std::vector<std::uint16_t>{0xffff, pkey("zebra"), pkey("ant")}));
  // A restart plans the same from the state.
  make_controller();
  settle();
  settle_ports();
  EXPECT_EQ(keys(), (std::vector<std::uint16_t>{0xffff, pkey("zebra"), pkey("ant")}));
  must(EndJob{beside, JobState::completed, "", {}});
  settle_ports();
  EXPECT_EQ(keys(), (std::vector<std::uint16_t>{0xffff, pkey("zebra")}));
}

// What cannot be planned keeps lanes and weights as they are; keys need neither.
TEST_F(SubnetQosTest, KeysAreWrittenWhereLanesDoNotSuffice) {
  start_live(kTree);
  switches_->set_data_lanes(4);
  put_tenant("red", true, true);
  const JobId job = place("red", 12);
  settle();
  settle_ports();
  EXPECT_EQ(alarms("qos.impossible"), 1U);
  expect_keys("without lanes");
  ASSERT_FALSE(switches_->table_writes().empty());
  for (const auto& write : switches_->table_writes()) EXPECT_FALSE(write.sl_to_vl || write.arbitration);
  // A guarantee would be of nothing: it is refused, and so are classes that ports cannot hold.
  EXPECT_EQ(loop_->state()->port_limits->at("plane-0").data_lanes, 4U);
  const PutContract guarantees{{.tenant = "red", .guaranteed = RateMbps(1'000)}, {}};
  const auto amended = ask(guarantees);
  ASSERT_FALSE(amended);
  EXPECT_EQ(amended.error().error.code, "contracts.jobsDoNotFit");
  must(EndJob{job, JobState::completed, "", {}});
  must(guarantees);
  const auto refused = ask(submit_job("red", 2, 2));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code, "qos.lanesDoNotSuffice") << refused.error().error.text();
}

}  // namespace
}  // namespace railweave::control
