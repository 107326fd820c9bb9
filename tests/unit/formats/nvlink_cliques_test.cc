#include "fabric/formats/gpu/nvlink_cliques.h"

#include "fabric/formats/gpu/attach_gpus.h"
#include "tests/unit/formats/fixtures.h"

namespace railweave::fabric::nvlink_cliques_test {
namespace {

constexpr std::string_view kUuid = "61248eac-4785-4fbf-9cbd-231635e37e9d";

// Hosts of four GPUs, each an NVLink domain of its own.
TopologyBuilder cluster(const std::vector<std::string>& hosts) {
  TopologyBuilder builder;
  for (const auto& host : hosts) builder.host(host);
  EXPECT_TRUE(attach_gpus(builder, {.gpus_per_node = 4, .nvlink_domain_gpus = 4}));
  return builder;
}

Topology with_cliques(const std::vector<std::string>& hosts, std::string_view text, const std::string& platform = {}) {
  TopologyBuilder builder = cluster(hosts);
  const auto read = read_nvlink_cliques(text, {.read = {.source = "c"}, .platform = platform}, builder);
  EXPECT_TRUE(read) << read.error().text();
  return built(std::move(builder));
}

std::string domain_of(const Topology& topology, std::string_view host) {
  const GpuId gpu = topology.gpus(topology.find_host(host)).front();
  return topology.nvlink_domain(gpu) ? std::string(topology.name(topology.nvlink_domain(gpu))) : "";
}

std::string uuid_row(std::string_view node, std::string_view rest) {
  return std::string(node) + " " + std::string(kUuid) + " " + std::string(rest) + "\n";
}

TEST(NvlinkCliques, JoinNodesOnPlatformsWithMultiNodeNvlink) {
  const Topology topology = with_cliques({"n1", "n2", "n3"}, uuid_row("n1", "7 GB200") + uuid_row("n2", "7 GB200"));
  EXPECT_EQ(topology.nvlink_domains().size(), 2U);
  EXPECT_EQ(domain_of(topology, "n1"), kUuid);
  EXPECT_EQ(domain_of(topology, "n2"), kUuid);
  EXPECT_EQ(domain_of(topology, "n3"), "n3");
  const GpuId gpu = topology.gpus(topology.find_host("n2"))[3];
  EXPECT_EQ(topology.cluster_uuid(topology.nvlink_domain(gpu)), kUuid);
  EXPECT_EQ(topology.number(topology.clique(gpu)), 7U);
  EXPECT_EQ(topology.gpus(topology.nvlink_domain(gpu)).size(), 8U);
  EXPECT_TRUE(topology.source_findings().empty());
}

TEST(NvlinkCliques, TwoCliquesOfOneDomainStayApart) {
  const Topology topology = with_cliques({"n1", "n2"}, uuid_row("n1", "1") + uuid_row("n2", "2"), "GB300");
  EXPECT_EQ(topology.nvlink_domains().size(), 1U);
  EXPECT_EQ(topology.cliques().size(), 2U);
}

TEST(NvlinkCliques, ReadTablesInEveryForm) {
  const std::string uuid(kUuid);
  for (const std::string& text : {"n1 " + uuid + " 5\nn2\t" + uuid + "\t5\n",
                                  "node,clusterUuid,cliqueId\nn1," + uuid + ",5\nn2, " + uuid + ", 5\n",
                                  "# list\r\ncliqueId CLUSTER_UUID name\r\n5 " + uuid + " n1\r\n5 " + uuid + " n2\r\n",
                                  "\"n1\",\"" + uuid + "\",\"5\"\nn2," + uuid + ",5",
                                  "n1 61248EAC-4785-4FBF-9CBD-231635E37E9D 5\nn2 " + uuid + " 5"}) {
    const Topology topology = with_cliques({"n1", "n2"}, text, "NVL72");
    EXPECT_EQ(domain_of(topology, "n1"), kUuid) << text;
    EXPECT_EQ(domain_of(topology, "n2"), kUuid) << text;
    EXPECT_TRUE(topology.source_findings().empty()) << text;
  }
}

TEST(NvlinkCliques, IdenticalRowsCountOnceAndContradictionsCountForNothing) {
  const Topology topology = with_cliques(
      {"n1", "n2", "n3"},
      uuid_row("n1", "5") + uuid_row("n1", "5") + uuid_row("n2", "5") + uuid_row("n2", "6") + uuid_row("n3", "5"),
      "GB200");
  EXPECT_EQ(domain_of(topology, "n1"), kUuid);
  EXPECT_EQ(domain_of(topology, "n2"), "n2");
  EXPECT_EQ(domain_of(topology, "n3"), kUuid);
  ASSERT_EQ(topology.source_findings().size(), 1U);
  EXPECT_EQ(topology.source_findings()[0].code, "cliqueContradiction");
  EXPECT_EQ(topology.source_findings()[0].objects, std::vector<std::string>{"n2"});
}

TEST(NvlinkCliques, NotAvailableIsRefused) {
  const Topology topology = with_cliques({"n1", "n2"}, "n1 N/A N/A\n" + uuid_row("n2", "5"), "GB200");
  ASSERT_EQ(findings(topology, "cliqueNotAvailable").size(), 1U);
  EXPECT_EQ(findings(topology, "cliqueNotAvailable")[0].objects, std::vector<std::string>{"n1"});
  EXPECT_EQ(domain_of(topology, "n1"), "n1");
  TopologyBuilder builder = cluster({"n1"});
  EXPECT_FALSE(read_nvlink_cliques("n1 N/A N/A\n", {.read = {}, .platform = "GB200"}, builder));
}

TEST(NvlinkCliques, NodesStayApartWhereNvlinkEndsAtTheMachine) {
  const std::string rows = uuid_row("n1", "5") + uuid_row("n2", "5");
  for (const char* platform :
       {"BM.GPU.H100.8", "p5.48xlarge", "DGX H100", "NVIDIA H100 NVL", "GB200 NVL4", "HGX B200"}) {
    const Topology topology = with_cliques({"n1", "n2"}, rows, platform);
    EXPECT_EQ(domain_of(topology, "n1"), "n1") << platform;
    EXPECT_EQ(findings(topology, "cliqueSingleNode").size(), 1U) << platform;
  }
  const Topology zero = with_cliques(
      {"n1", "n2"}, "n1 00000000-0000-0000-0000-000000000000 0\nn2 00000000-0000-0000-0000-000000000000 0\n", "GB200");
  EXPECT_EQ(domain_of(zero, "n1"), "n1");
  EXPECT_EQ(domain_of(zero, "n2"), "n2");
  EXPECT_EQ(findings(zero, "cliqueSingleNode").at(0).objects.size(), 2U);
  const Topology unknown = with_cliques({"n1", "n2"}, rows);
  EXPECT_EQ(domain_of(unknown, "n2"), "n2");
  EXPECT_EQ(findings(unknown, "cliquePlatformUnknown").size(), 1U);
}

TEST(NvlinkCliques, NodesWithoutADomainGetTheirOwn) {
  TopologyBuilder builder;
  builder.host("n1");
  ASSERT_TRUE(attach_gpus(builder, {.gpus_per_node = 4, .nvlink_domain_gpus = 0}));
  ASSERT_TRUE(read_nvlink_cliques(uuid_row("n1", "5 H100"), {}, builder));
  EXPECT_EQ(domain_of(built(std::move(builder)), "n1"), "n1");
}

TEST(NvlinkCliques, KnowPlatforms) {
  for (const char* name : {"BM.GPU.GB200.4", "NVIDIA-GB300", "gb200-nvl72", "Standard_ND128isr_NDR_GB200_v6",
                           "a4x-highgpu-4g", "VR200 NVL144", "NVL576", "u-p6e-gb200x72"}) {
    EXPECT_TRUE(has_multi_node_nvlink(name)) << name;
  }
  for (const char* name : {"", "H100", "a3-highgpu-8g", "GH200", "GH200 NVL2", "GB200 NVL4", "H200 NVL", "VR NVL8"}) {
    EXPECT_FALSE(has_multi_node_nvlink(name)) << name;
  }
}

TEST(NvlinkCliques, NodesAreFoundByNameOrItsFirstPart) {
  TopologyBuilder builder = cluster({"n1", "n2.example.com"});
  builder.host("nogpu");
  const std::string text = uuid_row("n1.example.com", "5") + uuid_row("n2.example.com", "5") +
                           uuid_row("10.1.2.3", "5") + uuid_row("nogpu", "5");
  ASSERT_TRUE(read_nvlink_cliques(text, {.read = {}, .platform = "GB200"}, builder));
  const Topology topology = built(std::move(builder));
  EXPECT_EQ(domain_of(topology, "n1"), kUuid);
  EXPECT_EQ(domain_of(topology, "n2.example.com"), kUuid);
  EXPECT_EQ(findings(topology, "nodeNotInFabric").at(0).objects, std::vector<std::string>{"10.1.2.3"});
  EXPECT_EQ(findings(topology, "nodeWithoutGpus").at(0).objects, std::vector<std::string>{"nogpu"});
}

TEST(NvlinkCliques, ReadWhatKubernetesSays) {
  const std::string uuid(kUuid);
  const std::string text = R"({"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":""},"items":[
    {"kind":"Node","metadata":{"annotations":{"a":{"deep":[1,{}]}},"name":"n1","labels":{"zone":"z",
      "nvidia.com/gpu.product":"NVIDIA-GB200","nvidia.com/gpu.clique":")" +
                           uuid + R"(.9"}},"spec":{"name":3},"status":{}},
    {"metadata":{"name":"n2","labels":{"node.kubernetes.io/instance-type":"BM.GPU.GB200.4","nvidia.com/gpu.clique":")" +
                           uuid + R"(.9"}}},
    {"metadata":{"name":"cpu-only","labels":{}}}]})";
  const Topology topology = with_cliques({"n1", "n2", "cpu-only"}, text);
  EXPECT_EQ(domain_of(topology, "n1"), kUuid);
  EXPECT_EQ(domain_of(topology, "n2"), kUuid);
  EXPECT_EQ(domain_of(topology, "cpu-only"), "cpu-only");
  EXPECT_TRUE(topology.source_findings().empty());
  const Topology fields = with_cliques(
      {"n1"}, R"({"nodes":[{"name":"n1","clusterUuid":")" + uuid + R"(","cliqueId":4294967294,"instance":"GB200"}]})");
  EXPECT_EQ(fields.number(fields.clique(fields.gpus(fields.find_host("n1")).front())), 4294967294U);
}

