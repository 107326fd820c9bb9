#include "fabric/formats/infiniband/ibsim.h"

#include <cstdio>
#include <cstdlib>
#include <map>

#include <unistd.h>

#include "fabric/formats/infiniband/ibnetdiscover.h"
#include "fabric/formats/native/native_json.h"
#include "tests/unit/formats/fixtures.h"

namespace railweave::fabric::ibsim_test {
namespace {

constexpr std::string_view kSmall = R"(# a netlist
Switch 8 "leaf-1"
[1] "H-1"[1]
[2]	"H-2"
[7] "spine"[1]

Switch 8 "leaf-2"	# "MF0;second:MQM8700/U1" enhanced port 0 lid 9 lmc 1
[1] "H-3"[2]
[7] "spine"[2]

switchguid=0xabc(abc)
Switch 4 "spine" # top of the tree base port 0 lid 12 lmc 0
[1] "leaf-1"[7] w=2 s=4
[2] "leaf-2"[7]

Hca 2 "H-1"
[1] "leaf-1"[1] # lid 5 lmc 2 "leaf-1" lid 7 4xHDR
Hca 2 "H-2"
[1] "leaf-1"[2]

caguid=0x5000
Hca	2 "H-3"		# "node-3 mlx5_1"
[2] "leaf-2"[1]

rtguid=0x77
Rt 1 "R"
)";

TEST(Ibsim, GivesGuidsAsIbsimDoes) {
  const Topology topology = must_read(kSmall);
  EXPECT_EQ(count(topology), (Counts{.switches = 3,
                                     .leaves = 2,
                                     .hosts = 3,
                                     .host_ports = 3,
                                     .inter_switch_links = 2,
                                     .aggregation_nodes = 0,
                                     .routers = 1}));
  EXPECT_EQ(topology.guid(topology.find_switch("leaf-1")), Guid(0x200000));
  EXPECT_EQ(topology.guid(topology.find_switch("second")), Guid(0x200001));
  EXPECT_EQ(topology.guid(topology.find_switch("top of the tree")), Guid(0xabc));
  const HcaId first = topology.hcas(topology.find_host("H-1")).front();
  EXPECT_EQ(topology.guid(first), Guid(0x100000));
  EXPECT_EQ(topology.port_guid(topology.ports(first)[0]), Guid(0x100001));
  EXPECT_EQ(topology.guid(topology.hcas(topology.find_host("H-2")).front()), Guid(0x100003));
  const HcaId third = topology.hcas(topology.find_host("node-3")).front();
  EXPECT_EQ(topology.guid(third), Guid(0x5000));
  EXPECT_EQ(topology.device(third), "mlx5_1");
  EXPECT_EQ(topology.port_guid(topology.ports(third)[1]), Guid(0x5002));
  EXPECT_TRUE(topology.find_hca(Guid(0x77)));
  EXPECT_TRUE(topology.source_findings().empty()) << topology.source_findings()[0].message;
}

TEST(Ibsim, ReadsLidsAndLinkMasks) {
  const Topology topology = must_read(kSmall);
  const HcaId first = topology.find_hca(Guid(0x100000));
  EXPECT_EQ(topology.lid(topology.ports(first)[0]), 5);
  EXPECT_EQ(topology.lmc(topology.ports(first)[0]), 2);
  EXPECT_EQ(topology.rate(topology.link(topology.ports(first)[0])), from_gbps(200));
  EXPECT_EQ(topology.lid(topology.find_switch("second")), 9);
  EXPECT_EQ(topology.lmc(topology.find_switch("second")), 1);
  const SwitchId spine = topology.find_switch("top of the tree");
  EXPECT_EQ(topology.lid(spine), 12);
  const LinkSpec masked = topology.spec(topology.link(topology.ports(spine)[0]));
  EXPECT_EQ(masked.width, 4);
  EXPECT_EQ(masked.speed, LinkSpeed::qdr);
  EXPECT_EQ(topology.spec(topology.link(topology.ports(spine)[1])).rate, RateMbps(0));
}

TEST(Ibsim, SettingsHoldForWhatFollows) {
  const Topology topology = must_read(R"(
width=2
speedext=8
switchguid=0x10
Switch 2 "a"
[1] "b"[1]
switchguid+0x20
Switch 2 "b"
[1] "a"[1]
module = "left"
Switch 2 "a"
[1] "b"[1]
[2] "left#c"[1]
Switch 2 "b"
[1] "a"[1]
Hca 1 "c"
[1] "a"[2]
)");
  EXPECT_EQ(topology.switches().size(), 4U);
  EXPECT_EQ(topology.guid(topology.find_switch("b")), Guid(0x30));
  EXPECT_TRUE(topology.find_switch("left#a"));
  EXPECT_TRUE(topology.find_host("left#c"));
  ASSERT_EQ(topology.links().size(), 3U);
  for (const auto link : topology.links()) EXPECT_EQ(topology.rate(link), from_gbps(400));
  EXPECT_TRUE(topology.source_findings().empty());
}

TEST(Ibsim, ReportsWhatItLeavesOut) {
  const Topology topology = must_read(R"(do "Dump"
Switch 2 "a"
[1] "nowhere"[1]
@[2] "alias"
Switch two "b"
[1] "a"[2]
Switch 2 "a"
Hca 1 "h"
[2] "a"[2]
[x] "a"
what is this
caguid=zz
)",
                                      Format::ibsim, {.source = "n.net"});
  EXPECT_EQ(findings(topology, "unsupportedLine").size(), 2U);
  ASSERT_EQ(findings(topology, "unknownPeer").size(), 1U);
  EXPECT_EQ(findings(topology, "unknownPeer")[0].objects, std::vector<std::string>{"n.net: line 3, column 1: nowhere"});
  EXPECT_EQ(findings(topology, "portOutOfRange").size(), 1U);
  std::vector<std::string> unreadable;
  for (const auto& finding : findings(topology, "unreadableLine")) unreadable.push_back(finding.objects.at(0));
  EXPECT_EQ(unreadable,
            (std::vector<std::string>{"n.net: line 5, column 8", "n.net: line 7, column 10", "n.net: line 10, column 1",
                                      "n.net: line 11, column 6", "n.net: line 12, column 8"}));
}

