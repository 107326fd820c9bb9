#include <set>

#include <gtest/gtest.h>

#include "fabric/generate/generate.h"

namespace railweave::fabric::sites_test {
namespace {

TEST(GenerateSites, EverySiteIsACopyAndEveryTwoAreJoined) {
  const GenerateParameters one{{"hosts", "8"}, {"storage-servers", "2"}, {"hosts-per-rack", "4"}};
  ASSERT_FALSE(generate_kinds().empty());
  for (const auto& kind : generate_kinds()) {
    SCOPED_TRACE(kind.name);
    GenerateParameters three = one;
    three.insert({{"sites", "3"}, {"wan-links", "4"}, {"wan-rate", "800"}, {"wan-km", "120"}});
    const Topology single = generate(kind.name, one).value();
    const auto made = generate(kind.name, three);
    ASSERT_TRUE(made.has_value()) << made.error().text();
    const Topology& topology = *made;
    EXPECT_EQ(topology.sites().size(), 3U);
    EXPECT_EQ(topology.gpus().size(), 3 * single.gpus().size());
    EXPECT_EQ(topology.switches().size(), 3 * single.switches().size());
    EXPECT_EQ(topology.links().size(), 3 * single.links().size());
    EXPECT_EQ(topology.subnets().size(), 3 * single.subnets().size());
    EXPECT_EQ(topology.racks().size(), 3 * single.racks().size());
    EXPECT_EQ(topology.site_links().size(), 3U);
    ASSERT_FALSE(topology.site_links().empty());
    for (const auto& link : topology.site_links()) {
      EXPECT_EQ(link.total_mbps(), 3.2e6);
      EXPECT_EQ(link.latency_us, 600);
    }
    std::set<std::uint64_t> guids;
    ASSERT_FALSE(topology.switches().empty());
    for (const auto sw : topology.switches()) {
      EXPECT_TRUE(guids.insert(topology.guid(sw).value()).second);
      ASSERT_TRUE(topology.site(sw));
      EXPECT_EQ(topology.name(sw).substr(1, 1), topology.name(topology.site(sw)).substr(5));  // s2-... at site-2
    }
    ASSERT_FALSE(topology.hosts().empty());
    for (const auto host : topology.hosts()) ASSERT_TRUE(topology.site(host));
    for (const auto link : topology.links()) {  // no cable leads out of a site
      const auto a = topology.switch_of(topology.a(link)), b = topology.switch_of(topology.b(link));
      if (a && b) {
        EXPECT_EQ(topology.site(a), topology.site(b));
      }
    }
    EXPECT_TRUE(topology.source_findings().empty());
  }
}

TEST(GenerateSites, PresetsCanHaveSitesAndOneSiteIsNotNamed) {
  const Topology demo = generate("demo", {{"sites", "2"}}).value();
  EXPECT_EQ(demo.sites().size(), 2U);
  EXPECT_EQ(demo.site_links().size(), 1U);
  EXPECT_EQ(demo.gpus().size(), 2 * generate("demo", {}).value().gpus().size());
  EXPECT_TRUE(generate("demo-hgx", {{"sites", "1"}}).value().sites().empty());
  const auto bad = generate("demo-hgx", {{"sites", "0"}});
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().location, "sites");
}

}  // namespace
}  // namespace railweave::fabric::sites_test
