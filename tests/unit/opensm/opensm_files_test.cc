// The files that OpenSM reads: their text, and what is refused. That OpenSM understands them is shown by
// tests/integration/opensm_files_test.py.
#include "fabric/drivers/opensm/files/opensm_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railweave::fabric::opensm {
namespace {

using ::testing::HasSubstr;

TEST(OpenSmFiles, PartitionsAreWrittenAndChecked) {
  const Partition tenant{.name = "tenant-a",
                         .pkey = 0x8,
                         .ipoib = true,
                         .rate = from_gbps(200),
                         .mtu = 4096,
                         .level = 3,
                         .members = {{.port = Guid(0x1f)}, {.port = Guid(0x20), .full = false}}};
  EXPECT_EQ(write_partitions({tenant}).value(),
            "# Written by Railweave; changes made here are lost.\n"
            "tenant-a=0x0008, ipoib, rate=17, mtu=5, sl=3 :\n"
            "  0x000000000000001f=full,\n"
            "  0x0000000000000020=limited ;\n"
            "Default=0x7fff :\n  ALL=limited,\n  SELF=full ;\n");
  const auto refused = [&](auto change) {
    std::vector<Partition> partitions{tenant};
    change(partitions);
    const auto text = write_partitions(partitions);
    return text ? "taken" : text.error().text();
  };
  EXPECT_THAT(refused([](auto& p) { p[0].name = "a b"; }), HasSubstr("letters"));
  EXPECT_THAT(refused([](auto& p) { p[0].name = "a;\nb=0x9 : ALL"; }), HasSubstr("letters"));
  EXPECT_THAT(refused([](auto& p) { p[0].pkey = 0x8001; }), HasSubstr("0x8001"));
  EXPECT_THAT(refused([](auto& p) { p[0].pkey = 0; }), HasSubstr("0x0001 to 0x7fff"));
  EXPECT_THAT(refused([](auto& p) { p[0].mtu = 1500; }), HasSubstr("MTU"));
  EXPECT_THAT(refused([](auto& p) { p[0].rate = RateMbps(1); }), HasSubstr("slowest"));
  EXPECT_THAT(refused([](auto& p) { p[0].level = 16; }), HasSubstr("0 to 15"));
  EXPECT_THAT(refused([](auto& p) { p[0].members.clear(); }), HasSubstr("members"));
  EXPECT_THAT(refused([](auto& p) { p[0].members[1].port = Guid(0x1f); }), HasSubstr("twice"));
  EXPECT_THAT(refused([](auto& p) { p[0].members[1].port = {}; }), HasSubstr("GUID"));
  EXPECT_THAT(refused([](auto& p) { p.push_back(p[0]); }), HasSubstr("name"));
  EXPECT_THAT(refused([](auto& p) { p.push_back(p[0]), p[1].name = "b"; }), HasSubstr("another partition"));
}

TEST(OpenSmFiles, OptionsAreWrittenAndChecked) {
  OpenSmOptions options;
  options.routing_engines = {"railweave", "updn", "no_fallback"};
  options.plugin_name = "railweave_opensm";
  options.plugin_options = "socket=/run/railweave/opensm.sock cache=/var/cache/opensm";
  options.partitions_file = "/etc/opensm/partitions.conf";
  options.sharing = LaneSharing{.max_lanes = 4, .high_limit = 10, .high = {{0, 64}, {1, 192}}, .low = {{0, 1}}};
  options.sharing->lane_of_level = {0, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 15};
  options.others = {{"sweep_interval", "10"}};
  EXPECT_EQ(write_opensm_options(options).value(),
            "# Written by Railweave; changes made here are lost.\n"
            "routing_engine railweave,updn,no_fallback\n"
            "event_plugin_name railweave_opensm\n"
            "event_plugin_options socket=/run/railweave/opensm.sock cache=/var/cache/opensm\n"
            "partition_config_file /etc/opensm/partitions.conf\n"
            "qos TRUE\n"
            "qos_max_vls 4\n"
            "qos_high_limit 10\n"
            "qos_vlarb_high 0:64,1:192\n"
            "qos_vlarb_low 0:1\n"
            "qos_sl2vl 0,1,2,3,0,0,0,0,0,0,0,0,0,0,0,15\n"
            "sweep_interval 10\n");
  const auto refused = [&](auto change) {
    OpenSmOptions wrong = options;
    change(wrong);
    const auto text = write_opensm_options(wrong);
    return text ? "taken" : text.error().text();
  };
  EXPECT_THAT(refused([](auto& o) { o.sharing->max_lanes = 3; }), HasSubstr("1, 2, 4, 8 or 15"));
  EXPECT_THAT(refused([](auto& o) { o.sharing->low = {{4, 1}}; }), HasSubstr("no lane 4"));
  EXPECT_THAT(refused([](auto& o) { o.sharing->low = {}; }), HasSubstr("1 to 64"));
  EXPECT_THAT(refused([](auto& o) { o.sharing->lane_of_level[3] = 9; }), HasSubstr("no lane 9"));
  EXPECT_THAT(refused([](auto& o) { o.plugin_options = "socket=/a\nqos FALSE"; }), HasSubstr("printable"));
  EXPECT_THAT(refused([](auto& o) { o.plugin_options = "socket=/a # b"; }), HasSubstr("printable"));
  EXPECT_THAT(refused([](auto& o) { o.qos_policy_file = "etc/x"; }), HasSubstr("absolute"));
  EXPECT_THAT(refused([](auto& o) { o.others = {{"qos", "FALSE"}}; }), HasSubstr("twice"));
  EXPECT_THAT(refused([](auto& o) { o.routing_engines = {"a,b"}; }), HasSubstr("routing engine"));
}

TEST(OpenSmFiles, TheQosPolicyIsWrittenAndChecked) {
  QosPolicy policy;
  policy.pkeys = {{0x8, 2}};
  EXPECT_EQ(write_qos_policy(policy).value(),
            "# Written by Railweave; changes made here are lost.\n"
            "qos-ulps\n  default : 0\n  any, pkey 0x0008 : 2\nend-qos-ulps\n");
  policy.levels = {{"DEFAULT", 0, {}, {}}, {"gold", 3, from_gbps(100), 2048}};
  policy.rules = {{"tenant a", 0x9, "gold"}};
  const std::string text = write_qos_policy(policy).value();
  EXPECT_THAT(text, HasSubstr("    name: gold\n    sl: 3\n    mtu-limit: 4\n    rate-limit: 16\n"));
  EXPECT_THAT(text, HasSubstr("    use: tenant a\n    pkey: 0x0009\n    qos-level-name: gold\n"));
  const auto refused = [&](auto change) {
    QosPolicy wrong = policy;
    change(wrong);
    const auto written = write_qos_policy(wrong);
    return written ? "taken" : written.error().text();
  };
  EXPECT_THAT(refused([](auto& p) { p.rules[0].level = "silver"; }), HasSubstr("no level 'silver'"));
  EXPECT_THAT(refused([](auto& p) { p.rules[0].use = "a\nb"; }), HasSubstr("printable"));
  EXPECT_THAT(refused([](auto& p) { p.rules[0].pkey = 0; }), HasSubstr("0x7fff"));
  EXPECT_THAT(refused([](auto& p) { p.levels.erase(p.levels.begin()); }), HasSubstr("DEFAULT"));
  EXPECT_THAT(refused([](auto& p) { p.levels[1].name = "DEFAULT"; }), HasSubstr("two levels"));
  EXPECT_THAT(refused([](auto& p) { p.pkeys.push_back({0x8, 3}); }), HasSubstr("once"));
  EXPECT_THAT(refused([](auto& p) { p.default_level = 16; }), HasSubstr("0 to 15"));
}

TEST(OpenSmFiles, RatesAreRoundedDown) {
  EXPECT_EQ(rate_code(from_gbps(400)).value(), 21);
  EXPECT_EQ(rate_code(from_gbps(399)).value(), 18);
  EXPECT_EQ(rate_code(RateMbps(2500)).value(), 2);
  EXPECT_EQ(rate_code(from_gbps(5000)).value(), 22);
  EXPECT_FALSE(rate_code(RateMbps(2499)));
}

}  // namespace
}  // namespace railweave::fabric::opensm
