// Lanes of jobs' own as Linux and SONiC switches are configured with them: filters of marks, host routes, tables of config_db.
#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fabric/drivers/linux_routes/route_commands.h"
#include "fabric/drivers/linux_tc/interface_name.h"
#include "fabric/drivers/linux_tc/mark_filter.h"
#include "fabric/formats/sonic/sonic_lanes.h"
#include "fabric/formats/sonic/sonic_rules.h"
#include "fabric/qos/ethernet_plan.h"

namespace railweave::fabric {
namespace {

using Json = nlohmann::json;

TEST(EthernetLanes, AreWhatClassesAndNotificationsLeave) {
  auto classes = default_qos_classes();
  EXPECT_EQ(ethernet_lanes(classes), 2U) << "management has the DSCP of notifications";
  std::set<unsigned> marks, numbers;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    marks.insert(classes[c].dscp);
    numbers.insert(class_number(classes, c));
  }
  for (unsigned lane = 0; lane < 2; ++lane) {
    EXPECT_EQ(lane_dscp(classes, lane) & 3U, 3U) << "for local use";
    EXPECT_TRUE(marks.insert(lane_dscp(classes, lane)).second);
    EXPECT_TRUE(numbers.insert(lane_traffic_class(classes, lane)).second);
  }
  EXPECT_EQ(*numbers.rbegin(), 7U);
  classes = {{"bulk", 500, 0, ClassBound::bandwidth, true, 7}, {"rest", 100, 1, ClassBound::bandwidth, false, 0}};
  EXPECT_EQ(ethernet_lanes(classes), 5U) << "notifications need a queue of their own";
  EXPECT_EQ(lane_dscp(classes, 0), 3);
  EXPECT_EQ(lane_dscp(classes, 1), 11) << "7 is a class's";
  EXPECT_EQ(lane_traffic_class(classes, 0), 3);
  while (classes.size() < 9) {
    classes.push_back({"c" + std::to_string(classes.size()), 1, 0, ClassBound::bandwidth, false,
                       static_cast<std::uint8_t>(40 + classes.size())});
  }
  EXPECT_EQ(ethernet_lanes(classes), 0U);
}

TEST(MarkFilter, AdmitsByDestinationAndRemarksTheRest) {
  using linux_tc::mark_filter;
  const auto script = mark_filter("eth1", {3, 7}, {{3, {"10.0.0.1", "10.0.0.2"}}});
  ASSERT_TRUE(script);
  EXPECT_NE(script->find("ip dscp 3 ip daddr { 10.0.0.1, 10.0.0.2 } accept\n"), std::string::npos) << *script;
  EXPECT_NE(script->find("ip dscp { 3, 7 } counter ip dscp set 0\n"), std::string::npos) << *script;
  EXPECT_NE(script->find("delete table netdev railweave_eth1\n"), std::string::npos) << *script;
  EXPECT_EQ(mark_filter("eth1", {}, {})->find("chain"), std::string::npos) << "nothing to filter";
  EXPECT_EQ(mark_filter("eth1", {3}, {{3, {}}})->find("accept\n"), std::string::npos) << "to no destination";
  EXPECT_FALSE(mark_filter("eth1; reboot", {3}, {}));
  EXPECT_FALSE(mark_filter("eth1", {0}, {})) << "best effort passes";
  EXPECT_FALSE(mark_filter("eth1", {64}, {}));
  EXPECT_FALSE(mark_filter("eth1", {3, 3}, {}));
  EXPECT_FALSE(mark_filter("eth1", {3}, {{7, {"10.0.0.1"}}}));
  EXPECT_FALSE(mark_filter("eth1", {3}, {{3, {"10.0.0.1 } accept"}}}));
}

TEST(HostRoutes, HaveOneNextHopEach) {
  using linux_routes::route_commands;
  const auto commands =
      route_commands({{"10.0.0.1", "swp1", ""}, {"10.0.0.2", "swp5", "10.9.0.3"}, {"10.0.0.3", "", ""}});
  ASSERT_TRUE(commands);
  EXPECT_EQ((*commands)[0], "ip route replace 10.0.0.1/32 dev swp1");
  EXPECT_EQ((*commands)[1], "ip route replace 10.0.0.2/32 via 10.9.0.3 dev swp5 onlink");
  EXPECT_EQ((*commands)[2], "ip route replace unreachable 10.0.0.3/32");
  EXPECT_FALSE(route_commands({{"10.0.0.1", "swp1", ""}, {"10.0.0.1", "swp2", ""}}));
  EXPECT_FALSE(route_commands({{"10.0.0", "swp1", ""}}));
  EXPECT_FALSE(route_commands({{"10.0.0.1", "-s", ""}}));
  EXPECT_FALSE(route_commands({{"10.0.0.1", "swp1", "gateway"}}));
  for (const char* wrong : {"", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "1..2.3", "1.2.3.4 ", "1.2.3.-4"}) {
    EXPECT_FALSE(linux_tc::is_ipv4_address(wrong)) << wrong;
  }
  EXPECT_TRUE(linux_tc::is_ipv4_address("0.0.0.0") && linux_tc::is_ipv4_address("255.10.9.100"));
}

// Class 1 is lossless, and lane 3; what is 4 may be lost. Ethernet8 has no packets of lane 3.
SonicLanes two_lanes() {
  const RateMbps rate(100'000);
  return {.marks = {{0, 0}, {26, 1, true, 100'000, 400'000}, {3, 3, true, 100'000, 400'000}, {7, 4}},
          .lowest_class = 0,
          .ports = {{"Ethernet0", {{0, 10}, {1, 40}, {3, 30}}, {7}, {1, 3}, rate, 5},
                    {"Ethernet8", {{0, 10}, {1, 40}, {4, 25}}, {3}, {1}, rate, 5},
                    {"Ethernet16", {{0, 10}, {1, 35}, {3, 30}, {4, 25}}, {}, {3, 1}, rate, 300}},
          .asic = {}};
}

TEST(SonicLaneTables, PauseLosslessLanesWithHeadroomOfTheirOwn) {
  const auto text = write_sonic_lanes(two_lanes());
  ASSERT_TRUE(text) << text.error().text();
  const Json config = Json::parse(*text);
  EXPECT_EQ(config["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"], "1,3");
  EXPECT_EQ(config["PORT_QOS_MAP"]["Ethernet8"]["pfc_enable"], "1");
  EXPECT_EQ(config["PORT_QOS_MAP"]["Ethernet16"]["pfcwd_sw_enable"], "1,3");
  EXPECT_EQ(config["TC_TO_PRIORITY_GROUP_MAP"]["RAILWEAVE_LANES"]["3"], "3");
  EXPECT_EQ(config["TC_TO_PRIORITY_GROUP_MAP"]["RAILWEAVE_LANES"]["4"], "0");
  EXPECT_EQ(config["PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"]["RAILWEAVE_LANES"], Json({{"1", "1"}, {"3", "3"}}));
  EXPECT_EQ(config["BUFFER_PG"]["Ethernet0|3"]["profile"], "pg_lossless_100000_5m_profile");
  EXPECT_EQ(config["BUFFER_PG"]["Ethernet16|3"]["profile"], "pg_lossless_100000_300m_profile");
  EXPECT_EQ(config["BUFFER_PG"]["Ethernet8|3"]["profile"], "ingress_lossy_profile") << "it has no such packets";
  EXPECT_EQ(config["BUFFER_QUEUE"]["Ethernet0|3"]["profile"], "egress_lossless_profile");
  EXPECT_EQ(config["BUFFER_QUEUE"]["Ethernet16|4"]["profile"], "egress_lossy_profile");
  EXPECT_EQ(config["QUEUE"]["Ethernet0|3"]["wred_profile"], "RAILWEAVE_3");
  EXPECT_EQ(config["WRED_PROFILE"]["RAILWEAVE_3"]["ecn"], "ecn_all");
  EXPECT_FALSE(config["QUEUE"]["Ethernet16|4"].contains("wred_profile"));
  EXPECT_EQ(config["PFC_WD"].size(), 4U) << "every port has something to watch";
  EXPECT_LT(std::stoull(config["BUFFER_PROFILE"]["pg_lossless_100000_5m_profile"]["xoff"].get<std::string>()),
            std::stoull(config["BUFFER_PROFILE"]["pg_lossless_100000_300m_profile"]["xoff"].get<std::string>()));
  auto crowded = two_lanes();
  crowded.asic.memory_bytes = 300'000;
  EXPECT_EQ(write_sonic_lanes(crowded).error().code, "sonic.bufferTooSmall");
}

TEST(SonicLaneTables, TrustMarksByPortAndRemarkThem) {
  const auto text = write_sonic_lanes(two_lanes());
  ASSERT_TRUE(text) << text.error().text();
  const Json config = Json::parse(*text);
  const auto class_at = [&](const char* port, const char* dscp) {
    return config["DSCP_TO_TC_MAP"][config["PORT_QOS_MAP"][port]["dscp_to_tc_map"].get<std::string>()][dscp];
  };
  EXPECT_EQ(class_at("Ethernet0", "3"), "3");
  EXPECT_EQ(class_at("Ethernet0", "7"), "0") << "of a lane that no job there has";
  EXPECT_EQ(class_at("Ethernet8", "3"), "0");
  EXPECT_EQ(class_at("Ethernet8", "7"), "4");
  for (const char* dscp : {"3", "7", "26"}) EXPECT_NE(class_at("Ethernet16", dscp), "0") << "from another switch";
  EXPECT_EQ(class_at("Ethernet16", "63"), "0");
  // What was not trusted leaves with the DSCP of the lowest class.
  EXPECT_EQ(config["TC_TO_DSCP_MAP"]["RAILWEAVE_LANES"], Json({{"0", "0"}, {"1", "26"}, {"3", "3"}, {"4", "7"}}));
  EXPECT_EQ(config["SCHEDULER"][config["QUEUE"]["Ethernet16|3"]["scheduler"].get<std::string>()]["weight"], "30");
  const auto faults = check_sonic_config(*text);
  ASSERT_TRUE(faults);
  for (const auto& one : *faults) ADD_FAILURE() << one.entry << ": " << one.message;

  // Every table and field is one of SONiC's own.
  const std::filesystem::path file = std::string(RAILWEAVE_SHARED_DATA) + "/sonic/sample_config_db.json";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "skipped: " << file << " is absent";
  Json sample = Json::parse(std::ifstream(file));
  if (sample.contains("SAMPLE_CONFIG_DB_JSON")) sample = sample["SAMPLE_CONFIG_DB_JSON"];
  for (const auto& [name, table] : config.items()) {
    ASSERT_TRUE(sample.contains(name)) << name;
    if ((name.ends_with("_MAP") && name != "PORT_QOS_MAP") || name == "PFC_WD") continue;
    if (name == "MAP_PFC_PRIORITY_TO_QUEUE" || name == "BUFFER_PROFILE") continue;  // held to the models by sonic_yang
    std::set<std::string> known;
    for (const auto& row : sample[name]) {
      for (const auto& [field, value] : row.items()) known.insert(field);
    }
    for (const auto& row : table) {
      for (const auto& [field, value] : row.items()) EXPECT_TRUE(known.contains(field)) << name << " " << field;
    }
  }
}

TEST(SonicLaneTables, RefuseWhatTheModelsRefuse) {
  const auto refused = [](auto change) {
    SonicLanes lanes = two_lanes();
    change(lanes);
    return !write_sonic_lanes(lanes).has_value();
  };
  EXPECT_TRUE(refused([](SonicLanes& l) { l.marks.push_back({3, 5}); }));
  EXPECT_TRUE(refused([](SonicLanes& l) { l.marks.push_back({5, 3}); }));
  EXPECT_TRUE(refused([](SonicLanes& l) { l.marks.push_back({5, 8}); }));
  EXPECT_TRUE(refused([](SonicLanes& l) { l.lowest_class = 7; }));
  EXPECT_TRUE(refused([](SonicLanes& l) { l.ports[0].name = "swp1"; }));
  EXPECT_TRUE(refused([](SonicLanes& l) { l.ports[1].name = "Ethernet0"; }));
  EXPECT_TRUE(refused([](SonicLanes& l) { l.ports[0].queues[0].weight = 0; }));
  EXPECT_TRUE(refused([](SonicLanes& l) { l.ports[0].queues[0].weight = 50; }));
  EXPECT_TRUE(refused([](SonicLanes& l) { l.ports[0].distrusted = {9}; }));
  EXPECT_TRUE(refused([](SonicLanes& l) { l.ports[0].lossless = {4}; })) << "its mark may be lost";
  EXPECT_TRUE(refused([](SonicLanes& l) { l.marks[0].lossless = true; }));
  EXPECT_FALSE(refused([](SonicLanes&) {}));
  // A map's name is at most 32 characters, whatever is not trusted; the checker sees one that leads nowhere.
  SonicLanes many{.marks = {{0, 0}, {3, 1}, {7, 2}, {11, 3}, {15, 4}, {19, 5}, {23, 6}, {27, 7}},
                  .lowest_class = 0,
                  .ports = {},
                  .asic = {}};
  many.ports.push_back({"Ethernet0", {{0, 1}}, {3, 7, 11, 15, 19, 23, 27}, {}, RateMbps(400'000), 5});
  many.ports.push_back({"Ethernet8", {{0, 1}}, {3, 7, 11, 15, 19, 23}, {}, RateMbps(400'000), 5});
  const auto text = write_sonic_lanes(many);
  ASSERT_TRUE(text);
  const auto faults = check_sonic_config(*text);
  ASSERT_TRUE(faults);
  for (const auto& one : *faults) ADD_FAILURE() << one.entry << ": " << one.message;
  Json config = Json::parse(*text);
  EXPECT_EQ(config["DSCP_TO_TC_MAP"].size(), 2U);
  config["TC_TO_DSCP_MAP"].erase("RAILWEAVE_LANES");
  EXPECT_FALSE(check_sonic_config(config.dump())->empty());
  config["TC_TO_DSCP_MAP"]["RAILWEAVE_LANES"] = {{"0", "64"}};
  EXPECT_FALSE(check_sonic_config(config.dump())->empty());
}

}  // namespace
}  // namespace railweave::fabric
