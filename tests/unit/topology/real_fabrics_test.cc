// Checks, rails and locality on real dumps.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/formats/read_fabric.h"
#include "fabric/topology/checks/checks.h"
#include "fabric/topology/locality.h"

namespace railweave::fabric::real_fabrics_test {
namespace {

class RealFabrics : public ::testing::Test {
 protected:
  static std::filesystem::path path_of(const std::string& file) {
    return std::filesystem::path(RAILWEAVE_SHARED_DATA) / file;
  }
  static Topology read(const std::string& file) {
    std::ifstream in(path_of(file), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    auto topology = read_fabric(text, Format::unknown, {.source = file});
    EXPECT_TRUE(topology.has_value()) << (topology ? "" : topology.error().text());
    return std::move(topology).value();
  }
};

#define SKIP_WITHOUT(file) \
  if (!std::filesystem::exists(path_of(file))) GTEST_SKIP() << "needs " << path_of(file)

const Finding* find_code(const std::vector<Finding>& findings, std::string_view code) {
  const auto found = std::ranges::find(findings, code, &Finding::code);
  return found == findings.end() ? nullptr : &*found;
}

TEST_F(RealFabrics, TheDgxClusterHasFourRailsAndTenHostsShortOfOne) {
  const std::string file = "ib/dgx-h100-ndr.ibnetdiscover.txt";
  SKIP_WITHOUT(file);
  const auto topology = read(file);
  const auto summary = summarize(topology);
  EXPECT_EQ(summary.switches, 40U);
  EXPECT_EQ(summary.leaves, 31U);
  EXPECT_EQ(summary.host_ports, 542U);
  EXPECT_EQ(summary.inter_switch_links, 532U);
  EXPECT_EQ(summary.aggregation_nodes, 40U);
  EXPECT_EQ(summary.components, 1U);
  EXPECT_EQ(summary.tiers, 2U);
  EXPECT_EQ(summary.rails, 4U);
  EXPECT_EQ(summary.hosts_short_of_rail, 10U);
  EXPECT_GT(summary.rail_confidence, 0.98);
  std::map<std::size_t, std::size_t> hosts_with_rails;
  std::size_t other_ports = 0;
  for (const auto host : topology.hosts()) {
    std::set<RailId> rails;
    std::size_t ports = 0;
    for (const auto hca : topology.hcas(host)) {
      for (const auto port : topology.ports(hca)) {
        ++ports;
        if (topology.rail(port)) rails.insert(topology.rail(port));
      }
    }
    if (topology.name(host).find("-dgx-") != std::string_view::npos) {
      ++hosts_with_rails[rails.size()];
    } else {
      other_ports += ports;
    }
  }
  EXPECT_THAT(hosts_with_rails, ::testing::ElementsAre(std::pair(3U, 10U), std::pair(4U, 109U)));
  EXPECT_EQ(other_ports, 76U);

  const auto findings = check_fabric(topology);
  const Finding* short_hosts = find_code(findings, "hostShortOfRail");
  ASSERT_NE(short_hosts, nullptr);
  EXPECT_EQ(short_hosts->objects.size(), 10U);
  ASSERT_FALSE(short_hosts->objects.empty());
  for (const auto& host : short_hosts->objects) EXPECT_TRUE(host.starts_with("a05-p1-dgx-01-")) << host;
  const Finding* leaves = find_code(findings, "leafShortOfUplinks");
  ASSERT_NE(leaves, nullptr);
  EXPECT_GE(leaves->objects.size(), 5U);
  EXPECT_NE(find_code(findings, "adapterOnOddRail"), nullptr);  // one host has two cables swapped

  const auto locality = derive_locality(topology);
  ASSERT_NE(locality.find(LevelKind::leaf_group), nullptr);
  std::set<std::uint32_t> units;
  for (const auto host : topology.hosts()) {
    if (topology.name(host).find("-dgx-") != std::string_view::npos) {
      units.insert(locality.find(LevelKind::leaf_group)->group_of_host[host.index()]);
    }
  }
  EXPECT_EQ(units.size(), 8U);
}

TEST_F(RealFabrics, ThePerfectTreeHasNothingWrong) {
  const std::string file = "ib/k-4-n-3-full.ibnetdiscover.txt";
  SKIP_WITHOUT(file);
  const auto topology = read(file);
  ASSERT_FALSE(check_fabric(topology).empty());
  for (const auto& finding : check_fabric(topology)) EXPECT_EQ(finding.severity, Severity::info) << finding.message;
  EXPECT_EQ(summarize(topology).rails, 0U);
  const auto locality = derive_locality(topology);
  EXPECT_EQ(locality.find(LevelKind::leaf_group)->group_count, 32U);
  EXPECT_EQ(locality.find(LevelKind::pod)->group_count, 8U);
}

TEST_F(RealFabrics, SelenesStorageFabricIsConnectedAndSomeSwitchesLackUplinks) {
  const std::string file = "ib/selene.storage.txt";
  SKIP_WITHOUT(file);
  const auto topology = read(file);
  const auto summary = summarize(topology);
  EXPECT_EQ(summary.switches, 160U);
  EXPECT_EQ(summary.leaves, 60U);
  EXPECT_EQ(summary.host_ports, 1247U);
  EXPECT_EQ(summary.inter_switch_links, 2039U);
  EXPECT_EQ(summary.components, 1U);
  EXPECT_EQ(summary.tiers, 3U);
  const auto findings = check_fabric(topology);
  EXPECT_NE(find_code(findings, "leafShortOfUplinks"), nullptr);
}

TEST_F(RealFabrics, AHostOnASpineIsFound) {
  const std::string file = "ib/loginoff.ibnetdiscover.txt";
  SKIP_WITHOUT(file);
  const auto findings = check_fabric(read(file));
  const Finding* spine = find_code(findings, "hostOnSpine");
  ASSERT_NE(spine, nullptr);
  EXPECT_EQ(spine->objects.size(), 1U);
}

TEST_F(RealFabrics, MixedSpeedsAreFound) {
  const std::string file = "ib/psmn-x5.ibnetdiscover.txt";
  SKIP_WITHOUT(file);
  const auto findings = check_fabric(read(file));
  const Finding* slow = find_code(findings, "linkSlowerThanClass");
  ASSERT_NE(slow, nullptr);
  EXPECT_THAT(slow->message, ::testing::HasSubstr("32 Gb/s"));
}

}  // namespace
}  // namespace railweave::fabric::real_fabrics_test
