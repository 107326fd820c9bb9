// What UFM's answers give of a site: ports, links, systems and partitions, alone and beside dumps.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/formats/site_import_fixture.h"

namespace railweave::fabric::site_import_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using SiteUfmTest = SiteImportTest;

// As versions of UFM answer whose ports have no "peer_port_dname".
TEST_F(SiteUfmTest, PortsOfUfmAreKnownWithoutNamesOfTheirPeers) {
  std::string& ports = samples_["ports.json"];
  for (std::size_t at = 0; (at = ports.find("\"peer_port_dname\"", at)) != std::string::npos;)
    ports.replace(at, 17, "\"other\"");
  EXPECT_EQ(recognise(ports).kind, SourceKind::ufm_ports) << recognise(ports).why;
}

TEST_F(SiteUfmTest, PortsOfUfmThatLeadNowhereAreNamed) {
  std::string& ports = samples_["ports.json"];
  const auto replace = [&](const std::string& from, const std::string& to) {
    ASSERT_NE(ports.find(from), std::string::npos);
    ports.replace(ports.find(from), from.size(), to);
  };
  replace(R"("peer":"0000000000000002_2")", R"("peer":"00000000000000ff_2")");
  replace(R"("name":"0000000000000001_4")", R"("name":"a port")");
  const TopologyPtr t = must_import({"ports.json"});
  EXPECT_THAT(said(*t, "peerNotFound"), HasSubstr("1 ports lead to a port that is not in the list"));
  EXPECT_THAT(said(*t, "portNotNamed"), HasSubstr("1 ports have no name"));
  EXPECT_EQ(count(*t).host_ports, 4U);  // the other end tells of the cable
}

