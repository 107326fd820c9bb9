#include "fabric/formats/infiniband/ibnetdiscover.h"

#include <cstdio>
#include <map>
#include <random>
#include <set>

#include "fabric/formats/native/native_json.h"
#include "tests/unit/formats/fixtures.h"

namespace railweave::fabric::ibnetdiscover_test {
namespace {

// Two leaves and a spine, three hosts; a link of each oddity is put in by the tests.
constexpr std::string_view kSmall = R"(#
# Topology file: generated on a test bench
#
# Initiated from node 0000000000000a01 port 0000000000000a01

vendid=0x2c9
devid=0xd2f2
sysimgguid=0x1
switchguid=0x1(1)
Switch	4 "S-0000000000000001"		# "MF0;leaf-1:MQM9701/U1" enhanced port 0 lid 11 lmc 0
[1]	"H-0000000000000a01"[1](a01) 		# "node-1 mlx5_0" lid 21 4xNDR
[2]	"H-0000000000000a02"[1](a02) 		# "node-2 mlx5_0" lid 22 4xNDR
[3]	"S-0000000000000003"[1]		# "MF0;spine-1:MQM9701/U1" lid 13 4xNDR
[4]	"H-0000000000000b01"[1](b01) 		# "Mellanox Technologies Aggregation Node" lid 31 4xNDR

vendid=0x2c9
switchguid=0x2(2)
Switch	4 "S-0000000000000002"		# "MF0;leaf-2:MQM9701/U1" enhanced port 0 lid 12 lmc 0
[1]	"H-0000000000000a03"[1](a03) 		# "node-1 HCA-2" lid 23 4xNDR
[3]	"S-0000000000000003"[2]		# "MF0;spine-1:MQM9701/U1" lid 13 4xNDR

switchguid=0x3(3)
Switch	4 "S-0000000000000003"		# "MF0;spine-1:MQM9701/U1" enhanced port 0 lid 13 lmc 0
[1]	"S-0000000000000001"[3]		# "MF0;leaf-1:MQM9701/U1" lid 11 4xNDR
[2]	"S-0000000000000002"[3]		# "MF0;leaf-2:MQM9701/U1" lid 12 4xNDR
[3]	"R-0000000000000c01"[1](c02) 		# "router-1" lid 41 4xHDR

caguid=0xa01
Ca	1 "H-0000000000000a01"		# "node-1 mlx5_0"
[1](a01) 	"S-0000000000000001"[1]		# lid 21 lmc 0 "MF0;leaf-1:MQM9701/U1" lid 11 4xNDR

caguid=0xa02
Ca	1 "H-0000000000000a02"		# "node-2 mlx5_0"
[1](a02) 	"S-0000000000000001"[2]		# lid 22 lmc 0 "MF0;leaf-1:MQM9701/U1" lid 11 4xNDR

caguid=0xa03
Ca	1 "H-0000000000000a03"		# "node-1 HCA-2"
[1](a03) 	"S-0000000000000002"[1]		# lid 23 lmc 0 "MF0;leaf-2:MQM9701/U1" lid 12 4xNDR

caguid=0xb01
Ca	1 "H-0000000000000b01"		# "Mellanox Technologies Aggregation Node"
[1](b01) 	"S-0000000000000001"[4]		# lid 31 lmc 0 "MF0;leaf-1:MQM9701/U1" lid 11 4xNDR

rtguid=0xc01
Rt	1 "R-0000000000000c01"		# "router-1"
[1](c02) 	"S-0000000000000003"[3]		# lid 41 lmc 0 "MF0;spine-1:MQM9701/U1" lid 13 4xHDR
)";

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result(text);
  const auto at = result.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? result : result.replace(at, from.size(), to);
}

std::string replaced_everywhere(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  for (;;) {
    const auto at = text.find(from);
    result.append(text.substr(0, at));
    if (at == std::string_view::npos) return result;
    result.append(to);
    text.remove_prefix(at + from.size());
  }
}

void expect_small(const Topology& topology) {
  EXPECT_EQ(count(topology), (Counts{.switches = 3,
                                     .leaves = 2,
                                     .hosts = 2,
                                     .host_ports = 3,
                                     .inter_switch_links = 2,
                                     .aggregation_nodes = 1,
                                     .routers = 1}));
  EXPECT_TRUE(topology.source_findings().empty()) << topology.source_findings().front().message;
}

