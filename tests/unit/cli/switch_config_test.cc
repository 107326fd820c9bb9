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
using testing::HasSubstr;
using testing::Not;

const char* const kQueues =
    R"({"switch":"leaf-1","lowestClass":"best-effort","laneDscps":[3,7],"ports":[)"
    R"({"port":1,"peer":"n1/eth0","facesHost":true,"linkMbps":1000,"queues":[)"
    R"({"class":"best-effort","lane":null,"job":null,"dscp":0,"trafficClass":0,"priority":1,"guaranteedMbps":100},)"
    R"({"class":"bulk","lane":null,"job":null,"dscp":26,"trafficClass":1,"priority":0,"guaranteedMbps":500},)"
    R"({"class":"bulk","lane":0,"job":"job-000001","dscp":3,"trafficClass":3,"priority":0,"guaranteedMbps":201}],)"
    R"("admitted":[{"dscp":3,"job":"job-000001","destinations":["n4/eth0"]}]},)"
    R"({"port":5,"peer":"spine-1","facesHost":false,"linkMbps":1000,"queues":[)"
    R"({"class":"best-effort","lane":null,"job":null,"dscp":0,"trafficClass":0,"priority":1,"guaranteedMbps":100},)"
    R"({"class":"bulk","lane":1,"job":"job-000002","dscp":7,"trafficClass":4,"priority":0,"guaranteedMbps":300}],)"
    R"("admitted":[]}],"seq":7})";

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
