// railweave switches config, against a service with canned answers.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/railweave/terminal/json.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/cli/stub_service.h"

namespace railweave::cli {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

const char* const kQueues =
    R"({"switch":"leaf-1","lowestClass":"best-effort","laneDscps":[3,7],"ports":[)"
    R"({"port":1,"peer":"n1/eth0","facesHost":true,"inUse":true,"linkMbps":1000,"cableMetres":null,"queues":[)"
    R"({"class":"best-effort","lane":null,"job":null,"dscp":0,"trafficClass":0,"priority":1,"guaranteedMbps":100,"lossless":false},)"
    R"({"class":"bulk","lane":null,"job":null,"dscp":26,"trafficClass":1,"priority":0,"guaranteedMbps":500,"lossless":true},)"
    R"({"class":"bulk","lane":0,"job":"job-000001","dscp":3,"trafficClass":3,"priority":0,"guaranteedMbps":201,"lossless":true}],)"
    R"("arriving":[{"lane":0,"trafficClass":3,"lossless":true}],)"
    R"("admitted":[{"dscp":3,"job":"job-000001","destinations":["n4/eth0"]}]},)"
    R"({"port":5,"peer":"spine-1","facesHost":false,"inUse":true,"linkMbps":1000,"cableMetres":30,"queues":[)"
    R"({"class":"best-effort","lane":null,"job":null,"dscp":0,"trafficClass":0,"priority":1,"guaranteedMbps":100,"lossless":false},)"
    R"({"class":"bulk","lane":1,"job":"job-000002","dscp":7,"trafficClass":4,"priority":0,"guaranteedMbps":300,"lossless":true}],)"
    R"("arriving":[],"admitted":[]}],"seq":7})";

const char* const kTable =
    R"({"items":[{"lid":1,"destination":{"kind":"host","node":"n1","device":"n1/eth0","port":"a/1"},"wantedPort":1,)"
    R"("wantedTo":"n1/eth0","appliedPort":null,"differs":null},)"
    R"({"lid":2,"destination":{"kind":"host","node":"n4","device":"n4/eth0","port":"b/1"},"wantedPort":5,)"
    R"("wantedTo":"spine-1","appliedPort":null,"differs":null},)"
    R"({"lid":3,"destination":{"kind":"host","node":"n5","device":"n5/eth0","port":"c/1"},"wantedPort":null,)"
    R"("wantedTo":null,"appliedPort":null,"differs":null},)"
    R"({"lid":4,"destination":{"kind":"switch","device":"spine-1"},"wantedPort":5,"wantedTo":"spine-1","appliedPort":null,)"
    R"("differs":null}],"nextCursor":null,"seq":7})";

TEST(SwitchConfig, IsOfLinuxOrOfSonic) {
  StubService service;
  service.get("/v1/switches/{id}/queues", kQueues);
  service.get("/v1/switches/{id}/forwarding-table", kTable);
  const TemporaryFolder folder;
  const std::string names = (folder.path() / "names.yaml").string();
  std::ofstream(names) << "addresses: {n1/eth0: 10.0.0.1, n4/eth0: 10.0.0.4, n5/eth0: 10.0.0.5, spine-1: 10.9.0.1}\n"
                          "interfaces: {'5': eth5}\n";
  const Finished tc = service.run({"switches", "config", "leaf-1", "--names", names});
  ASSERT_EQ(tc.exit_code, 0) << tc.err;
  EXPECT_THAT(tc.out, AllOf(HasSubstr("dev swp1 parent 1:1 classid 1:3 htb rate 201mbit ceil 1000mbit"),
                            HasSubstr("match ip tos 0xc 0xfc"), HasSubstr("ip dscp 3 ip daddr { 10.0.0.4 } accept"),
                            HasSubstr("delete table netdev railweave_eth5\nEND")))
      << "marks from another switch are trusted";
  const Finished unnamed = service.run({"switches", "config", "leaf-1"});
  EXPECT_THAT(unnamed.err, HasSubstr("n4/eth0 has no address"));
  EXPECT_THAT(unnamed.out, Not(HasSubstr("accept\n    ip")));

  const Finished routes = service.run({"switches", "config", "leaf-1", "--to", "routes", "--names", names});
  ASSERT_EQ(routes.exit_code, 0) << routes.err;
  EXPECT_EQ(routes.out,
            "#!/bin/sh\nset -e\nip route replace 10.0.0.1/32 dev swp1\n"
            "ip route replace 10.0.0.4/32 via 10.9.0.1 dev eth5 onlink\n"
            "ip route replace unreachable 10.0.0.5/32\n");

  const Finished sonic = service.run({"switches", "config", "leaf-1", "--to", "sonic", "--ethernet-step", "4"});
  ASSERT_EQ(sonic.exit_code, 0) << sonic.err;
  const Json config = Json::parse(sonic.out);
  const auto weight = [&](const char* queue) {
    return config["SCHEDULER"][config["QUEUE"][queue]["scheduler"].get<std::string>()]["weight"];
  };
  EXPECT_EQ(weight("Ethernet0|3"), "21") << "lanes are rounded up";
  EXPECT_EQ(weight("Ethernet16|4"), "30");
  EXPECT_EQ(config["DSCP_TO_TC_MAP"][config["PORT_QOS_MAP"]["Ethernet0"]["dscp_to_tc_map"].get<std::string>()]["7"],
            "0");
  EXPECT_EQ(service.run({"switches", "config", "leaf-1", "--to", "frr"}).exit_code, 2);
}

// What a switch reports that took those tables over its own: names of its own, ports and queues of the same kind in one key.
std::string config_db() {
  Json all;
  for (const char* port : {"Ethernet0", "Ethernet32"}) all["PORT"][port] = {{"speed", "1000"}, {"admin_status", "up"}};
  all["PORT"]["Ethernet64"] = {{"speed", "100000"}};
  for (unsigned tc = 0; tc < 8; ++tc) {
    const std::string number = std::to_string(tc);
    all["TC_TO_QUEUE_MAP"]["AZURE"][number] = all["MAP_PFC_PRIORITY_TO_QUEUE"]["AZURE"][number] = number;
    all["TC_TO_PRIORITY_GROUP_MAP"]["AZURE"][number] = tc == 1 || tc == 3 || tc == 4 ? number : "0";
  }
  all["PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"]["AZURE"] = {{"1", "1"}, {"3", "3"}, {"4", "4"}};
  all["TC_TO_DSCP_MAP"]["AZURE"] = {{"0", "0"}, {"1", "26"}, {"2", "48"}, {"3", "3"}, {"4", "7"}};
  for (const char* weight : {"10", "21", "30", "50"}) {
    all["SCHEDULER"][std::string("w") + weight] = {{"type", "DWRR"}, {"weight", weight}};
  }
  all["SCHEDULER"]["first"] = {{"type", "STRICT"}};
  all["SCHEDULER"]["cnp"] = {{"type", "STRICT"}, {"meter_type", "bytes"}, {"cir", "1250000"}, {"pir", "1250000"}};
  all["SCHEDULER"]["slow"] = {{"type", "DWRR"}, {"weight", "21"}, {"cir", "1"}, {"pir", "1000000"}};
  all["WRED_PROFILE"]["ecn"] = {{"ecn", "ecn_all"},
                                {"wred_green_enable", "true"},
                                {"green_min_threshold", "1000"},
                                {"green_max_threshold", "4000"},
                                {"green_drop_probability", "5"}};
  all["QUEUE"] = {{"Ethernet0,Ethernet32|0", {{"scheduler", "w10"}}},
                  {"Ethernet0|1", {{"scheduler", "w50"}, {"wred_profile", "ecn"}}},
                  {"Ethernet0,Ethernet32|2", {{"scheduler", "cnp"}}},
                  {"Ethernet0|3-3", {{"scheduler", "[SCHEDULER|w21]"}, {"wred_profile", "ecn"}}},
                  {"Ethernet32|4", {{"scheduler", "w30"}, {"wred_profile", "ecn"}}},
                  {"Ethernet64|0-7", {{"scheduler", "first"}}}};
  all["BUFFER_PROFILE"] = {{"large", {{"xoff", "9999999"}}}, {"lossy", {{"size", "0"}}}, {"kept", {{"size", "0"}}}};
  all["BUFFER_PG"] = {{"Ethernet0|1", {{"profile", "large"}}},
                      {"Ethernet0|3", {{"profile", "NULL"}}},
                      {"Ethernet32|3-4", {{"profile", "[BUFFER_PROFILE|large]"}}}};
  all["BUFFER_QUEUE"] = {{"Ethernet0|0", {{"profile", "lossy"}}},
                         {"Ethernet0|1", {{"profile", "kept"}}},
                         {"Ethernet32|0-2", {{"profile", "lossy"}}},
                         {"Ethernet0,Ethernet32|3-4", {{"profile", "kept"}}}};
  for (unsigned dscp = 0; dscp < 64; ++dscp) {
    const std::string key = std::to_string(dscp);
    const std::string of_class = dscp == 26 ? "1" : dscp == 48 ? "2" : dscp == 3 ? "3" : "0";
    all["DSCP_TO_TC_MAP"]["HOST"][key] = of_class;
    all["DSCP_TO_TC_MAP"]["UP"][key] = dscp == 7 ? "4" : of_class;
  }
  for (const char* port : {"Ethernet0", "Ethernet32"}) {
    const bool is_host = std::string(port) == "Ethernet0";
    all["PORT_QOS_MAP"][port] = {{"dscp_to_tc_map", is_host ? "[DSCP_TO_TC_MAP|HOST]" : "UP"},
                                 {"tc_to_queue_map", "AZURE"},
                                 {"tc_to_dscp_map", "AZURE"},
                                 {"tc_to_pg_map", "AZURE"},
                                 {"pfc_to_queue_map", "AZURE"},
                                 {"pfc_to_pg_map", "AZURE"},
                                 {"pfc_enable", is_host ? "3,1" : "4"},
                                 {"pfcwd_sw_enable", is_host ? "1,3" : "4"}};
  }
  return all.dump();
}

struct Change {
  const char *at, *value, *line;
};
const Change kChanges[] = {
    {"/DSCP_TO_TC_MAP/HOST/7", R"("4")", "Ethernet0  DSCP 7  traffic class 0  traffic class 4"},
    {"/DSCP_TO_TC_MAP/UP/8", R"("7")", "Ethernet32  DSCP 8  traffic class 0  traffic class 7"},
    {"/TC_TO_QUEUE_MAP/AZURE/3", R"("2")", "Ethernet32  traffic class 3  queue 3  queue 2"},
    {"/TC_TO_DSCP_MAP/AZURE/3", R"("8")", "Ethernet0  traffic class 3  DSCP 3  DSCP 8"},
    {"/PORT_QOS_MAP/Ethernet32/dscp_to_tc_map", R"("HOST")", "Ethernet32  DSCP 7  traffic class 4  traffic class 0"},
    {"/PORT_QOS_MAP/Ethernet32/dscp_to_tc_map", R"("GONE")", "Ethernet32  DSCP 7  traffic class 4  -"},
    {"/PORT_QOS_MAP/Ethernet0", "{}", "Ethernet0  DSCP 26  traffic class 1  -"},
    {"/SCHEDULER/w30/weight", R"("29")", "Ethernet32  queue 4  DWRR, weight 30  DWRR, weight 29"},
    {"/SCHEDULER/w50/type", R"("STRICT")", "Ethernet0  queue 1  DWRR, weight 50  STRICT"},
    {"/QUEUE/Ethernet0|3-3/scheduler", R"("slow")",
     "Ethernet0  queue 3  DWRR, weight 21  DWRR, weight 21, cir 1, pir 1000000"},
    {"/QUEUE/Ethernet0|1", "{}", "Ethernet0  queue 1  DWRR, weight 50  -"},
    {"/SCHEDULER/cnp/pir", R"("2500000")",
     "Ethernet0  queue 2  STRICT, cir 1250000, pir 1250000  STRICT, cir 1250000, pir 2500000"},
    {"/PORT/Ethernet0/speed", R"("100000")", "Ethernet0  speed  1000  100000"},
    {"/PORT/Ethernet32/admin_status", R"("down")", "Ethernet32  admin status  up  down"},
    {"/PORT/Ethernet32", R"({"speed":"1000"})", "Ethernet32  admin status  up  down"},
    {"/PORT", R"({"Ethernet32":{"speed":"1000","admin_status":"up"}})", "Ethernet0  port  there  -"},
    {"/PORT_QOS_MAP/Ethernet0/scheduler", R"("slow")", "Ethernet0  whole port  -  DWRR, weight 21, cir 1, pir 1000000"},
    {"/PORT_QOS_MAP/Ethernet32/dot1p_to_tc_map", R"("AZURE")", "Ethernet32  dot1p_to_tc_map  -  AZURE"},
    {"/PORT_QOS_MAP/Ethernet0/pfc_enable", R"("1")", "Ethernet0  PFC  1,3  1"},
    {"/PORT_QOS_MAP/Ethernet0/pfcwd_sw_enable", R"("")", "Ethernet0  PFC watchdog  1,3  -"},
    {"/TC_TO_PRIORITY_GROUP_MAP/AZURE/3", R"("0")", "Ethernet0  traffic class 3  priority group 3  priority group 0"},
    {"/MAP_PFC_PRIORITY_TO_QUEUE/AZURE/4", R"("0")", "Ethernet32  PFC priority 4  queue 4  queue 0"},
    {"/PFC_PRIORITY_TO_PRIORITY_GROUP_MAP/AZURE", "{}", "Ethernet0  PFC priority 1  priority group 1  -"},
    {"/WRED_PROFILE/ecn/ecn", R"("ecn_none")", "Ethernet0  ECN of queue 1  marks from 1000 to 4000 bytes, 5%  -"},
    {"/QUEUE/Ethernet32|4", R"({"scheduler":"w30"})",
     "Ethernet32  ECN of queue 4  marks from 1000 to 4000 bytes, 5%  -"},
    {"/BUFFER_PG/Ethernet32|3-4", R"({"profile":"lossy"})", "Ethernet32  headroom of priority group 4"},
    {"/BUFFER_QUEUE/Ethernet0,Ethernet32|3-4/profile", R"("lossy")", "Ethernet0  buffers of queue 3  lossless  lossy"},
    {"/BUFFER_QUEUE/Ethernet0|1", "{}", "Ethernet0  buffers of queue 1  lossless  -"}};

TEST(SwitchConfig, WhatASonicSwitchHasIsComparedByItsMeaning) {
  StubService service;
  service.get("/v1/switches/{id}/queues", kQueues);
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "config_db.json").string();
  const auto check = [&](const std::string& text) {
    std::ofstream(file) << text;
    return service.run({"switches", "check", "leaf-1", file});
  };
  const Finished same = check(config_db());
  EXPECT_EQ(same.exit_code, 0) << same.out << same.err;
  EXPECT_EQ(same.out, "as wanted: 2 ports, 0 routes\n");
  EXPECT_THAT(same.err, HasSubstr("routes are not compared without --names"));
  const Finished made = service.run({"switches", "config", "leaf-1", "--to", "sonic"});
  EXPECT_THAT(made.err, HasSubstr("adapters of hosts pause DSCP 3 by priority 3"));
  const Finished alone = check(made.out);
  EXPECT_THAT(alone.err, HasSubstr("the table PORT is not in the file"));
  EXPECT_EQ(alone.exit_code, 0) << "what was made is not what is wanted";