TEST(Ibsim, RefusesToReadOtherFiles) {
  auto topology = read_fabric("Switch 2 \"a\"\n\ninclude \"/etc/passwd\"\n", Format::ibsim, {.source = "n.net"});
  ASSERT_FALSE(topology);
  EXPECT_EQ(topology.error().code, "ibsim.include");
  EXPECT_EQ(topology.error().location, "n.net: line 3, column 1");
}

// What the format can say of a fabric, as text: write_native_json without what ibsim netlists do not hold does not
// serve, as it shares code with the reader's own path; so every device and cable is spelled out here.
std::vector<std::string> spelled_out(const Topology& topology) {
  std::vector<std::string> lines;
  for (const auto sw : topology.switches()) {
    lines.push_back("switch " + to_string(topology.guid(sw)) + " " + std::string(topology.description(sw)) + " " +
                    std::to_string(topology.ports(sw).size()) + " " + std::to_string(topology.lid(sw)) + " " +
                    std::to_string(topology.lmc(sw)));
  }
  for (const auto hca : topology.hcas()) {
    std::string line = "hca " + to_string(topology.guid(hca)) + " " + std::string(topology.description(hca)) + " " +
                       std::to_string(static_cast<int>(topology.kind(hca))) + " " + std::string(topology.device(hca)) +
                       " of " + std::string(topology.host(hca) ? topology.name(topology.host(hca)) : "none");
    for (const auto port : topology.ports(hca)) {
      if (!topology.peer(port)) continue;
      line += " " + to_string(topology.port_guid(port)) + "/" + std::to_string(topology.lid(port)) + "/" +
              std::to_string(topology.lmc(port));
    }
    lines.push_back(line);
  }
  for (const auto link : topology.links()) {
    const LinkSpec spec = topology.spec(link);
    lines.push_back(topology.link_text(link) + " " + std::to_string(spec.width) + "x" +
                    std::string(to_string(spec.speed)));
  }
  return lines;
}

TEST(IbsimWriter, RandomFabricsComeBackEqual) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const Topology topology = RandomFabric(seed, true).make();
    const std::string written = write_ibsim(topology);
    EXPECT_EQ(detect_format(written), Format::ibsim);
    const Topology again = must_read(written);
    ASSERT_EQ(spelled_out(again), spelled_out(topology));
    EXPECT_TRUE(again.source_findings().empty());
    EXPECT_EQ(write_ibsim(again), written);
  }
}

TEST(IbsimWriter, RealFabricsComeBackEqual) {
  auto files = shared_files("ib");
  for (const auto& file : shared_files("ibsim")) files.push_back(file);
  if (files.empty()) GTEST_SKIP() << "the real dumps ib/* and ibsim/* are not on this machine";
  for (const auto& file : files) {
    SCOPED_TRACE(file);
    const Topology topology = must_read(shared_file(file).value());
    const Topology again = must_read(write_ibsim(topology));
    EXPECT_EQ(spelled_out(again), spelled_out(topology));
    EXPECT_EQ(again.source_findings().size(), topology.source_findings().size());
  }
}

TEST(IbsimWriter, DevicesWithoutPortsComeBackWithOne) {
  TopologyBuilder builder;
  builder.add_switch({.name = "spine", .ports = 4});
  builder.add_switch({.name = "bare", .ports = 0});
  const auto topology = std::move(builder).build();
  ASSERT_TRUE(topology);
  const auto again = read_fabric(write_ibsim(*topology), Format::ibsim);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->switches().size(), 2U);
  EXPECT_EQ(again->ports(SwitchId(0)).size() + again->ports(SwitchId(1)).size(), 4U + 1U);
}