TEST(Ibnetdiscover, ReadsSwitchesHostsAggregationNodesAndRouters) {
  const Topology topology = must_read(kSmall, Format::ibnetdiscover);
  expect_small(topology);
  const SwitchId leaf = topology.find_switch("leaf-1");
  ASSERT_TRUE(leaf);
  EXPECT_EQ(topology.description(leaf), "MF0;leaf-1:MQM9701/U1");
  EXPECT_EQ(topology.lid(leaf), 11);
  EXPECT_EQ(topology.name(topology.subnet(leaf)), "default");
  EXPECT_EQ(topology.tier(topology.find_switch("spine-1")), 1);
  const HostId host = topology.find_host("node-1");
  ASSERT_TRUE(host);
  ASSERT_EQ(topology.hcas(host).size(), 2U);
  std::set<std::string_view> devices;
  for (const auto hca : topology.hcas(host)) devices.insert(topology.device(hca));
  EXPECT_EQ(devices, (std::set<std::string_view>{"mlx5_0", "HCA-2"}));
  const HcaId hca = topology.find_hca(Guid(0xa01));
  const PortId port = topology.ports(hca).front();
  EXPECT_EQ(topology.lid(port), 21);
  EXPECT_EQ(topology.port_guid(port), Guid(0xa01));
  EXPECT_EQ(topology.rate(topology.link(port)), from_gbps(400));
  EXPECT_EQ(topology.port_text(topology.peer(port)), "0000000000000001/1");
  const HcaId router = topology.find_hca(Guid(0xc02));  // by its port's GUID
  ASSERT_TRUE(router);
  EXPECT_EQ(topology.kind(router), HcaKind::router);
  EXPECT_FALSE(topology.host(router));
}

// A storage network beside the compute network in one dump: a subnet of its own, of its kind. Where nothing is called after
// storage, or everything, there is one subnet.
TEST(Ibnetdiscover, TellsStorageNetworksApart) {
  const auto dump = [](const std::string& first, const std::string& second) {
    std::string text;
    for (const auto& [guid, name] : {std::pair("0000000000000101", first), std::pair("0000000000000102", second)}) {
      text += "Switch\t4 \"S-" + std::string(guid) + "\"\t# \"" + name + "\" base port 0 lid 1 lmc 0\n";
      for (int n = 1; n <= 2; ++n) {
        text += "[" + std::to_string(n) + "]\t\"H-0000000000000" + (guid[15] == '1' ? "a" : "b") + "0" +
                std::to_string(n) + "\"[1]\t# \"n" + std::to_string(n) + (guid[15] == '1' ? " mlx5_0" : " mlx5_1") +
                "\" lid " + std::to_string(n + 10) + " 4xHDR\n";
      }
      text += "\n";
    }
    return text;
  };
  const Topology apart = must_read(dump("compute-leaf0", "switch-storage1"));
  ASSERT_EQ(apart.subnets().size(), 2U);
  const SubnetId compute = apart.subnet(apart.find_switch("compute-leaf0"));
  const SubnetId storage = apart.subnet(apart.find_switch("switch-storage1"));
  EXPECT_NE(compute, storage);
  EXPECT_EQ(apart.kind(storage), SubnetKind::storage);
  EXPECT_NE(apart.kind(compute), SubnetKind::storage);
  EXPECT_TRUE(apart.name(storage).ends_with("-storage")) << apart.name(storage);
  EXPECT_EQ(apart.hosts().size(), 2U) << "each host is on both";
  EXPECT_EQ(must_read(dump("rail0", "rail1")).subnets().size(), 1U);
  EXPECT_EQ(must_read(dump("storage-a", "storage-b")).subnets().size(), 1U);
}