  for (const Change& one : kChanges) {
    Json changed = Json::parse(config_db());
    changed[Json::json_pointer(one.at)] = Json::parse(one.value);
    const Finished differs = check(changed.dump());
    EXPECT_EQ(differs.exit_code, 10) << one.at << differs.err;
    std::string line;  // columns two blanks apart
    for (const char c : differs.out) {
      if (c != ' ' || !line.ends_with("  ")) line += c;
    }
    EXPECT_THAT(line, AnyOf(HasSubstr(one.line), HasSubstr(std::string("Ethernet0  ") + one.line))) << one.at;
  }
  const Finished json = service.run({"-o", "json", "switches", "check", "leaf-1", file});
  EXPECT_EQ(Json::parse(json.out)["differences"][0]["has"], "-") << json.out;

  EXPECT_EQ(check("{}").exit_code, 2);
  EXPECT_THAT(check("{}").err, HasSubstr("is no CONFIG_DB"));
  EXPECT_NE(check("{\"PORT\": {").exit_code, 0);
  for (const char* odd :
       {R"({"PORT_QOS_MAP": [1]})", R"({"PORT_QOS_MAP": {"Ethernet0": 3}, "QUEUE": {"x": 1, "|": {}}})",
        R"({"PORT": {}, "QUEUE": {"Ethernet0|9-": {"scheduler": 3}, ",|a": []}, "SCHEDULER": []})"}) {
    EXPECT_NE(check(odd).exit_code, 0) << odd;
    EXPECT_THAT(check(odd).err, Not(HasSubstr("internal"))) << odd;
  }
}

