#include "fabric/formats/gpu/gpu_affinity.h"

#include "fabric/formats/gpu/nccl_topology.h"
#include "fabric/formats/gpu/nvidia_smi_topo.h"
#include "tests/unit/formats/fixtures.h"

namespace railweave::fabric::gpu_affinity_test {
namespace {

using Numbers = std::vector<unsigned>;

// Adapters of a GPU that are equally near as the nearest, in their order.
Numbers nearest(const GpuAffinity& affinity, std::size_t gpu) {
  Numbers nics;
  for (const auto& near : affinity.nics_of_gpu.at(gpu)) {
    const auto& first = affinity.nics_of_gpu[gpu].front();
    if (near.distance == first.distance && near.hops == first.hops) nics.push_back(near.nic);
  }
  return nics;
}

GpuAffinity must_read_xml(std::string_view text) {
  auto affinity = read_nccl_topology(text, {.source = "t.xml"});
  EXPECT_TRUE(affinity) << affinity.error().text();
  return affinity.value_or(GpuAffinity{});
}

GpuAffinity must_read_matrix(std::string_view text) {
  auto affinity = read_nvidia_smi_topo(text, {.source = "t.txt"});
  EXPECT_TRUE(affinity) << affinity.error().text();
  return affinity.value_or(GpuAffinity{});
}

// As NCCL dumps a machine: GPU 0 and 1 crosswise to the adapters, a dual-port card and a network card NCCL does not
// use.
constexpr std::string_view kDump = R"(<system version="2">
  <cpu host_hash="0x1" numaid="0">
    <pci busid="0000:10:00.0" class="0x060400">
      <pci busid="0000:12:00.0" class="0x030200"><gpu dev="1" sm="90" rank="1"><nvlink target="0000:22:00.0" count="18"/></gpu></pci>
      <pci busid="0000:13:00.0" class="0x020700"><nic><net name="mlx5_0" dev="0" port="1"/></nic></pci>
    </pci>
    <pci busid="0000:20:00.0" class="0x060400">
      <pci busid="0000:22:00.0" class="0x030200"><gpu dev="0" sm="90" rank="0"/></pci>
      <pci busid="0000:23:00.0" class="0x060400">
        <pci busid="0000:24:00.0" class="0x020700"><nic><net name="mlx5_1" dev="1"/><net name="mlx5_2" dev="2"/></nic></pci>
      </pci>
    </pci>
    <pci busid="0000:30:00.0" class="0x020000"/>
  </cpu>
  <cpu numaid="1">
    <pci busid="0000:90:00.0" class="0x030200"><gpu dev="2"/></pci>
    <pci busid="0000:91:00.0" class="0x020700"><nic><net name="mlx5_9"/></nic></pci>
  </cpu>
</system>)";

TEST(NcclTopology, NearIsWhatSharesTheLowestBridgeThenTheNumaNode) {
  const GpuAffinity affinity = must_read_xml(kDump);
  ASSERT_EQ(affinity.nics.size(), 4U);
  EXPECT_EQ(affinity.nics[1].device, "mlx5_1");
  EXPECT_EQ(affinity.nics[1].bus_id, "0000:24:00.0");
  ASSERT_EQ(affinity.nics_of_gpu.size(), 3U);
  EXPECT_EQ(nearest(affinity, 0), (Numbers{1, 2}));
  EXPECT_EQ(affinity.nics_of_gpu[0][0].distance, PciDistance::switches);
  EXPECT_EQ(nearest(affinity, 1), (Numbers{0}));
  EXPECT_EQ(affinity.nics_of_gpu[1][0].distance, PciDistance::same_switch);
  EXPECT_EQ(nearest(affinity, 2), (Numbers{3}));
  EXPECT_EQ(affinity.nics_of_gpu[2][0].distance, PciDistance::numa_node);
  EXPECT_EQ(affinity.nics_of_gpu[2].size(), 4U);
  EXPECT_EQ(affinity.nics_of_gpu[2].back().distance, PciDistance::other_numa);
}

TEST(NcclTopology, SaysWhatIsWrongAndWhere) {
  const auto error_of = [](std::string_view text) {
    auto affinity = read_nccl_topology(text, {.source = "t.xml"});
    EXPECT_FALSE(affinity) << text;
    return affinity ? "" : affinity.error().text();
  };
  EXPECT_EQ(error_of("<system>\n<cpu>\n</system>"), "t.xml: line 3, column 3: Start-end tags mismatch");
  EXPECT_EQ(error_of("<other/>"), "t.xml: line 1, column 1: expected an element <system>: the topology file of NCCL");
  EXPECT_EQ(error_of(""), "t.xml: line 1, column 1: No document element found");
  EXPECT_EQ(error_of("<system>\n <cpu><pci busid=\"zz\"/></cpu></system>"),
            "t.xml: line 2, column 8: expected a PCI bus id such as \"0000:0c:00.0\" in busid");
  EXPECT_EQ(error_of("<system><cpu/></system>"),
            "t.xml: line 1, column 1: no GPU in the topology: no <pci> of class 0x03 and no <gpu>");
  EXPECT_NE(error_of("<system><cpu><pci busid=\"0:1:0.0\"><gpu dev=\"0\"/></pci><pci busid=\"0:2:0.0\"><gpu "
                     "dev=\"0\"/></pci></cpu></system>")
                .find("two GPUs"),
            std::string::npos);
}

TEST(NcclTopology, HostileXmlIsHarmless) {
  std::string bomb = "<!DOCTYPE system [<!ENTITY a \"aaaaaaaaaa\">";
  for (char c = 'b'; c < 'z'; ++c) {
    bomb += std::string("<!ENTITY ") + c + " \"";
    for (int i = 0; i < 10; ++i) bomb += std::string("&") + static_cast<char>(c - 1) + ";";
    bomb += "\">";
  }
  bomb += "]><system><cpu><pci busid=\"0:1:0.0\" class=\"0x03&y;\"/>&y;</cpu></system>";
  EXPECT_EQ(must_read_xml(bomb).nics_of_gpu.size(), 1U);

  std::string deep = "<system>";
  for (int i = 0; i < 80'000; ++i) deep += "<cpu>";
  EXPECT_FALSE(read_nccl_topology(deep, {}));
  for (int i = 0; i < 80'000; ++i) deep += "</cpu>";
  auto refused = read_nccl_topology(deep + "</system>", {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("deep"), std::string::npos);
  EXPECT_EQ(read_nccl_topology(std::string(kMaxAffinityBytes + 1, ' '), {}).error().kind, ErrorKind::tooLarge);

  std::string many = "<system><cpu>";
  for (int i = 0; i < 65; ++i) many += "<pci busid=\"0:" + std::to_string(i % 10) + ":0.0\" class=\"0x0302\"/>";
  EXPECT_FALSE(read_nccl_topology(many + "</cpu></system>", {}));
}

TEST(NcclTopology, ReadsRealMachines) {
  {
    RAILWEAVE_SHARED_FILE_OR_SKIP(text, "gpu/ndv4-topo.xml");
    const GpuAffinity affinity = must_read_xml(text);
    ASSERT_EQ(affinity.nics_of_gpu.size(), 8U);
    ASSERT_EQ(affinity.nics.size(), 8U);
    // Two GPUs and two adapters below each bridge; each GPU starts with another one.
    for (unsigned g = 0; g < 8; g += 2) {
      EXPECT_EQ(nearest(affinity, g), (Numbers{g, g + 1}));
      EXPECT_EQ(nearest(affinity, g + 1), (Numbers{g + 1, g}));
    }
  }
  {
    RAILWEAVE_SHARED_FILE_OR_SKIP(text, "gpu/p4d-24xl-topo.xml");
    const GpuAffinity affinity = must_read_xml(text);
    ASSERT_EQ(affinity.nics.size(), 4U);
    for (unsigned g = 0; g < 8; ++g) EXPECT_EQ(nearest(affinity, g), (Numbers{g / 2})) << g;
  }
  {
    RAILWEAVE_SHARED_FILE_OR_SKIP(text, "gpu/ndv5-topo.xml");
    const GpuAffinity affinity = must_read_xml(text);
    for (unsigned g = 0; g < 8; ++g) EXPECT_EQ(nearest(affinity, g), (Numbers{g})) << g;
  }
  {
    RAILWEAVE_SHARED_FILE_OR_SKIP(text, "gpu/ndv2-topo.xml");  // one adapter, on the NUMA node of the first four GPUs
    const GpuAffinity affinity = must_read_xml(text);
    for (unsigned g = 0; g < 8; ++g) {
      EXPECT_EQ(nearest(affinity, g), (Numbers{0}));
      EXPECT_EQ(affinity.nics_of_gpu[g][0].distance, g < 4 ? PciDistance::numa_node : PciDistance::other_numa);
    }
  }
}

constexpr std::string_view kMatrix =
    "root@node:~# nvidia-smi topo -m\r\n"
    "\t\x1b[4mGPU0\tGPU1\tNIC0\tNIC1\tNIC2\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\r\n"
    "GPU0\t X \tNV18\tNODE\tPIX\tSYS\t0-55,112-167\t0\t\tN/A\r\n"
    "GPU1\tNV18\t X \tPXB\tPXB\tSYS\t0-55,112-167\t0\t\tN/A\r\n"
    "NIC0\tNODE\tPXB\t X \tNODE\tSYS\t\t\t\t\r\n"
    "NIC1\tPIX\tPXB\tNODE\t X \tSYS\r\n"
    "NIC2\tSYS\tSYS\tSYS\tSYS\t X \r\n"
    "\r\nLegend:\r\n\r\n  X    = Self\r\n  SYS  = Connection traversing PCIe\r\n"
    "\r\nNIC Legend:\r\n\r\n  NIC0: mlx5_3\r\n  NIC1: mlx5_4\r\n  NIC2: mlx5_bond_0\r\n";

TEST(NvidiaSmiTopo, ReadsCellsAndLegend) {
  const GpuAffinity affinity = must_read_matrix(kMatrix);
  ASSERT_EQ(affinity.nics.size(), 3U);
  EXPECT_EQ(affinity.nics[0].device, "mlx5_3");
  EXPECT_EQ(affinity.nics[2].device, "mlx5_bond_0");
  EXPECT_EQ(nearest(affinity, 0), (Numbers{1}));
  EXPECT_EQ(nearest(affinity, 1), (Numbers{0, 1}));
  EXPECT_EQ(affinity.nics_of_gpu[1][0].distance, PciDistance::switches);
  std::string blanks(kMatrix);
  for (auto& c : blanks) c = c == '\t' ? ' ' : c;
  EXPECT_EQ(nearest(must_read_matrix(blanks), 0), (Numbers{1}));
}

TEST(NvidiaSmiTopo, TitlesMayBeDeviceNames) {
  const GpuAffinity affinity = must_read_matrix("      GPU0 mlx4_0 CPU Affinity\nGPU0   X  SOC 0-7\nmlx4_0 SOC X\n");
  EXPECT_EQ(affinity.nics.at(0).device, "mlx4_0");
  EXPECT_EQ(affinity.nics_of_gpu.at(0).at(0).distance, PciDistance::other_numa);
}

TEST(NvidiaSmiTopo, SaysWhatIsWrongAndWhere) {
  const auto error_of = [](std::string_view text) {
    auto affinity = read_nvidia_smi_topo(text, {.source = "t.txt"});
    EXPECT_FALSE(affinity) << text;
    return affinity ? "" : affinity.error().text();
  };
  EXPECT_EQ(error_of(""),
            "t.txt: line 1, column 1: expected a line of titles with GPU0: the matrix of nvidia-smi topo -m");
  EXPECT_EQ(error_of(" GPU0 GPU1 NIC0\nGPU0 X NV4 PIX\nGPU1 NV4 X\n"),
            "t.txt: line 3, column 11: the row of GPU1 ends before the column NIC0");
  EXPECT_EQ(error_of(" GPU0 NIC0\nGPU0 X WHAT\n"),
            "t.txt: line 2, column 8: expected PIX, PXB, PHB, NODE or SYS, or between GPUs X or NV#");
  EXPECT_EQ(error_of(" GPU0 NIC0\nGPU0 X NV4\n"),
            "t.txt: line 2, column 8: expected PIX, PXB, PHB, NODE or SYS, or between GPUs X or NV#");
  EXPECT_EQ(error_of(" GPU0 GPU1\nGPU0 X NV4\n"), "t.txt: line 2, column 1: the row of GPU1 is missing");
  EXPECT_EQ(error_of(" GPU0 GPU2\n"), "t.txt: line 1, column 7: expected the titles GPU0, GPU1, ... in order");
  EXPECT_EQ(error_of(" GPU0\nGPU0 X\nGPU0 X\n"), "t.txt: line 3, column 1: a second row GPU0");
  EXPECT_EQ(error_of(" GPU0\nGPU1 X\n"), "t.txt: line 2, column 1: there is no column GPU1");
}

TEST(NvidiaSmiTopo, ReadsRealMatrices) {
  bool any = false;
  for (const auto& file : shared_files("gpu")) {
    if (!file.ends_with(".txt")) continue;
    any = true;
    const GpuAffinity affinity = must_read_matrix(shared_file(file).value());
    EXPECT_TRUE(affinity.nics_of_gpu.size() == 2 || affinity.nics_of_gpu.size() == 8) << file;
    EXPECT_TRUE(affinity.nics.empty()) << file;
  }
  if (!any) GTEST_SKIP() << "the real matrices gpu/smi_topo_*.txt are not on this machine";
}

TEST(AdapterOrdinal, CountsTheAdaptersOfAMachineFromZero) {
  EXPECT_EQ(adapter_ordinal("mlx5_5"), 5U);
  EXPECT_EQ(adapter_ordinal("HCA-6"), 5U);
  for (const char* name : {"HCA-0", "mlx5_", "mlx5_x", "mlx5_bond_0", "ibp12s0", ""})
    EXPECT_EQ(adapter_ordinal(name), SIZE_MAX) << name;
}

// --- application

void add_host(TopologyBuilder& builder, const std::string& name, std::size_t gpus,
              const std::vector<std::string>& devices) {
  const HostDraft host = builder.host(name);
  for (std::size_t g = 0; g < gpus; ++g) builder.add_gpu(host);
  for (const auto& device : devices) {
    builder.add_hca(
        {.guid = Guid(std::hash<std::string>{}(name + device)), .host = host, .device = device, .description = {}});
  }
}

std::vector<std::string> nics(const Topology& topology, const std::string& host, unsigned gpu) {
  std::vector<std::string> devices;
  for (const auto nic : topology.nics(topology.gpus(topology.find_host(host))[gpu]))
    devices.emplace_back(topology.device(nic));
  return devices;
}

using Names = std::vector<std::string>;

TEST(ApplyAffinity, FindsAdaptersByNameThenByNumber) {
  TopologyBuilder builder;
  add_host(builder, "named", 3, {"mlx5_9", "mlx5_0", "mlx5_2", "mlx5_1"});
  add_host(builder, "numbered", 3, {"HCA-1", "HCA-2", "HCA-3", "HCA-10"});
  add_host(builder, "lacking", 3, {"mlx5_1"});
  add_host(builder, "other-machine", 4, {"mlx5_0"});
  add_host(builder, "unknown", 3, {"ibp1s0"});
  EXPECT_EQ(apply_affinity(must_read_xml(kDump), builder), 3U);
  const Topology topology = built(std::move(builder));
  EXPECT_EQ(nics(topology, "named", 0), (Names{"mlx5_1", "mlx5_2"}));
  EXPECT_EQ(nics(topology, "named", 1), (Names{"mlx5_0"}));
  EXPECT_EQ(nics(topology, "named", 2), (Names{"mlx5_9"}));
  EXPECT_EQ(nics(topology, "numbered", 0), (Names{"HCA-2", "HCA-3"}));
  EXPECT_EQ(nics(topology, "numbered", 1), (Names{"HCA-1"}));
  EXPECT_EQ(nics(topology, "lacking", 0), (Names{"mlx5_1"}));
  EXPECT_EQ(nics(topology, "lacking", 1), (Names{"mlx5_1"}));  // farther, but all there is
  EXPECT_EQ(nics(topology, "other-machine", 0), Names{});
  ASSERT_EQ(findings(topology, "affinityNotApplied").size(), 1U);
  EXPECT_EQ(findings(topology, "affinityNotApplied")[0].objects, Names{"unknown"});
}

TEST(ApplyAffinity, WithoutNamesGoesByPlaceWhereTheCountsAgree) {
  RAILWEAVE_SHARED_FILE_OR_SKIP(text, "gpu/ndv4-topo.xml");
  const GpuAffinity affinity = must_read_xml(text);
  TopologyBuilder builder;
  Names devices;
  for (int i = 11; i > 3; --i) devices.push_back("mlx5_" + std::to_string(i));
  add_host(builder, "eight", 8, devices);
  add_host(builder, "seven", 8, Names(devices.begin(), devices.end() - 1));
  EXPECT_EQ(apply_affinity(affinity, builder), 1U);
  const Topology topology = built(std::move(builder));
  EXPECT_EQ(nics(topology, "eight", 0), (Names{"mlx5_4", "mlx5_5"}));
  EXPECT_EQ(nics(topology, "eight", 7), (Names{"mlx5_11", "mlx5_10"}));
  EXPECT_EQ(nics(topology, "seven", 0), Names{});
}

TEST(ApplyAffinity, KeepsWhatGpusHave) {
  TopologyBuilder builder;
  add_host(builder, "a", 3, {"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_9"});
  add_host(builder, "b", 3, {"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_9"});
  const GpuAffinity affinity = must_read_xml(kDump);
  EXPECT_EQ(apply_affinity(affinity, builder.find_host("a"), builder), 1U);
  EXPECT_EQ(apply_affinity(affinity, builder), 2U);
  const Topology topology = built(std::move(builder));
  EXPECT_EQ(nics(topology, "a", 0), (Names{"mlx5_1", "mlx5_2"}));
  EXPECT_EQ(nics(topology, "b", 0), (Names{"mlx5_1", "mlx5_2"}));
}

}  // namespace
}  // namespace railweave::fabric::gpu_affinity_test
