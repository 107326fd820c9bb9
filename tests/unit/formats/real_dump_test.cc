// Real dumps of ibnetdiscover: the devices and links that their lines name.
#include <cstdio>
#include <map>
#include <sstream>

#include "fabric/formats/infiniband/ibnetdiscover.h"
#include "tests/unit/formats/fixtures.h"

namespace railweave::fabric::real_dump_test {
namespace {

TEST(RealDump, DgxH100HasItsDevicesAndLinks) {
  RAILWEAVE_SHARED_FILE_OR_SKIP(text, "ib/dgx-h100-ndr.ibnetdiscover.txt");
  const Topology topology = must_read(text);
  // 119 DGX hosts, 74 adapters without a machine's name, and one management host with two adapters.
  EXPECT_EQ(count(topology), (Counts{.switches = 40,
                                     .leaves = 31,
                                     .hosts = 194,
                                     .host_ports = 542,
                                     .inter_switch_links = 532,
                                     .aggregation_nodes = 40,
                                     .routers = 0}));
  EXPECT_EQ(hosts_of_kind(topology, HostKind::compute), 119U);
  EXPECT_EQ(hosts_of_kind(topology, HostKind::unnamed), 74U);
  EXPECT_EQ(hosts_of_kind(topology, HostKind::management), 1U);
  std::map<std::size_t, std::size_t> hosts_by_ports;
  for (const auto host : topology.hosts()) {
    if (topology.kind(host) == HostKind::compute) {
      ++hosts_by_ports[topology.hcas(host).size()];
    } else if (topology.kind(host) == HostKind::unnamed) {
      EXPECT_EQ(topology.hcas(host).size(), 1U);
    }
  }
  EXPECT_EQ(hosts_by_ports, (std::map<std::size_t, std::size_t>{{3, 10}, {4, 109}}));
  std::map<SwitchId, std::size_t> aggregation;
  for (const auto hca : topology.hcas()) {
    if (topology.kind(hca) != HcaKind::aggregation) continue;
    EXPECT_FALSE(topology.host(hca));
    ++aggregation[topology.switch_of(topology.peer(topology.ports(hca).front()))];
  }
  EXPECT_EQ(aggregation.size(), 40U);
  ASSERT_FALSE(topology.links().empty());
  for (const auto link : topology.links()) EXPECT_EQ(topology.rate(link), from_gbps(400));
  // Adapters that nothing names: machines without rdma-ndd.
  ASSERT_EQ(topology.source_findings().size(), 1U);
  EXPECT_EQ(topology.source_findings().front().code, "equalDescriptions");
}

TEST(RealDump, SeleneStorageHasItsDevicesAndLinks) {
  RAILWEAVE_SHARED_FILE_OR_SKIP(text, "ib/selene.storage.txt");
  const Topology topology = must_read(text);
  const Counts counts = count(topology);
  EXPECT_EQ(counts.switches, 160U);
  EXPECT_EQ(counts.leaves, 60U);
  EXPECT_EQ(counts.host_ports, 1247U);
  EXPECT_EQ(counts.inter_switch_links, 2039U);
  EXPECT_EQ(topology.tier_count(), 3U);
  EXPECT_EQ(hosts_of_kind(topology, HostKind::unnamed), 1U);
  EXPECT_EQ(hosts_of_kind(topology, HostKind::storage), 165U);   // 160 ai400x, 4 caches, 1 swift
  EXPECT_EQ(hosts_of_kind(topology, HostKind::management), 5U);  // 2 login, 2 ufm, 1 slurm
  EXPECT_EQ(hosts_of_kind(topology, HostKind::compute), 458U);   // luna, two adapters each
  EXPECT_TRUE(topology.source_findings().empty());
}

TEST(RealDump, KAryTreeHasItsDevicesAndLinks) {
  RAILWEAVE_SHARED_FILE_OR_SKIP(text, "ib/k-4-n-3-full.ibnetdiscover.txt");
  EXPECT_EQ(count(must_read(text)), (Counts{.switches = 80,
                                            .leaves = 32,
                                            .hosts = 128,
                                            .host_ports = 128,
                                            .inter_switch_links = 256,
                                            .aggregation_nodes = 0,
                                            .routers = 0}));
}

// The same numbers from the text itself: devices, and links between kinds of devices, counted by lines.
TEST(RealDump, EveryDumpHasTheDevicesAndLinksOfItsLines) {
  const auto files = shared_files("ib");
  if (files.empty()) GTEST_SKIP() << "the real dumps ib/* are not on this machine";
  for (const auto& file : files) {
    const std::string text = shared_file(file).value();
    std::istringstream lines(text);
    std::map<std::string, std::size_t> headers, links;
    std::string type;
    std::size_t aggregation = 0;
    for (std::string line; std::getline(lines, line);) {
      char word[8];
      char letter = 0;
      unsigned number = 0;
      unsigned long long guid = 0;
      if (std::sscanf(line.c_str(), "%6s %u \"%c-%16llx\"", word, &number, &letter, &guid) == 4) {
        type = word;
        ++headers[type];
        if (type == "Ca" && line.find("Aggregation Node") != std::string::npos) ++aggregation;
      } else if (std::sscanf(line.c_str(), "[%u]%*[^\"]\"%c-%16llx\"", &number, &letter, &guid) == 3) {
        ++links[type + letter];
      }
    }
    const Topology topology = must_read(text, Format::unknown, {.source = file});
    const Counts counts = count(topology);
    EXPECT_EQ(counts.switches, headers["Switch"]) << file;
    EXPECT_EQ(topology.hcas().size(), headers["Ca"] + headers["Rt"]) << file;
    EXPECT_EQ(counts.aggregation_nodes, aggregation) << file;
    EXPECT_EQ(counts.inter_switch_links, links["SwitchS"] / 2) << file;
    EXPECT_EQ(topology.links().size(), links["SwitchS"] / 2 + links["CaS"]) << file;
    EXPECT_EQ(detect_format(text), Format::ibnetdiscover) << file;
  }
}

}  // namespace
}  // namespace railweave::fabric::real_dump_test
