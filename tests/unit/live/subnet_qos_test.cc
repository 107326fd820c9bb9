// Classes and partitions on the ports of a simulated subnet: what is there in the end, in which order it comes, what it
// waits for.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <random>
#include <sstream>

#include "services/control/live/ports/subnet_partitions.h"
#include "services/rest/json/jobs/job_ports.h"
#include "tests/unit/live/subnet_qos_fixture.h"

namespace railweave::control {
namespace {

using fabric::PortTables;

TEST_F(SubnetQosTest, NothingIsWrittenBeforeClassesOrContractsExist) {
  start_live(kTree);
  put_tenant("loose", false);
  (void)place("loose", 8);
  settle();
  EXPECT_FALSE(status()->qos);
  EXPECT_TRUE(switches_->table_writes().empty());
}

TEST_F(SubnetQosTest, LanesComeFirstAndKeysLast) {
  start_live(kTree);
  manager_ = {topology_->guid(topology_->hcas()[5]), 1};
  switches_->look_through(manager_);
  put_tenant("red", true, true);
  put_tenant("blue");
  put_tenant("loose", false);
  (void)place("red", 10);
  (void)place("blue", 6);
  (void)place("loose", 8);
  settle();
  settle_ports();
  expect_done(6, "at first");
  EXPECT_EQ(status()->qos->partitions, 2U);
  EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
  int stage = 0;
  ASSERT_FALSE(switches_->table_writes().empty());
  for (const auto& write : switches_->table_writes()) {
    const int its = write.sl_to_vl ? 0 : write.arbitration ? 1 : 2;
    EXPECT_GE(its, stage) << "SL to VL, then arbitration, then keys";
    stage = its;
  }
  EXPECT_EQ(stage, 2);
  EXPECT_EQ(events("qos.programmed"), 1U);
  // What is there already is not written by the next run.
  const auto writes = switches_->table_writes().size();
  make_controller();
  settle();
  settle_ports();
  expect_done(6, "after a restart");
  EXPECT_EQ(switches_->table_writes().size(), writes);
  EXPECT_EQ(events("qos.programmed"), 1U);
}

TEST_F(SubnetQosTest, ClassesThatPortsCannotHoldAreRefused) {
  start_live(kTree);
  put_tenant("red");
  settle();
  settle_ports();
  ASSERT_TRUE(loop_->state()->port_limits->contains("plane-0"));
  auto classes = fabric::default_qos_classes();
  for (unsigned more = 0; more < 3; ++more) {
    classes.push_back({.name = "more-" + std::to_string(more),
                       .share_permille = 5,
                       .priority = 3,
                       .dscp = static_cast<std::uint8_t>(50 + more)});
  }
  const auto refused = ask(PutQosClasses{classes, {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code, "qos.lanesDoNotSuffice") << refused.error().error.text();
  EXPECT_EQ(refused.error().error.kind, ErrorKind::conflict);
  classes.resize(8);
  must(PutQosClasses{classes, {}});
  settle_ports();
  EXPECT_EQ(status()->qos->problem, "");
}

TEST_F(SubnetQosTest, ADeviceThatComesBackGetsItsTablesAgain) {
  start_live(kTree);
  put_tenant("red");
  (void)place("red", 12);
  settle();
  settle_ports();
  const auto cable = uplink(0);
  const Guid lost = topology_->guid(topology_->switch_of(topology_->b(cable.link)));
  cut(cable);
  settle();
  switches_->lose_port_tables(lost);
  join(cable);
  settle();
  settle_ports();
  expect_done(6, "after it is back");
}

TEST_F(SubnetQosTest, TablesThatAnotherManagerWroteAreRepaired) {
  start_live(kTree);
  put_tenant("red");
  (void)place("red", 12);
  settle();
  settle_ports();
  for (const Place& at : cabled_ports()) {
    if (at.ref.port != 1) continue;
    PortTables foreign{.port = at.ref};
    foreign.sl_to_vl.emplace().fill(0);
    if (at.host) foreign.pkeys = std::vector<std::uint16_t>{0xffff, 0x8123};
    ASSERT_TRUE(switches_->program_ports(std::vector<PortTables>{foreign}));
  }
  step(60'000);
  for (int i = 0; i < 100; ++i) step(100);
  EXPECT_EQ(status()->qos->ports_changed, 0U) << "and all were seen to be as wanted since";
  expect_done(6, "after the reading");
}

// Each table that a port has, changed by itself.
TEST_F(SubnetQosTest, WhatAnotherProgramChangesEndsWhatIsInForceUntilItIsSeenAgain) {
  start_live(kTree);
  put_tenant("red");
  (void)place("red", 12);
  settle();
  settle_ports();
  for (int i = 0; i < 20; ++i) step(100);
  const auto places = cabled_ports();
  const auto at = *std::ranges::find_if(places, [](const Place& place) { return place.host.valid(); });
  const PortTables before = read(at.ref);
  const auto change = [&](const std::string& what, const std::string& says, PortTables foreign) {
    foreign.port = at.ref;
    ASSERT_TRUE((*switches_->program_ports(std::vector<PortTables>{foreign})).complete()) << what;
    ASSERT_NE(read(at.ref), before) << what;
    step(60'000);
    int steps = 0;
    while (status()->qos->ports_changed == 0 && ++steps < 600) step(100);
    EXPECT_LT(steps, 600) << what << " is not noticed within look_seconds";
    EXPECT_EQ(alarms("qos.changed"), 1U) << what;
    EXPECT_EQ(status()->qos->ports_pending, 1U) << what;
    for (const auto& [id, alarm] : *loop_->state()->alarms) {
      if (alarm.kind != "qos.changed") continue;
      EXPECT_NE(alarm.text.whole_text().find(says), std::string::npos) << alarm.text.whole_text();
    }
    for (int i = 0; i < 120; ++i) step(100);
    EXPECT_EQ(read(at.ref), before) << what << " is back";
    EXPECT_EQ(alarms("qos.changed"), 0U) << what;
    expect_done(6, what);
  };
  PortTables map, low, high, limit, keys;
  map.sl_to_vl = *before.sl_to_vl;
  (*map.sl_to_vl)[3] = 0;
  change("a map", "level 3 from port 0 leads to VL 0, not 3", map);
  low.arbitration = before.arbitration;
  low.arbitration->low[0].weight = 1;
  change("weights of low priority", "low arbitration is", low);
  high.arbitration = before.arbitration;
  high.arbitration->high = {{0, 200}};
  change("weights of high priority", "high arbitration is", high);
  limit.arbitration = before.arbitration;
  limit.arbitration->high_limit = 255;
  change("the limit", "limit of high priority is 255, not", limit);
  keys.pkeys = *before.pkeys;
  keys.pkeys->push_back(0x9123);
  change("keys", "is 0x9123, not 0x0000", keys);
}

TEST_F(SubnetQosTest, LanesThatDoNotSufficeAreAnAlarmAndForwardingGoesOn) {
  start_live(kTree);
  switches_->set_data_lanes(4);
  put_tenant("red");
  settle();
  EXPECT_EQ(alarms("qos.impossible"), 1U);
  ASSERT_TRUE(status()->qos);
  EXPECT_EQ(status()->qos->classes, 0U);
  EXPECT_NE(status()->qos->problem.find("6 classes x 1 lanes for the routing = 6 lanes, but the ports have 4"),
            std::string::npos)
      << status()->qos->problem;
  EXPECT_TRUE(switches_->table_writes().empty());
  EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
  const auto writes = switches_->writes().size();
  cut(uplink(1));
  step();
  EXPECT_GT(switches_->writes().size(), writes) << "repairs go on";
  auto classes = fabric::default_qos_classes();
  classes.resize(4);
  must(PutQosClasses{classes, {}});
  settle();
  settle_ports();
  EXPECT_EQ(alarms("qos.impossible"), 0U);
  EXPECT_EQ(status()->qos->classes, 4U);
  EXPECT_GT(switches_->table_writes().size(), 0U);
}

TEST_F(SubnetQosTest, ARepairComesBeforeTheNextPorts) {
  start_live(kTree);
  put_tenant("red");
  while (switches_->table_writes().empty()) step(100);
  ASSERT_GT(status()->qos->ports_pending, 0U);
  const auto tables = switches_->table_writes().size();
  const auto blocks = switches_->writes().size();
  cut(uplink(2));
  step(1);
  EXPECT_GT(switches_->writes().size(), blocks);
  EXPECT_EQ(switches_->table_writes().size(), tables) << "not in the step that repairs";
  EXPECT_TRUE(walk().verified());
  step(1);
  EXPECT_EQ(switches_->table_writes().size(), tables) << "nor before it is quiet";
  settle_ports();
  EXPECT_EQ(status()->qos->ports_pending, 0U);
}

TEST_F(SubnetQosTest, ADeviceThatIsSilentOrKeepsNothingDelaysNoOther) {
  start_live(kTree);
  settle();
  const Guid silent = topology_->guid(topology_->hcas()[3]);
  const Guid garbling = topology_->guid(topology_->hcas()[4]);
  switches_->silence(silent);
  switches_->garble(garbling, 2);
  put_tenant("red");
  (void)place("red", 60);
  for (int i = 0; i < 30; ++i) step(400);
  ASSERT_TRUE(status()->qos);
  EXPECT_EQ(status()->qos->ports_pending, 2U);
  EXPECT_EQ(alarms("qos.notWritten"), 1U);
  EXPECT_NE(status()->qos->problem.find("2 ports do not have"), std::string::npos) << status()->qos->problem;
  switches_->silence(silent, false);
  for (int i = 0; i < 10; ++i) step(30'000);
  settle_ports();
  expect_done(6, "when both are well");
  EXPECT_EQ(alarms("qos.notWritten"), 0U);
}

TEST_F(SubnetQosTest, AJobIsReadyWhenItsOwnPortsAre) {
  start_live(kTree);
  put_tenant("red", true, true);
  settle();
  settle_ports();
  const auto on_host = [&](std::size_t host) {
    auto job = submit_job("red", 2, 2);
    job.spec.only_nodes = {std::string(topology_->name(topology_->hosts()[host]))};
    const auto placed = ask(job);
    EXPECT_TRUE(placed) << placed.error().error.text();
    return placed ? placed->job : JobId();
  };
  const auto ports_of = [&](JobId id) {
    const auto state = loop_->state();
    return api::write_job_ports(*state, *state->jobs.find(id), [&](const std::string& subnet) {
      EXPECT_EQ(subnet, "plane-0");
      return api::LivePorts{status(), controller_->port_progress()};
    });
  };
  const auto is_ready = [&](JobId id) { return ports_of(id).contains("\"ready\":true"); };
  const JobId first = on_host(0);
  EXPECT_FALSE(is_ready(first));
  EXPECT_TRUE(ports_of(first).contains("not planned yet")) << ports_of(first);
  settle_ports();
  EXPECT_TRUE(is_ready(first)) << ports_of(first);
  switches_->silence(topology_->guid(topology_->hcas()[1]));
  const JobId second = on_host(1);
  for (int i = 0; i < 30; ++i) step(400);
  EXPECT_FALSE(is_ready(second));
  EXPECT_TRUE(ports_of(second).contains("\"portsPending\":1")) << ports_of(second);
  EXPECT_TRUE(ports_of(second).contains("\"reason\":\"does not answer\"")) << ports_of(second);
  // Another job waits for none but its own.
  const JobId third = on_host(2);
  EXPECT_FALSE(is_ready(third));
  for (int i = 0; i < 10 && !is_ready(third); ++i) step(1);
  EXPECT_TRUE(is_ready(third)) << ports_of(third);
  expect_keys("third", topology_->hosts()[2]);
  EXPECT_GT(status()->qos->ports_pending, 0U);
  EXPECT_TRUE(is_ready(first)) << ports_of(first);
  // A change of its contract is one more thing to write.
  must(PutContract{{.tenant = "red", .isolated = false}, {}});
  EXPECT_FALSE(is_ready(first));
  switches_->silence(topology_->guid(topology_->hcas()[1]), false);
  for (int i = 0; i < 10; ++i) step(30'000);
  settle_ports();
  for (const JobId id : {first, second, third}) EXPECT_TRUE(is_ready(id)) << ports_of(id);
  must(EndJob{first, JobState::completed, "", {}});
  settle_ports();
  EXPECT_FALSE(is_ready(first)) << "it holds no GPUs";
}

TEST_F(SubnetQosTest, AnObserverWritesNoTables) {
  start_live(kTree, SubnetMode::observe);
  put_tenant("red");
  (void)place("red", 12);
  settle();
  EXPECT_TRUE(switches_->table_writes().empty());
  must(SetSubnetMode{"plane-0", SubnetMode::direct, "", {}});
  settle();
  settle_ports();
  expect_done(6, "in direct mode");
  must(SetSubnetMode{"plane-0", SubnetMode::observe, "", {}});
  settle();
  const auto writes = switches_->table_writes().size();
  (void)place("red", 4);
  settle();
  EXPECT_EQ(switches_->table_writes().size(), writes);
}

TEST_F(SubnetQosTest, AnotherManagerStopsTheWriting) {
  start_live(kTree);
  put_tenant("red");
  settle();
  settle_ports();
  switches_->set_master(true);
  step(11'000);
  const auto writes = switches_->table_writes().size();
  (void)place("red", 12);
  settle();
  EXPECT_EQ(switches_->table_writes().size(), writes);
  switches_->set_master(false);
  step(11'000);
  settle();
  settle_ports();
  expect_done(6, "when it has gone");
}

TEST_F(SubnetQosTest, PortsOfAnotherSubnetAreNotWritten) {
  auto shape = kTree;
  shape.planes = 2;
  start_live(shape);
  put_tenant("red");
  (void)place("red", 12);
  settle();
  for (int i = 0; i < 50; ++i) step(1);
  ASSERT_TRUE(status()->qos);
  EXPECT_EQ(status()->qos->ports_programmed, cabled_ports().size() / 2);
  ASSERT_FALSE(switches_->table_writes().empty());
  for (const auto& write : switches_->table_writes()) {
    if (const auto sw = topology_->find_switch(write.port.device)) {
      EXPECT_EQ(topology_->name(topology_->subnet(sw)), "plane-0");
      continue;
    }
    const auto port = topology_->ports(topology_->find_hca(write.port.device))[0];
    EXPECT_EQ(topology_->name(topology_->subnet(topology_->switch_of(topology_->peer(port)))), "plane-0");
  }
}

TEST_F(SubnetQosTest, OpensmIsOfferedFilesOnlyWhenTheyChange) {
  const auto offered = folder_.path() / "opensm";
  std::filesystem::create_directory(offered);
  opensm_files_ = offered.string();
  start_live(kTree, SubnetMode::opensm);
  put_tenant("red");
  const auto job = place("red", 12);
  settle();
  const auto text = [&](const char* name) {
    std::ifstream file(offered / name);
    std::stringstream all;
    all << file.rdbuf();
    return all.str();
  };
  const auto pkey = loop_->state()->contracts->at("red").pkey;
  std::stringstream key;
  key << "red=0x" << std::hex << std::setw(4) << std::setfill('0') << pkey;
  EXPECT_NE(text("partitions.conf").find(key.str()), std::string::npos) << text("partitions.conf");
  EXPECT_NE(text("qos-policy.conf").find("red"), std::string::npos);
  EXPECT_NE(text("opensm-qos.conf").find("partition_config_file " + (offered / "partitions.conf").string()),
            std::string::npos)
      << text("opensm-qos.conf");
  EXPECT_EQ(events("qos.offered"), 1U);
  EXPECT_EQ(events("qos.programmed"), 0U) << "no port has them yet";
  EXPECT_TRUE(switches_->table_writes().empty()) << "ports are OpenSM's";
  ASSERT_TRUE(status()->qos);
  EXPECT_GT(status()->qos->files_written_us, 0);
  EXPECT_EQ(status()->qos->problem, "");
  // Nothing new, nothing written; a job that ends changes one file.
  settle();
  EXPECT_EQ(events("qos.offered"), 1U);
  const auto before = text("partitions.conf");
  must(EndJob{job, JobState::completed, "", {}});
  settle();
  EXPECT_EQ(events("qos.offered"), 2U) << status()->qos->problem;
  EXPECT_NE(text("partitions.conf"), before);
  // A folder that is not there is said, once it matters.
  std::filesystem::remove_all(offered);
  (void)place("red", 4);
  settle();
  EXPECT_EQ(alarms("qos.notWritten"), 1U);
  EXPECT_NE(status()->qos->problem, "");
}

TEST_F(SubnetQosTest, HostsWithoutGpusAreReachedByAllTenants) {
  auto shape = kTree;
  shape.gpus_per_host = 0;
  start_live(shape);
  put_tenant("red");
  const auto state = loop_->state();
  fabric::SubnetId subnet = topology_->subnet(topology_->switches()[0]);
  const auto partitions = partitions_of(*state, subnet, {});
  EXPECT_TRUE(partitions.limited.empty());
  ASSERT_EQ(partitions.tenants.size(), 1U);
  EXPECT_TRUE(partitions.tenants[0].members.empty());
}

}  // namespace
}  // namespace railweave::control