TEST(IbsimWriter, NamesCannotBreakOutOfTheirLine) {
  TopologyBuilder builder;
  builder.add_switch({.guid = Guid(1),
                      .name = "a\"\nSwitch 4 \"b",
                      .description = {},
                      .ports = 2,
                      .subnet = {},
                      .rack = {},
                      .group = {}});
  builder.add_hca({.guid = Guid(1), .host = {}, .device = {}, .description = "Aggregation Node"});
  builder.add_hca({.guid = Guid(1), .host = {}, .device = {}, .description = "Aggregation Node"});
  const Topology topology = built(std::move(builder));
  const Topology again = must_read(write_ibsim(topology));
  EXPECT_EQ(again.switches().size(), 1U);
  EXPECT_EQ(again.hcas().size(), 2U);
}

TEST(RealNetlist, IbutilsTreesHaveTheirDevicesAndLinks) {
  if (shared_files("ibsim").empty()) GTEST_SKIP() << "the real netlists ibsim/* are not on this machine";
  const std::map<std::string, Counts> expected{
      {"4-ary-3-tree", {.switches = 48, .leaves = 16, .hosts = 64, .host_ports = 64, .inter_switch_links = 128}},
      {"4-ary-4-tree", {.switches = 256, .leaves = 64, .hosts = 256, .host_ports = 256, .inter_switch_links = 768}},
      {"2-ary-4-tree", {.switches = 32, .leaves = 8, .hosts = 16, .host_ports = 16, .inter_switch_links = 48}},
      {"12-ary-2-tree", {.switches = 24, .leaves = 12, .hosts = 144, .host_ports = 144, .inter_switch_links = 144}},
      {"half-4-ary-3-tree", {.switches = 24, .leaves = 8, .hosts = 32, .host_ports = 32, .inter_switch_links = 64}},
  };
  for (const auto& [name, counts] : expected) {
    const auto text = shared_file("ibsim/" + name + ".net");
    ASSERT_TRUE(text) << name;
    const Topology topology = must_read(*text);
    EXPECT_EQ(count(topology), counts) << name;
    EXPECT_TRUE(topology.source_findings().empty()) << name;
  }
}

std::string run(const std::string& command) {
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  char buffer[4096];
  for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) output.append(buffer, n);
  pclose(pipe);
  return output;
}

constexpr const char* kPreload = "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so";

// What ibnetdiscover sees of a simulated fabric; nothing where ibsim does not take the netlist.
std::string discover(const std::string& netlist, const std::string& from) {
  char folder[] = "/tmp/railweave-ibsim-XXXXXX";
  if (mkdtemp(folder) == nullptr) return {};
  const std::string dir = folder;
  std::ofstream(dir + "/net") << netlist;
  std::ofstream(dir + "/run") << "cd " << dir << "\nexport IBSIM_SOCKNAME=railweave" << getpid() << R"(
mkfifo console
exec 3<>console
timeout -k 2 20 ibsim -s -N 2000 -S 2000 -P 20000 net <&3 >log 2>&1 &
for i in 1 2 3 4 5 6 7 8 9 10; do grep -q 'simulator ready' log && break; sleep 0.2; done
sleep 0.2
SIM_HOST=)" << from
                              << " timeout -k 2 15 env LD_PRELOAD=" << kPreload << R"( ibnetdiscover 2>/dev/null
echo quit >&3
wait
)";
  const std::string output = run("bash " + dir + "/run");
  std::filesystem::remove_all(dir);
  return output;
}

// The simulator itself reads the netlist, and ibnetdiscover finds in it what we read from it.
TEST(IbsimSimulator, SeesTheFabricThatWeReadAndWrite) {
  if (std::system("command -v ibsim >/dev/null && command -v ibnetdiscover >/dev/null") != 0 ||
      access(kPreload, R_OK) != 0) {
    GTEST_SKIP() << "ibsim-utils and infiniband-diags are not installed";
  }
  const auto text = shared_file("ibsim/4-ary-2-tree.net");
  if (!text) GTEST_SKIP() << "the real netlist ibsim/4-ary-2-tree.net is not on this machine";
  const Topology ours = must_read(*text);
  const Topology simulated = must_read(discover(*text, "H-1"), Format::ibnetdiscover);
  const auto devices_and_links = [](const Topology& topology) {
    std::vector<std::string> lines;
    for (const auto sw : topology.switches())
      lines.push_back(to_string(topology.guid(sw)) + std::string(topology.name(sw)));
    for (const auto hca : topology.hcas()) {
      lines.push_back(to_string(topology.guid(hca)) + std::string(topology.name(topology.host(hca))) +
                      to_string(topology.port_guid(topology.ports(hca)[0])));
    }
    for (const auto link : topology.links()) lines.push_back(topology.link_text(link));
    return lines;
  };
  EXPECT_EQ(devices_and_links(simulated), devices_and_links(ours));
  // And what we write of it is taken as well.
  const Topology rewritten = must_read(discover(write_ibsim(ours), "H-0000000000100000"), Format::ibnetdiscover);
  EXPECT_EQ(devices_and_links(rewritten), devices_and_links(ours));
}

}  // namespace
}  // namespace railweave::fabric::ibsim_test