TEST(NvlinkCliques, SayWhereTheyCannotBeRead) {
  const auto error_of = [](std::string_view text) {
    TopologyBuilder builder = cluster({"n1"});
    const auto read = read_nvlink_cliques(text, {.read = {.source = "c"}, .platform = "GB200"}, builder);
    EXPECT_FALSE(read) << text;
    return read ? "" : read.error().location;
  };
  EXPECT_EQ(error_of(""), "c: line 1, column 1");
  EXPECT_EQ(error_of("n1 nonsense 5\n"), "c: line 1, column 4");
  EXPECT_EQ(error_of("{\"nodes\":[\n {\"name\":\"n1\",\"clusterUuid\":\"x\",\"cliqueId\":1}]}"), "c: line 2, column 2");
  EXPECT_EQ(error_of("{\"nodes\":[\n {\"clusterUuid\":\"x\"}]}"), "c: line 2, column 2");
  EXPECT_EQ(error_of("{\"nodes\":[}"), "c: line 1, column 11");
  EXPECT_EQ(error_of("{}"), "c: line 1, column 1");
  const Topology topology =
      with_cliques({"n1", "n2"}, uuid_row("n1", "5") + "n2 " + std::string(kUuid) + " five\nn3\n", "GB200");
  EXPECT_EQ(findings(topology, "unreadableLine").size(), 2U);
  EXPECT_EQ(findings(topology, "unreadableLine")[0].objects, std::vector<std::string>{"c: line 2, column 41"});
}

TEST(NvlinkCliques, ReadRealLabels) {
  RAILWEAVE_SHARED_FILE_OR_SKIP(text, "gpu/gb200_clique_example.json");
  const Topology topology = with_cliques({"10.140.61.148", "10.140.63.103", "10.140.63.104"}, text);
  EXPECT_EQ(domain_of(topology, "10.140.61.148"), kUuid);
  EXPECT_EQ(domain_of(topology, "10.140.63.103"), kUuid);
  EXPECT_EQ(domain_of(topology, "10.140.63.104"), "10.140.63.104");
  EXPECT_EQ(topology.number(topology.clique(topology.gpus(topology.find_host("10.140.61.148")).front())), 20663U);
  EXPECT_TRUE(topology.source_findings().empty());
}

}  // namespace
}  // namespace railweave::fabric::nvlink_cliques_test
