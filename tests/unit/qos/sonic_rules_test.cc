// Rules of SONiC's YANG models: real configurations pass, each of them broken in one place fails with the name of that
// place, and generated configurations pass.
#include "fabric/formats/sonic/sonic_rules.h"

#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fabric/formats/sonic/sonic_qos.h"

namespace railweave::fabric {
namespace {

using Json = nlohmann::json;

std::vector<std::pair<std::string, Json>> real_configs() {
  std::vector<std::pair<std::string, Json>> configs;
  const std::filesystem::path folder = std::string(RAILWEAVE_SHARED_DATA) + "/sonic";
  if (!std::filesystem::exists(folder)) return configs;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (!file.is_regular_file()) continue;  // the models
    Json config = Json::parse(std::ifstream(file.path()));
    if (config.contains("SAMPLE_CONFIG_DB_JSON")) config = config["SAMPLE_CONFIG_DB_JSON"];
    configs.emplace_back(file.path().filename(), std::move(config));
  }
  return configs;
}

std::vector<SonicProblem> problems(const Json& config) { return check_sonic_config(config.dump()).value(); }

bool names(const std::vector<SonicProblem>& problems, const std::string& entry) {
  return std::ranges::any_of(problems, [&](const SonicProblem& one) { return one.entry == entry; });
}

TEST(SonicRules, RealConfigurationsPass) {
  const auto configs = real_configs();
  if (configs.empty()) GTEST_SKIP() << "skipped: " << RAILWEAVE_SHARED_DATA << "/sonic is absent";
  EXPECT_GE(configs.size(), 4U);
  for (const auto& [name, config] : configs) {
    for (const auto& one : problems(config)) ADD_FAILURE() << name << ": " << one.entry << ": " << one.message;
  }
}

// Every field of every row of the tables that are checked, broken in turn.
TEST(SonicRules, RealConfigurationsBrokenAnywhereFailByName) {
  const auto configs = real_configs();
  if (configs.empty()) GTEST_SKIP() << "skipped: " << RAILWEAVE_SHARED_DATA << "/sonic is absent";
  const std::set<std::string> checked = {"SCHEDULER",   "WRED_PROFILE",   "PORT_QOS_MAP", "QUEUE",
                                         "BUFFER_POOL", "BUFFER_PROFILE", "BUFFER_PG",    "BUFFER_QUEUE"};
  const std::set<std::string> maps = {"DSCP_TO_TC_MAP", "TC_TO_QUEUE_MAP", "TC_TO_PRIORITY_GROUP_MAP",
                                      "MAP_PFC_PRIORITY_TO_QUEUE"};
  std::size_t broken = 0;
  for (const auto& [file, config] : real_configs()) {
    for (const auto& [table, rows] : config.items()) {
      if (!checked.contains(table) && !maps.contains(table)) continue;
      std::size_t tried = 0;
      for (const auto& [key, row] : rows.items()) {
        if (++tried > 6) break;  // hundreds of queues are alike
        Json small;              // that entry's tables alone would lose what it refers to: keep all, but few queues
        for (const auto& [other, all] : config.items()) {
          if ((checked.contains(other) || maps.contains(other) || other == "PORT" || other.ends_with("_MAP")) &&
              other != "QUEUE" && other != "PORT_QOS_MAP") {
            small[other] = all;
          }
        }
        small[table] = Json::object({{key, row}});
        if (checked.contains(table)) small[table] = config[table].size() > 50 ? small[table] : config[table];
        const std::string entry = table + "|" + key;
        for (const auto& [field, value] : row.items()) {
          Json worse = small;
          worse[table][key][field] = "99999999999999999999x";
          ASSERT_TRUE(names(problems(worse), entry + " " + field)) << file << " " << entry << " " << field;
          ++broken;
        }
        if (checked.contains(table)) {
          Json worse = small;
          worse[table][key]["no_such_field"] = "1";
          ASSERT_TRUE(names(problems(worse), entry + " no_such_field")) << file << " " << entry;
          ++broken;
        }
      }
    }
  }
  EXPECT_GT(broken, 300U);
}

Json ours(const SonicQos& qos) { return Json::parse(write_sonic_qos(qos).value()); }

SonicQos with_buffers() {
  SonicQos qos{.ports = {"Ethernet0", "Ethernet8"},
               .classes = {{.dscp = 26,
                            .traffic_class = 3,
                            .weight = 50,
                            .lossless = true,
                            .ecn_min_bytes = 400'000,
                            .ecn_max_bytes = 1'600'000},
                           {.dscp = 24, .traffic_class = 4, .weight = 30, .lossless = true},
                           {.dscp = 0, .traffic_class = 0, .weight = 20}},
               .other_class = 0};
  qos.buffers =
      SonicBuffers{.asic = {}, .cables = {{"Ethernet0", RateMbps(400'000), 5}, {"Ethernet8", RateMbps(100'000), 300}}};
  return qos;
}

TEST(SonicRules, GeneratedConfigurationsPass) {
  const Json config = ours(with_buffers());
  for (const auto& one : problems(config)) ADD_FAILURE() << one.entry << ": " << one.message;
  EXPECT_EQ(config["BUFFER_PG"]["Ethernet8|3-4"]["profile"], "pg_lossless_100000_300m_profile");
  EXPECT_EQ(config["BUFFER_PG"]["Ethernet0|0"]["profile"], "ingress_lossy_profile");
  EXPECT_EQ(config["BUFFER_QUEUE"]["Ethernet0|3-4"]["profile"], "egress_lossless_profile");
  EXPECT_EQ(config["BUFFER_PROFILE"].size(), 5U);
  // The shared memory and all headroom together are the whole memory.
  const auto number = [](const Json& text) { return std::stoull(text.get<std::string>()); };
  const auto size = [&](const char* profile) { return number(config["BUFFER_PROFILE"][profile]["size"]); };
  EXPECT_EQ(number(config["BUFFER_POOL"]["ingress_lossless_pool"]["size"]) +
                2 * (size("pg_lossless_400000_5m_profile") + size("pg_lossless_100000_300m_profile")),
            std::uint64_t{64} << 20U);
}

TEST(SonicRules, RulesBetweenFieldsAndReferences) {
  const Json config = ours(with_buffers());
  const auto broken = [&](auto change) {
    Json worse = config;
    change(worse);
    return problems(worse);
  };
  EXPECT_TRUE(names(broken([](Json& c) { c["WRED_PROFILE"]["RAILWEAVE_3"]["green_min_threshold"] = "9999999"; }),
                    "WRED_PROFILE|RAILWEAVE_3 green_max_threshold"));
  EXPECT_TRUE(names(broken([](Json& c) { c["BUFFER_POOL"].erase("egress_lossy_pool"); }),
                    "BUFFER_PROFILE|egress_lossy_profile pool"));
  EXPECT_TRUE(names(broken([](Json& c) { c["BUFFER_PROFILE"]["egress_lossy_profile"].erase("size"); }),
                    "BUFFER_PROFILE|egress_lossy_profile"));
  EXPECT_TRUE(names(broken([](Json& c) { c["BUFFER_POOL"]["egress_lossy_pool"]["percentage"] = "90"; }),
                    "BUFFER_POOL|egress_lossy_pool percentage"));
  EXPECT_TRUE(
      names(broken([](Json& c) { c["SCHEDULER"]["scheduler.0"]["cbs"] = "100"; }), "SCHEDULER|scheduler.0 cbs"));
  EXPECT_TRUE(names(broken([](Json& c) { c["QUEUE"]["Ethernet0|4-3"] = Json::object(); }), "QUEUE|Ethernet0|4-3"));
  EXPECT_TRUE(names(broken([](Json& c) { c["BUFFER_PG"]["Ethernet0|8"] = Json::object(); }), "BUFFER_PG|Ethernet0|8"));
  EXPECT_TRUE(names(broken([](Json& c) { c["PORT"] = {{"Ethernet0", Json::object()}}; }), "PORT_QOS_MAP|Ethernet8"));
  EXPECT_TRUE(
      names(broken([](Json& c) { c["DSCP_TO_TC_MAP"]["RAILWEAVE"]["64"] = "0"; }), "DSCP_TO_TC_MAP|RAILWEAVE 64"));
  EXPECT_FALSE(check_sonic_config("[1]").has_value());
  EXPECT_FALSE(check_sonic_config("{").has_value());
}

// 400 Gb/s over 5 m, by hand: 4,200 + (9,100 + 2 x 5 / 198e6 s x 50e9 B/s = 2,525.3 + 1,024 + 905 x 64 = 57,920) x
// 144 / 64 = 162,981 bytes, which are 160 KiB.
TEST(SonicBuffers, HeadroomIsTheFormulas) {
  const auto headroom = pfc_headroom(RateMbps(400'000), 5, {});
  ASSERT_TRUE(headroom);
  EXPECT_EQ(headroom->xoff_bytes, 160U * 1024);
  EXPECT_EQ(headroom->xon_bytes, 19U * 1024);
  EXPECT_EQ(headroom->size_bytes, 179U * 1024);
  std::uint64_t before = 0;
  for (const double metres : {0.0, 1.0, 40.0, 300.0, 2'000.0}) {
    const std::uint64_t now = pfc_headroom(RateMbps(100'000), metres, {})->size_bytes;
    EXPECT_GE(now, before);
    before = now;
  }
  // The quanta of the next faster rate, at its own rate on the cable.
  EXPECT_GT(pfc_headroom(RateMbps(123'000), 5, {})->size_bytes, pfc_headroom(RateMbps(100'000), 5, {})->size_bytes);
  EXPECT_LE(pfc_headroom(RateMbps(123'000), 5, {})->size_bytes, pfc_headroom(RateMbps(200'000), 5, {})->size_bytes);
  EXPECT_FALSE(pfc_headroom(RateMbps(1'600'000), 5, {}));
  EXPECT_FALSE(pfc_headroom(RateMbps(100'000), -1, {}));
  SonicQos small = with_buffers();
  small.buffers->asic.memory_bytes = 100'000;
  const auto refused = write_sonic_qos(small);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "sonic.bufferTooSmall");
  small = with_buffers();
  small.buffers->cables.pop_back();
  EXPECT_FALSE(write_sonic_qos(small));
}

}  // namespace
}  // namespace railweave::fabric
