#include "fabric/formats/gpu/attach_gpus.h"

#include "tests/unit/formats/fixtures.h"

namespace railweave::fabric::attach_gpus_test {
namespace {

TopologyBuilder hosts(unsigned count) {
  TopologyBuilder builder;
  for (unsigned i = count; i > 0; --i) builder.host("n" + std::to_string(i));  // last first
  builder.host("store", HostKind::storage);
  builder.host("0123456789abcdef", HostKind::unnamed);
  return builder;
}

Topology attached(unsigned count, const GpuAttachment& attachment) {
  TopologyBuilder builder = hosts(count);
  const auto got = attach_gpus(builder, attachment);
  EXPECT_TRUE(got) << got.error().text();
  EXPECT_EQ(got.value_or(0), count);
  return built(std::move(builder));
}

TEST(AttachGpus, OnlyComputeHostsGetGpus) {
  const Topology topology = attached(3, {.gpus_per_node = 8, .nvlink_domain_gpus = 8});
  EXPECT_EQ(topology.gpus().size(), 24U);
  EXPECT_EQ(topology.gpus(topology.find_host("store")).size(), 0U);
  EXPECT_EQ(topology.nvlink_domains().size(), 3U);
  EXPECT_EQ(topology.name(topology.nvlink_domain(topology.gpus(topology.find_host("n2"))[7])), "n2");
  EXPECT_EQ(topology.rate_per_gpu(topology.nvlink_domains().front()), from_gbps(3600));
  EXPECT_TRUE(topology.nics(topology.gpus().front()).empty());
}

TEST(AttachGpus, DomainsMayBeSmallerThanANode) {
  const Topology topology = attached(2, {.gpus_per_node = 8, .nvlink_domain_gpus = 2});
  EXPECT_EQ(topology.nvlink_domains().size(), 8U);
  const HostId host = topology.find_host("n1");
  for (unsigned g = 0; g < 8; ++g) {
    EXPECT_EQ(topology.name(topology.nvlink_domain(topology.gpus(host)[g])), "n1/nvlink-" + std::to_string(g / 2));
  }
}

TEST(AttachGpus, LargerDomainsTakeNodesInNaturalOrder) {
  const Topology topology =
      attached(20, {.gpus_per_node = 4, .nvlink_domain_gpus = 72, .rate_per_gpu = from_gbps(7200)});
  ASSERT_EQ(topology.nvlink_domains().size(), 2U);
  const auto domain = [&](const char* host) {
    return topology.nvlink_domain(topology.gpus(topology.find_host(host)).front());
  };
  EXPECT_EQ(domain("n2"), domain("n18"));
  EXPECT_NE(domain("n18"), domain("n19"));
  EXPECT_EQ(topology.gpus(domain("n1")).size(), 72U);
  EXPECT_EQ(topology.name(domain("n1")), "n1..n18");
  ASSERT_EQ(findings(topology, "partialNvlinkDomain").size(), 1U);
  EXPECT_EQ(findings(topology, "partialNvlinkDomain")[0].objects, std::vector<std::string>{"n19..n20"});
}

TEST(AttachGpus, DomainsMayBeAbsent) {
  const Topology topology = attached(2, {.gpus_per_node = 64, .nvlink_domain_gpus = 0});
  EXPECT_EQ(topology.gpus().size(), 128U);
  EXPECT_TRUE(topology.nvlink_domains().empty());
}

TEST(AttachGpus, KeepsGpusThatHostsHave) {
  TopologyBuilder builder = hosts(2);
  builder.add_gpu(builder.host("n1"));
  EXPECT_EQ(attach_gpus(builder, {.gpus_per_node = 8, .nvlink_domain_gpus = 8}), 1U);
  EXPECT_EQ(built(std::move(builder)).gpus().size(), 9U);
}

TEST(AttachGpus, RefusesWhatDoesNotFit) {
  const auto error_of = [](const GpuAttachment& attachment, unsigned count) {
    TopologyBuilder builder = hosts(count);
    const auto got = attach_gpus(builder, attachment);
    EXPECT_FALSE(got);
    EXPECT_EQ(builder.gpu_count(builder.host("n1")), 0U);
    return got ? "" : got.error().code;
  };
  EXPECT_EQ(error_of({.gpus_per_node = 0, .nvlink_domain_gpus = 0}, 1), "gpus.perNode");
  EXPECT_EQ(error_of({.gpus_per_node = 65, .nvlink_domain_gpus = 0}, 1), "gpus.perNode");
  EXPECT_EQ(error_of({.gpus_per_node = 4'000'000'000U, .nvlink_domain_gpus = 8}, 1), "gpus.perNode");
  EXPECT_EQ(error_of({.gpus_per_node = 8, .nvlink_domain_gpus = 3}, 1), "gpus.nvlinkDomain");
  EXPECT_EQ(error_of({.gpus_per_node = 8, .nvlink_domain_gpus = 12}, 1), "gpus.nvlinkDomain");
  EXPECT_EQ(error_of({.gpus_per_node = 8, .nvlink_domain_gpus = 8}, 0), "gpus.noHost");
}

TEST(AttachGpus, GivesTheRealDgxFabricItsGpus) {
  RAILWEAVE_SHARED_FILE_OR_SKIP(text, "ib/dgx-h100-ndr.ibnetdiscover.txt");
  TopologyBuilder builder;
  ASSERT_TRUE(read_into(text, Format::unknown, {}, builder));
  EXPECT_EQ(attach_gpus(builder, {.gpus_per_node = 8, .nvlink_domain_gpus = 8}), 119U);
  const Topology topology = built(std::move(builder));
  EXPECT_EQ(topology.gpus().size(), 952U);
  EXPECT_EQ(topology.nvlink_domains().size(), 119U);
}

}  // namespace
}  // namespace railweave::fabric::attach_gpus_test