TEST_F(SiteUfmTest, LinksOfUfmAloneAreAFabricOfAssumedRates) {
  const TopologyPtr t = must_import({"ufm-links.json"});
  EXPECT_EQ(count(*t), (Counts{.switches = 3, .leaves = 2, .hosts = 4, .host_ports = 4, .inter_switch_links = 2}));
  EXPECT_EQ(t->device(t->hcas(t->find_host("n2"))[0]), "mlx5_0");
  EXPECT_EQ(t->rate(t->link(t->ports(t->find_switch("leaf-1"))[0])), from_gbps(400));
  EXPECT_THAT(said(*t, "speedAssumed"), AllOf(HasSubstr("no speed of its 6 links: NDR"), HasSubstr("resources/ports")));
  std::string& links = samples_["ufm-links.json"];
  links.replace(links.find(R"("source_port":"2")"), 17, R"("source_port":"x")");
  const TopologyPtr less = must_import({"ufm-links.json"});
  EXPECT_EQ(count(*less).host_ports, 3U);
  EXPECT_THAT(said(*less, "unreadableLink"), HasSubstr("1 link has an end without GUID or port"));
  samples_["none.json"] = R"([{"source_guid":"","destination_guid":"x"}])";
  const auto none = import({"none.json"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, "ufm.noLinks");
}

// Whatever the order of the files: rates that another dump tells count, and nothing is assumed.
TEST_F(SiteUfmTest, LinksOfUfmAreComparedWithADumpThatHasRates) {
  for (const auto& names :
       {std::vector<std::string>{"ufm-links.json", "links.txt"}, {"ports.json", "ufm-links.json"}}) {
    const TopologyPtr t = must_import(names);
    EXPECT_TRUE(findings(*t, "sourcesDisagree").empty()) << said(*t, "sourcesDisagree");
    EXPECT_TRUE(findings(*t, "speedAssumed").empty());
    EXPECT_EQ(t->rate(t->link(t->ports(t->find_switch("leaf-1"))[0])), from_gbps(400));
  }
  std::string& links = samples_["ufm-links.json"];
  const std::string port = R"("destination_port":"2")";  // of n4's cable; the first is of the spine's
  links.replace(links.rfind(R"("destination_port":"2")", links.find("spine:1")), port.size(),
                R"("destination_port":"4")");
  EXPECT_THAT(said(*must_import({"ufm-links.json", "links.txt"}), "sourcesDisagree"),
              HasSubstr("ufm-links.json has 1 cable that links.txt has not"));
}

TEST_F(SiteUfmTest, SystemsOfUfmAreComparedWithTheCables) {
  const TopologyPtr t = must_import({"links.txt", "systems.json"});
  EXPECT_EQ(t->hosts().size(), 4U);
  EXPECT_THAT(findings(*t, "systemNotCabled").front().objects, ElementsAre("leaf-9", "n8"));
  EXPECT_THAT(findings(*t, "sourcesDisagree").front().objects, ElementsAre("n2 of UFM, n4 by the cables"));
  samples_["none.json"] = R"([{"system_name":"","ports":[]}])";
  const auto none = import({"links.txt", "none.json"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, "ufm.noSystems");
}

TEST_F(SiteUfmTest, RowsOfUfmThatCannotBeUsedAreNamed) {
  samples_["systems.json"] = R"([{"system_name":"n1","type":"host","guid":"?","ports":["?",null,{"x":1}]},7,)"
                             R"({"system_name":null,"type":"host"}])";
  samples_["pkeys.json"] = R"({"0x12":{"partition":"a","guids":[{"guid":"0000000000000011"},{"guid":"?"},{},"x"]},)"
                           R"("0x13":7,"size":2})";
  const TopologyPtr t = must_import({"links.txt", "systems.json", "pkeys.json"});
  const auto rows = findings(*t, "rowsLeftOut");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_THAT(rows[0].objects, ElementsAre("partition 0x0012: no GUID: ?", "partition 0x0012: a member has no guid",
                                           "partition 0x0012: a member is no object with a guid",
                                           "0x13: it is no partition", "size: it is not the key of a partition"));
  EXPECT_THAT(rows[1].objects,
              ElementsAre("system 1 (n1): its guid is none: ?", "system 1 (n1): no name of a port: ?",
                          "system 1 (n1): a port of it has no name", "system 1 (n1): a port of it has no name",
                          "system 2: it is no system", "system 3: it has no system_name"));
  for (const auto& [name, code] : {std::pair("ports.json", "portNotNamed"), {"ufm-links.json", "unreadableLink"}}) {
    std::string& list = samples_[name];
    list.insert(list.rfind(']'), ",7,{}");
    const auto left_out = findings(*must_import({name}), code);
    ASSERT_EQ(left_out.size(), 1U) << name;
    EXPECT_THAT(left_out.front().objects, ElementsAre(HasSubstr("of the list"), HasSubstr("of the list")));
  }
}

TEST_F(SiteUfmTest, PartitionsOfUfmAreLabelsOfHosts) {
  const TopologyPtr t = must_import({"pkeys.json", "links.txt"});
  const auto label = [&](const char* host, const std::string& key) {
    for (const auto& [name, value] : t->labels(t->find_host(host))) {
      if (t->text(name) == key) return std::string(t->text(value));
    }
    return std::string("none");
  };
  EXPECT_EQ(label("n1", "partition/0x0012"), "full");
  EXPECT_EQ(label("n3", "partition/0x0012"), "full");
  EXPECT_EQ(label("n4", "partition/0x0012"), "limited");
  EXPECT_EQ(label("n2", "partition/0x0012"), "none");
  EXPECT_EQ(label("n2", "partition/0x0013"), "full");
  EXPECT_EQ(label("n1", "partition/0x7fff"), "none");
  EXPECT_THAT(findings(*t, "partitionsRead").front().objects,
              ElementsAre("0x0012 tenant-a: 3 hosts", "0x0013 tenant-b: 1 host", "0x7fff management: 0 hosts"));
  EXPECT_THAT(said(*t, "partitionGuidUnknown"), HasSubstr("1 GUID of partitions is no adapter of the fabric"));
  EXPECT_TRUE(findings(*t, "partlyInPartition").empty());
  samples_["none.json"] = R"({"0x12":{"partition":"a","ip_over_ib":true}})";
  const auto none = import({"links.txt", "none.json"});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().text(), HasSubstr("guids_data=true"));
}

TEST_F(SiteUfmTest, AHostWithOneOfTwoAdaptersInAPartitionIsFound) {
  std::string& links = samples_["links.txt"];
  const std::string free = R"(           1    4[  ] ==(                Down/ Polling)==>             [  ] "" ( ))";
  ASSERT_NE(links.find(free), std::string::npos);
  links.replace(
      links.find(free), free.size(),
      R"(           1    4[  ] ==( 4X      106.25 Gbps Active/  LinkUp)==>      15    1[  ] "n1 mlx5_1" ( ))");
  links = R"(CA: n1 mlx5_1:
      0x00000000000000a5     15    1[  ] ==( 4X      106.25 Gbps Active/  LinkUp)==>       1    4[  ] "leaf-1" ( )
)" + links;
  const TopologyPtr t = must_import({"links.txt", "pkeys.json"});
  ASSERT_EQ(t->hcas(t->find_host("n1")).size(), 2U);
  EXPECT_THAT(findings(*t, "partlyInPartition").front().objects, ElementsAre("n1, partition 0x0012: without mlx5_1"));
}

}  // namespace
}  // namespace railweave::fabric::site_import_test