TEST(Ibnetdiscover, NamesDevicesThatAreDescribedAlike) {
  std::string text = std::string(kSmall);
  text = replaced_everywhere(text, "node-1 mlx5_0", "MT4119 ConnectX5   Mellanox Technologies");
  text = replaced_everywhere(text, "node-2 mlx5_0", "MT4119 ConnectX5   Mellanox Technologies");
  text = replaced_everywhere(text, "MF0;leaf-1:MQM9701/U1", "Quantum Mellanox Technologies");
  text = replaced_everywhere(text, "MF0;leaf-2:MQM9701/U1", "Quantum Mellanox Technologies");
  const Topology topology = must_read(text);
  std::map<std::string, std::vector<std::string>> alike;
  for (const auto& finding : topology.source_findings()) {
    if (finding.code == "equalDescriptions") alike[finding.message] = finding.objects;
  }
  ASSERT_EQ(alike.size(), 2U);
  EXPECT_TRUE(alike.begin()->first.starts_with("2 adapters are all described as 'MT4119")) << alike.begin()->first;
  EXPECT_EQ(alike.begin()->second, (std::vector<std::string>{"0000000000000a01", "0000000000000a02"}));
  EXPECT_TRUE(alike.rbegin()->first.starts_with("2 switches are all described as 'Quantum")) << alike.rbegin()->first;
}

TEST(Ibnetdiscover, ReadsCarriageReturnsAndTabsTurnedIntoBlanks) {
  expect_small(must_read(replaced_everywhere(kSmall, "\n", "\r\n")));
  expect_small(must_read(replaced_everywhere(kSmall, "\t", "    ")));
  expect_small(must_read(replaced_everywhere(kSmall, "\t", " ")));
  expect_small(must_read("\xef\xbb\xbf" + std::string(kSmall)));
  expect_small(must_read(replaced_everywhere(kSmall, "\n", "\n    ")));  // indented
}

