// config_db with the names that SONiC's own templates use, and commands for tc and dcb.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fabric/drivers/linux_tc/tc_commands.h"
#include "fabric/formats/sonic/sonic_qos.h"

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
  const std::filesystem::path sample = std::string(RAILWEAVE_SHARED_DATA) + "/sonic/qos-arista7260-t1.json";
  if (!std::filesystem::exists(sample)) GTEST_SKIP() << "skipped: " << sample << " is absent";
  const Json theirs = Json::parse(std::ifstream(sample));
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
    for (const auto& field : fields(table)) EXPECT_TRUE(known.contains(field)) << name << " " << field;
  }
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