TEST(SwitchConfig, RoutesOfASonicSwitchAreMadeAndCompared) {
  StubService service;
  service.get("/v1/switches/{id}/queues", kQueues);
  service.get("/v1/switches/{id}/forwarding-table", kTable);
  const TemporaryFolder folder;
  const std::string names = (folder.path() / "names.yaml").string(), file = (folder.path() / "db.json").string();
  std::ofstream(names) << "addresses: {n1/eth0: 10.0.0.1, n4/eth0: 10.0.0.4, n5/eth0: 10.0.0.5}\n"
                          "interfaces: {'5': Ethernet120}\ngateways: {'5': 10.9.5.1}\n";
  const Finished routes = service.run({"switches", "config", "leaf-1", "--to", "sonic-routes", "--names", names});
  ASSERT_EQ(routes.exit_code, 0) << routes.err;
  const auto row = [](const char* gateway, const char* interface, const char* dropped) {
    return Json{
        {"nexthop", gateway}, {"ifname", interface}, {"distance", "0"}, {"nexthop-vrf", ""}, {"blackhole", dropped}};
  };
  const Json wanted = {{"STATIC_ROUTE",
                        {{"default|10.0.0.1/32", row("0.0.0.0", "Ethernet0", "false")},
                         {"default|10.0.0.4/32", row("10.9.5.1", "Ethernet120", "false")},
                         {"default|10.0.0.5/32", row("", "", "true")}}}};
  EXPECT_EQ(Json::parse(routes.out), wanted) << routes.out;

  Json there = Json::parse(service.run({"switches", "config", "leaf-1", "--to", "sonic", "--names", names}).out);
  EXPECT_TRUE(there["PORT_QOS_MAP"].contains("Ethernet120"));
  there.update(wanted);
  const auto check = [&](const Json& config) {
    std::ofstream(file) << config;
    return service.run({"switches", "check", "leaf-1", file, "--names", names});
  };
  EXPECT_EQ(check(there).out, "as wanted: 2 ports, 3 routes\n");
  // The default VRF need not be named, and what is empty need not be there.
  there["STATIC_ROUTE"] = {{"10.0.0.1/32", {{"ifname", "Ethernet0"}}},
                           {"10.0.0.4/32", {{"nexthop", "10.9.5.1"}, {"ifname", "Ethernet120"}}},
                           {"default|10.0.0.5/32", {{"blackhole", "true"}}},
                           {"default|10.3.0.0/24", {{"nexthop", "10.9.9.9"}}}};
  EXPECT_EQ(check(there).exit_code, 0);
  for (const auto& [value, has] : std::vector<std::pair<const char*, const char*>>{
           {R"({"nexthop":"10.9.6.1","ifname":"Ethernet120"})", "10.9.6.1 Ethernet120"},
           {R"({"nexthop":"10.9.5.1,10.9.6.1","ifname":"Ethernet120,Ethernet128"})",
            "10.9.5.1,10.9.6.1 Ethernet120,Ethernet128"},
           {R"({"blackhole":"true"})", "dropped"},
           {"{}", "-"}}) {
    Json changed = there;
    changed["STATIC_ROUTE"]["10.0.0.4/32"] = Json::parse(value);
    const Finished differs = check(changed);
    EXPECT_EQ(differs.exit_code, 10);
    EXPECT_THAT(differs.out, AllOf(HasSubstr("route 10.0.0.4/32"), HasSubstr("10.9.5.1 Ethernet120"), HasSubstr(has)));
    EXPECT_EQ(std::ranges::count(differs.out, '\n'), 2) << differs.out;
  }
  EXPECT_EQ(service.run({"switches", "config", "leaf-1", "--to", "sonic", "--check"}).exit_code, 2);
}

TEST(SwitchConfig, RefusesWhatItCannotMake) {
  StubService service;
  service.get("/v1/switches/{id}/queues", R"({"switch":"ib","lowestClass":"b","laneDscps":[],"ports":[],"seq":1})");
  service.get("/v1/switches/{id}/forwarding-table", kTable);
  const Finished none = service.run({"switches", "config", "ib"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("no cabled Ethernet port"));
  const TemporaryFolder folder;
  const std::string names = (folder.path() / "names.json").string();
  std::ofstream(names) << R"({"addresses": {"n4/eth0": "10.0.0.4"}})";
  const Finished gateway = service.run({"switches", "config", "leaf-1", "--to", "routes", "--names", names});
  EXPECT_EQ(gateway.exit_code, 2);
  EXPECT_THAT(gateway.err, HasSubstr("spine-1 has no address"));
  std::ofstream(names) << R"({"addresses": {"n4/eth0": "10.0.0.4; reboot", "spine-1": "10.9.0.1"}})";
  EXPECT_NE(service.run({"switches", "config", "leaf-1", "--to", "routes", "--names", names}).exit_code, 0);
}

}  // namespace
}  // namespace railweave::cli