TEST(Ibnetdiscover, ReadsEveryWidthAndSpeed) {
  for (const auto& [text, width, mbps] :
       std::vector<std::tuple<std::string, unsigned, std::int64_t>>{{"1xSDR", 1, 2'000},
                                                                    {"4xDDR", 4, 16'000},
                                                                    {"8xQDR", 8, 64'000},
                                                                    {"12xQDR", 12, 96'000},
                                                                    {"4xFDR10", 4, 40'000},
                                                                    {"4xFDR", 4, 54'544},
                                                                    {"4xEDR", 4, 100'000},
                                                                    {"2xHDR", 2, 100'000},
                                                                    {"4xHDR", 4, 200'000},
                                                                    {"4x NDR", 4, 400'000},
                                                                    {"4xXDR", 4, 800'000},
                                                                    {"4x???", 4, 0},
                                                                    {"", 0, 0},
                                                                    {"4xNDR s=4 w=2 v=8", 4, 400'000}}) {
    const Topology topology = must_read(replaced_everywhere(kSmall, "4xNDR", text));
    const LinkSpec spec = topology.spec(topology.link(topology.ports(topology.find_hca(Guid(0xa02))).front()));
    EXPECT_EQ(spec.width, width) << text;
    EXPECT_EQ(spec.rate.value(), mbps) << text;
    EXPECT_TRUE(topology.source_findings().empty()) << text;
  }
}

TEST(Ibnetdiscover, ASpeedThatOneEndDoesNotSayIsTakenFromTheOther) {
  const Topology topology = must_read(replaced(kSmall, "lid 21 4xNDR", "lid 21"));
  expect_small(topology);
  EXPECT_EQ(topology.rate(topology.link(topology.ports(topology.find_hca(Guid(0xa01))).front())), from_gbps(400));
}

TEST(Ibnetdiscover, LidsThatAreNotUnicastCountAsNotAssigned) {
  std::string text = replaced(kSmall, "lid 21 lmc 0", "lid 65535 lmc 0");
  text = replaced(text, "enhanced port 0 lid 12", "enhanced port 0 lid 65535");
  text = replaced(text, "lid 22 lmc 0", "lid 99999 lmc 0");
  text = replaced(text, "\"node-2 mlx5_0\" lid 22", "\"node-2 mlx5_0\"");
  const Topology topology = must_read(text);
  EXPECT_EQ(topology.lid(topology.ports(topology.find_hca(Guid(0xa01))).front()), 0);
  EXPECT_EQ(topology.lid(topology.ports(topology.find_hca(Guid(0xa02))).front()), 0);
  EXPECT_EQ(topology.lid(topology.find_switch("leaf-2")), 0);
  ASSERT_EQ(findings(topology, "lidNotUnicast").size(), 1U);
  EXPECT_EQ(findings(topology, "lidNotUnicast")[0].objects.size(), 2U);
}

TEST(Ibnetdiscover, AdaptersThatNameNoMachineAreHostsOfTheirOwn) {
  std::string text = replaced_everywhere(kSmall, "node-1 mlx5_0", "MT4129 ConnectX7   Mellanox Technologies");
  text = replaced_everywhere(text, "node-2 mlx5_0", "localhost HCA-1");
  text = replaced_everywhere(text, "node-1 HCA-2", "localhost HCA-1");
  const Topology topology = must_read(text);
  EXPECT_EQ(topology.hosts().size(), 3U);
  EXPECT_EQ(hosts_of_kind(topology, HostKind::unnamed), 3U);
  const HostId host = topology.find_host("0000000000000a02");
  ASSERT_TRUE(host);
  EXPECT_EQ(topology.device(topology.hcas(host).front()), "HCA-1");
  EXPECT_EQ(topology.description(topology.hcas(host).front()), "localhost HCA-1");
}

TEST(Ibnetdiscover, TheSecondAdapterOfOneNameAndDeviceIsNotMerged) {
  const Topology topology = must_read(replaced_everywhere(kSmall, "node-1 HCA-2", "node-1 mlx5_0"));
  ASSERT_EQ(findings(topology, "duplicateDescription").size(), 1U);
  EXPECT_EQ(findings(topology, "duplicateDescription")[0].objects,
            (std::vector<std::string>{"0000000000000a01", "0000000000000a03"}));
  EXPECT_EQ(topology.hcas(topology.find_host("node-1")).size(), 1U);
  EXPECT_EQ(topology.kind(topology.find_host("0000000000000a03")), HostKind::unnamed);
}

TEST(Ibnetdiscover, AdaptersOfOneHostNameWithoutDeviceAreOneHost) {
  std::string text = replaced_everywhere(kSmall, "node-1 mlx5_0", "node-1");
  text = replaced_everywhere(text, "node-1 HCA-2", "node-1");
  EXPECT_EQ(must_read(text).hcas(must_read(text).find_host("node-1")).size(), 2U);
}

TEST(Ibnetdiscover, DevicesOnlyNamedAsPeersAreTakenFromThere) {
  const auto cut = kSmall.find("caguid=0xa02");
  const Topology topology = must_read(kSmall.substr(0, cut));
  EXPECT_EQ(count(topology), (Counts{.switches = 3,
                                     .leaves = 2,
                                     .hosts = 2,
                                     .host_ports = 3,
                                     .inter_switch_links = 2,
                                     .aggregation_nodes = 1,
                                     .routers = 1}));
  ASSERT_EQ(topology.source_findings().size(), 1U);
  const auto& finding = topology.source_findings()[0];
  EXPECT_EQ(finding.code, "deviceWithoutSection");
  EXPECT_EQ(finding.objects.size(), 4U);
  EXPECT_EQ(topology.lid(topology.ports(topology.find_hca(Guid(0xa03))).front()), 23);
  EXPECT_EQ(topology.port_guid(topology.ports(topology.find_hca(Guid(0xc02))).front()), Guid(0xc02));
  EXPECT_TRUE(topology.find_host("node-2"));
}

TEST(Ibnetdiscover, ASwitchOnlyNamedAsPeerKeepsItsNameAndLid) {
  const auto begin = kSmall.find("switchguid=0x3(3)");
  const auto end = kSmall.find("caguid=0xa01");
  std::string text(kSmall);
  text.erase(begin, end - begin);
  const Topology topology = must_read(text);
  const SwitchId spine = topology.find_switch("spine-1");
  ASSERT_TRUE(spine);
  EXPECT_EQ(topology.lid(spine), 13);
  EXPECT_EQ(topology.ports(spine).size(), 3U);
  EXPECT_EQ(count(topology).inter_switch_links, 2U);
}

TEST(Ibnetdiscover, LinksKnownFromOneEndOrContradictoryBecomeFindings) {
  const Topology dangling = must_read(replaced(kSmall, "[1]\t\"S-0000000000000001\"[3]", "#"));
  EXPECT_EQ(findings(dangling, "danglingLink").size(), 1U);
  EXPECT_EQ(count(dangling).inter_switch_links, 2U);
  const Topology swapped =
      must_read(replaced(kSmall, "[1]\t\"S-0000000000000001\"[3]", "[1]\t\"S-0000000000000001\"[2]"));
  EXPECT_FALSE(findings(swapped, "asymmetricLink").empty());
  const Topology slower = must_read(replaced(kSmall, "lid 21 4xNDR", "lid 21 4xHDR"));
  EXPECT_EQ(findings(slower, "linkEndsDiffer").size(), 1U);
  EXPECT_EQ(slower.rate(slower.link(slower.ports(slower.find_hca(Guid(0xa01))).front())), from_gbps(200));
  EXPECT_EQ(findings(must_read(replaced(kSmall, "[4]\t\"H-", "[5]\t\"H-")), "portOutOfRange").size(), 1U);
}

TEST(Ibnetdiscover, ASectionThatComesTwiceIsTakenTogether) {
  const Topology topology = must_read(std::string(kSmall) + std::string(kSmall.substr(kSmall.find("caguid=0xa02"))));
  EXPECT_EQ(findings(topology, "duplicateSection").size(), 4U);
  EXPECT_EQ(topology.hcas().size(), 5U);
}

TEST(Ibnetdiscover, ReadsGroupedOutputOfChassis) {
  std::string text = replaced(kSmall, "Switch\t4 \"S-0000000000000003\"",
                              "\nChassis 1 (guid 0x3)\n\n# Spine Nodes\nHostname: core\n"
                              "Switch\t4 \"S-0000000000000003\"");
  text = replaced(text, "[1]\t\"S-0000000000000001\"[3]\t", "[1][ext 17]\t\"S-0000000000000001\"[3][ext 4]\t");
  text = replaced(text, "vendid=0x2c9\nswitchguid", "\nNon-Chassis Nodes\n\nvendid=0x2c9\nswitchguid");
  expect_small(must_read(text));
}

TEST(Ibnetdiscover, DescriptionsMayHoldQuotesAndUnprintableBytes) {
  std::string text = replaced_everywhere(kSmall, "node-2 mlx5_0", "no\"de\"-2 mlx5_0");
  EXPECT_TRUE(must_read(text).find_host("no\"de\"-2"));
  text = replaced_everywhere(kSmall, "node-2 mlx5_0", "node-2\x1b[31m mlx5_0");
  const Topology topology = must_read(text);
  EXPECT_TRUE(topology.find_host("node-2\\x1b[31m"));
  EXPECT_EQ(findings(topology, "unprintableName").size(), 1U);
}

TEST(Ibnetdiscover, UnreadableLinesBecomeFindingsWithLineAndColumn) {
  const auto location_of = [](std::string_view text) {
    const Topology topology = must_read(text, Format::ibnetdiscover, {.source = "dump.txt"});
    const auto unreadable = findings(topology, "unreadableLine");
    EXPECT_EQ(unreadable.size(), 1U);
    return unreadable.empty() ? "" : unreadable[0].objects.at(0);
  };
  EXPECT_EQ(location_of(replaced(kSmall, "Switch\t4 \"S-0000000000000002\"", "Switch\t4 S-0000000000000002")),
            "dump.txt: line 18, column 10");
  EXPECT_EQ(location_of(replaced(kSmall, "Ca\t1 \"H-0000000000000a02\"", "Ca\tone \"H-0000000000000a02\"")),
            "dump.txt: line 33, column 4");
  EXPECT_EQ(location_of(replaced(kSmall, "[2]\t\"H-0000000000000a02\"", "[2]\t\"H-0000000000000a0z\"")),
            "dump.txt: line 12, column 5");
  EXPECT_EQ(location_of(replaced(kSmall, "[2]\t\"H-0000000000000a02\"[1]", "[2]\t\"H-0000000000000a02\"[x]")),
            "dump.txt: line 12, column 25");
  EXPECT_EQ(location_of(replaced(kSmall, "[1](a02) \t\"S", "[0](a02) \t\"S")), "dump.txt: line 34, column 1");
  EXPECT_EQ(location_of(replaced(kSmall, "vendid=0x2c9", "Exception in thread main")), "dump.txt: line 6, column 1");
  EXPECT_EQ(location_of(replaced(kSmall, "Ca\t1 \"H-0000000000000a02\"", "Ca\t1 \"S-0000000000000a02\"")),
            "dump.txt: line 33, column 6");
}

// A terminal's log: tabs are gone, with or without the blanks beside them, and a prompt and a banner stand before it.
TEST(Ibnetdiscover, ReadsWhatATerminalLogMadeOfIt) {
  const Topology whole = must_read(kSmall, Format::ibnetdiscover);
  const std::string banner = "admin@head:~$ sudo ibnetdiscover\n*** authorised use only ***\n";
  const auto expect_same = [&](const std::string& text) {
    ASSERT_EQ(detect_format(text), Format::ibnetdiscover);
    const Topology read = must_read(text, Format::ibnetdiscover);
    EXPECT_EQ(write_native_json(read), write_native_json(whole));
  };
  const std::string without_tabs = replaced_everywhere(kSmall, "\t", "");
  ASSERT_NE(without_tabs.find("Switch4 \"S-"), std::string::npos);
  expect_same(without_tabs);
  expect_same(replaced_everywhere(without_tabs, " \"S-", "\"S-"));
  // Every column glued to the next, or not, in any combination.
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    std::string text;
    for (const char c : kSmall) {
      if (c == '\t' && random() % 2 == 0) continue;
      text += c;
    }
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_same(text);
  }
  const Topology behind_a_banner = must_read(banner + without_tabs, Format::ibnetdiscover);
  EXPECT_EQ(findings(behind_a_banner, "unreadableLine").size(), 2U) << "the banner is named";
  EXPECT_EQ(count(behind_a_banner).inter_switch_links, 2U);
}

TEST(Ibnetdiscover, RefusesADumpOfWhichMostLinesCannotBeRead) {
  // Without quotes no switch is known, but adapters name them as their peers.
  std::string text = replaced_everywhere(kSmall, "Switch\t4 \"S-", "Switch\t4 S-");
  const auto refused = read_fabric(text, Format::ibnetdiscover, {.source = "log"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "input.unreadable");
  EXPECT_NE(refused.error().message.find("12 of 22 lines"), std::string::npos) << refused.error().message;
}

TEST(Ibnetdiscover, TellsWhatItExpectedWhereThereIsNoFabric) {
  const auto error_of = [](std::string_view text) {
    auto topology = read_fabric(text, Format::ibnetdiscover, {.source = "x"});
    EXPECT_FALSE(topology.has_value());
    return topology ? Error{} : topology.error();
  };
  EXPECT_EQ(error_of("").location, "x: line 1, column 1");
  EXPECT_EQ(error_of("").kind, ErrorKind::malformed);
  EXPECT_EQ(error_of("\n\nhello\nworld\n").location, "x: line 3, column 1");
  EXPECT_NE(error_of("hello").message.find("Switch 36"), std::string::npos);
  std::string garbage(kSmall);
  for (int i = 0; i < 2000; ++i) garbage += "garbage\n";
  EXPECT_EQ(error_of(garbage).code, "input.unreadable");
  EXPECT_EQ(error_of("\xff\xfe"
                     "S\0w\0")
                .code,
            "input.encoding");
  EXPECT_EQ(error_of(std::string(kMaxInputBytes + 1, ' ')).kind, ErrorKind::tooLarge);
  const Topology long_line = must_read(std::string(kSmall) + std::string(kMaxLineBytes + 1, 'x'));
  EXPECT_EQ(findings(long_line, "unreadableLine").size(), 1U);
}

TEST(Ibnetdiscover, SeveralDumpsComposeIntoOneFabric) {
  TopologyBuilder builder;
  std::string storage(kSmall);
  for (const auto& [from, to] :
       {std::pair("\"S-00", "\"S-10"), std::pair("\"H-00", "\"H-10"), std::pair("\"R-00", "\"R-10"),
        std::pair("leaf-", "sleaf-"), std::pair("spine-", "sspine-"), std::pair("mlx5_0", "mlx5_7"),
        std::pair("HCA-2", "HCA-9"), std::pair("](", "](10000000000000")}) {
    storage = replaced_everywhere(storage, from, to);
  }
  ASSERT_TRUE(
      read_ibnetdiscover(kSmall, {.source = "a", .subnet = "compute", .subnet_kind = SubnetKind::compute}, builder));
  ASSERT_TRUE(
      read_ibnetdiscover(storage, {.source = "b", .subnet = "storage", .subnet_kind = SubnetKind::storage}, builder));
  const Topology topology = built(std::move(builder));
  EXPECT_EQ(topology.subnets().size(), 2U);
  EXPECT_EQ(topology.kind(topology.subnet(topology.find_switch("sleaf-1"))), SubnetKind::storage);
  EXPECT_EQ(topology.hosts().size(), 2U);
  EXPECT_EQ(topology.hcas(topology.find_host("node-1")).size(), 4U);
}

}  // namespace
}  // namespace railweave::fabric::ibnetdiscover_test
