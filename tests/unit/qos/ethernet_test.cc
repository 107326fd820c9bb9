// config_db with the names that SONiC's own templates use, and commands for tc and dcb.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fabric/drivers/linux_tc/tc_commands.h"
#include "fabric/formats/sonic/sonic_qos.h"
#include "fabric/formats/sonic/sonic_rules.h"

namespace railweave::fabric {
namespace {

using Json = nlohmann::json;

SonicQos some() {
  return {.ports = {"Ethernet0", "Ethernet4"},
          .classes = {{.dscp = 26,
                       .traffic_class = 3,
                       .weight = 60,
                       .lossless = true,
                       .ecn_min_bytes = 1'000'000,
                       .ecn_max_bytes = 2'000'000},
                      {.dscp = 0, .traffic_class = 0, .weight = 40}},
          .other_class = 0};
}

TEST(SonicQos, NamesTablesAndFieldsLikeSonic) {
  const auto text = write_sonic_qos(some());
  ASSERT_TRUE(text);
  const Json ours = Json::parse(*text);
  EXPECT_EQ(ours["DSCP_TO_TC_MAP"]["RAILWEAVE"].size(), 64U);
  EXPECT_EQ(ours["DSCP_TO_TC_MAP"]["RAILWEAVE"]["26"], "3");
  EXPECT_EQ(ours["PORT_QOS_MAP"]["Ethernet4"]["pfc_enable"], "3");
  EXPECT_EQ(ours["QUEUE"]["Ethernet0|3"]["scheduler"], "scheduler.3");
  EXPECT_EQ(ours["SCHEDULER"]["scheduler.3"]["weight"], "60");
  const std::filesystem::path folder = std::string(RAILWEAVE_SHARED_DATA) + "/sonic";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "skipped: " << folder << " is absent";
  Json theirs = Json::parse(std::ifstream(folder / "qos-arista7260-t1.json"));
  // What that switch's file lacks, as SONiC's own sample of every table has it.
  const Json all = Json::parse(std::ifstream(folder / "sample_config_db.json"));
  for (const auto& [name, table] :
       (all.contains("SAMPLE_CONFIG_DB_JSON") ? all["SAMPLE_CONFIG_DB_JSON"] : all).items()) {
    if (!table.is_object()) continue;
    for (const auto& [key, row] : table.items()) theirs[name].emplace("sample " + key, row);
  }
  const auto fields = [](const Json& table) {
    std::set<std::string> names;
    for (const auto& row : table) {
      for (const auto& [name, value] : row.items()) names.insert(name);
    }
    return names;
  };
  ASSERT_FALSE(ours.empty());
  for (const auto& [name, table] : ours.items()) {
    ASSERT_TRUE(theirs.contains(name)) << name;
    const auto known = fields(theirs[name]);
    for (const auto& field : fields(table)) {
      // The watchdog's ports are not in the sample: sonic-pfcwd.yang has these.
      const bool of_watchdog = name == "PFC_WD" && (field == "action" || field.ends_with("_time"));
      EXPECT_TRUE(known.contains(field) || of_watchdog) << name << " " << field;
    }
  }
}

TEST(SonicQos, NotificationsAreStrictAndPausesAreBounded) {
  SonicQos qos = some();
  qos.classes.push_back({.dscp = 48, .traffic_class = 6, .strict = true, .most_bytes_per_s = 125'000'000});
  const auto text = write_sonic_qos(qos);
  ASSERT_TRUE(text) << text.error().text();
  const Json config = Json::parse(*text);
  EXPECT_EQ(config["DSCP_TO_TC_MAP"]["RAILWEAVE"]["48"], "6");
  EXPECT_EQ(config["SCHEDULER"]["scheduler.6"],
            Json({{"type", "STRICT"}, {"meter_type", "bytes"}, {"cir", "125000000"}, {"pir", "125000000"}}));
  EXPECT_EQ(config["QUEUE"]["Ethernet4|6"]["scheduler"], "scheduler.6");
  // A watchdog on every port with a lossless queue, and the group whose headroom its pause is for.
  for (const char* port : {"Ethernet0", "Ethernet4"}) {
    EXPECT_EQ(config["PFC_WD"][port],
              Json({{"action", "drop"}, {"detection_time", "200"}, {"restoration_time", "200"}}));
    EXPECT_EQ(config["PORT_QOS_MAP"][port]["pfc_to_pg_map"], "RAILWEAVE");
  }
  EXPECT_EQ(config["PFC_WD"]["GLOBAL"]["POLL_INTERVAL"], "200");
  EXPECT_EQ(config["PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"]["RAILWEAVE"], Json({{"3", "3"}}));
  const auto problems = check_sonic_config(*text);
  ASSERT_TRUE(problems);
  for (const auto& one : *problems) ADD_FAILURE() << one.entry << ": " << one.message;
  qos.classes.back().lossless = true;
  EXPECT_FALSE(write_sonic_qos(qos));
  // Nothing lossless, nothing to pause.
  SonicQos lossy = some();
  lossy.classes[0].lossless = false;
  EXPECT_FALSE(Json::parse(*write_sonic_qos(lossy)).contains("PFC_WD"));
}

TEST(SonicQos, RefusesValuesThatTheModelsRefuse) {
  const auto refused = [](auto change) {
    SonicQos qos = some();
    change(qos);
    return !write_sonic_qos(qos).has_value();
  };
  EXPECT_TRUE(refused([](SonicQos& q) { q.classes[0].weight = 0; }));
  EXPECT_TRUE(refused([](SonicQos& q) { q.classes[0].weight = 61; }));
  EXPECT_TRUE(refused([](SonicQos& q) { q.classes[1].dscp = 26; }));
  EXPECT_TRUE(refused([](SonicQos& q) { q.classes[0].traffic_class = 8; }));
  EXPECT_TRUE(refused([](SonicQos& q) { q.other_class = 5; }));
  EXPECT_TRUE(refused([](SonicQos& q) { q.ports.push_back("eth0"); }));
}

TEST(TcCommands, RefuseValuesThatTcWouldMisread) {
  using namespace linux_tc;  // NOLINT
  EXPECT_EQ(htb_commands("eth0", RateMbps(100), {{"a", 26, RateMbps(40), {}}, {"b", 0, RateMbps(60), {}}})->size(), 5U);
  EXPECT_FALSE(htb_commands("eth0; rm", RateMbps(100), {{"a", 0, RateMbps(40), {}}}));
  EXPECT_FALSE(htb_commands("eth0", RateMbps(100), {{"a", 26, RateMbps(60), {}}, {"b", 0, RateMbps(60), {}}}));
  EXPECT_TRUE(dcb_commands("eth0", {{26, 3, 60, true}, {0, 0, 40, false}}));
  EXPECT_FALSE(dcb_commands("eth0", {{26, 3, 60, true}, {0, 0, 41, false}}));
}

}  // namespace
}  // namespace railweave::fabric
