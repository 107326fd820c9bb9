#include <ostream>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "fabric/generate/generate.h"

namespace railweave::fabric::nvlink_test {
namespace {

struct DomainCase {
  std::string domain, gpus_per_host, hosts;
  std::size_t domains, hosts_per_domain, racks;
};

std::ostream& operator<<(std::ostream& out, const DomainCase& tested) {
  return out << "domains of " << tested.domain << ", hosts of " << tested.gpus_per_host;
}

class NvlinkDomains : public ::testing::TestWithParam<DomainCase> {};

TEST_P(NvlinkDomains, HoldTheirGpusHostsAndRacks) {
  const auto& expected = GetParam();
  for (const std::string kind : {"fat-tree", "rail-optimized", "dragonfly", "dragonfly-plus", "torus"}) {
    SCOPED_TRACE(kind);
    GenerateParameters parameters{
        {"nvlink-domain", expected.domain}, {"gpus-per-host", expected.gpus_per_host}, {"hosts", expected.hosts}};
    if (kind == "torus") parameters["hosts-per-switch"] = "5";
    if (kind == "dragonfly") parameters["hosts-per-switch"] = "9";
    if (kind == "dragonfly-plus") parameters["groups"] = "17";
    const auto result = generate(kind, parameters);
    ASSERT_TRUE(result.has_value()) << result.error().text();
    const Topology& topology = *result;
    EXPECT_EQ(topology.nvlink_domains().size(), expected.domains);
    EXPECT_EQ(topology.racks().size(), expected.racks);
    std::set<std::string_view> uuids;
    ASSERT_FALSE(topology.nvlink_domains().empty());
    for (const auto domain : topology.nvlink_domains()) {
      EXPECT_EQ(topology.gpus(domain).size(), std::stoul(expected.domain));
      EXPECT_EQ(topology.ports(domain).size(), std::stoul(expected.domain));
      std::set<HostId> hosts;
      std::set<CliqueId> cliques;
      for (const auto gpu : topology.gpus(domain)) {
        hosts.insert(topology.host(gpu));
        cliques.insert(topology.clique(gpu));
      }
      EXPECT_EQ(hosts.size(), expected.hosts_per_domain);
      EXPECT_EQ(cliques.size(), 1U);
      const bool spans = expected.hosts_per_domain > 1;
      EXPECT_EQ(cliques.begin()->valid(), spans);
      EXPECT_EQ(topology.cluster_uuid(domain).size(), spans ? 36U : 0U);
      uuids.insert(topology.cluster_uuid(domain));
      EXPECT_EQ(topology.rate_per_gpu(domain).value(), spans ? 7'200'000 : 3'600'000);
    }
    if (expected.hosts_per_domain > 1) {
      EXPECT_EQ(uuids.size(), expected.domains);
    }
    EXPECT_TRUE(topology.source_findings().empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, NvlinkDomains,
                         ::testing::Values(DomainCase{"8", "8", "36", 36, 1, 0}, DomainCase{"4", "8", "12", 24, 1, 0},
                                           DomainCase{"36", "4", "36", 4, 9, 4}, DomainCase{"36", "2", "36", 2, 18, 2},
                                           DomainCase{"72", "4", "36", 2, 18, 2},
                                           DomainCase{"576", "4", "144", 1, 144, 8}),
                         [](const auto& tested) {
                           return "Nvl" + tested.param.domain + "of" + tested.param.gpus_per_host;
                         });

TEST(NvlinkDomainErrors, NameParametersThatDoNotFit) {
  const auto partial = generate("fat-tree", {{"nvlink-domain", "72"}, {"hosts", "20"}});
  ASSERT_FALSE(partial.has_value());
  EXPECT_NE(partial.error().hint.find("36 hosts"), std::string::npos) << partial.error().text();
  EXPECT_FALSE(generate("fat-tree", {{"nvlink-domain", "6"}}).has_value());
  EXPECT_FALSE(generate("fat-tree", {{"nvlink-domain", "72"}, {"hosts", "36"}, {"hosts-per-rack", "5"}}).has_value());
  EXPECT_FALSE(generate("fat-tree", {{"nvlink-domain", "72"}, {"gpus-per-host", "0"}, {"hosts", "36"}}).has_value());
}

}  // namespace
}  // namespace railweave::fabric::nvlink_test
