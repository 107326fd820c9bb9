// Whatever the bytes, a reader returns a fabric or an error that says where: cut off at every byte, damaged at random.
#include <functional>
#include <random>

#include "fabric/formats/gpu/attach_gpus.h"
#include "fabric/formats/gpu/nccl_topology.h"
#include "fabric/formats/gpu/nvidia_smi_topo.h"
#include "fabric/formats/gpu/nvlink_cliques.h"
#include "fabric/formats/infiniband/ibsim.h"
#include "fabric/formats/native/native_json.h"
#include "tests/unit/formats/fixtures.h"

namespace railweave::fabric::hostile_input_test {
namespace {

constexpr std::string_view kDump = R"(vendid=0x2c9
switchguid=0x1(1)
Switch	2 "S-0000000000000001"		# "MF0;leaf-1:MQM9701/U1" enhanced port 0 lid 11 lmc 0
[1]	"H-0000000000000a01"[1](a01) 		# "node-1 mlx5_0" lid 21 4xNDR
[2]	"S-0000000000000003"[1]		# "spine" lid 13 4xNDR

Ca	1 "H-0000000000000a01"		# "node-1 mlx5_0"
[1](a01) 	"S-0000000000000001"[1]		# lid 21 lmc 0 "MF0;leaf-1:MQM9701/U1" lid 11 4xNDR
)";
constexpr std::string_view kNetlist =
    "width=2\nSwitch 2 \"s\"\n[1] \"h\"[1] w=2 s=4\n\ncaguid=0x10\nHca 1 \"h\" # \"a b\" lid 3\n[1] \"s\"[1]\n";
constexpr std::string_view kNative =
    R"({"railweave":"fabric","version":1,"racks":["A"],"switches":[{"guid":"1","ports":2,"rack":"A"}],"hosts":[{"name":"n","adapters":)"
    R"([{"guid":"2","ports":[{"lid":4}]}],"gpus":[{"nics":[0]}]}],"linkSpecs":[{"speed":"NDR","width":4}],"links":[[0,1,1,1,0]]})";
constexpr std::string_view kXml =
    R"(<system version="1"><cpu numaid="0"><pci busid="0000:10:00.0" class="0x060400">)"
    R"(<pci busid="0000:11:00.0" class="0x030200"><gpu dev="0"/></pci>)"
    R"(<pci busid="0000:12:00.0" class="0x020700"><nic><net name="mlx5_0"/></nic></pci></pci></cpu></system>)";
constexpr std::string_view kMatrix =
    "\tGPU0\tNIC0\tCPU Affinity\nGPU0\t X\tPIX\t0-7\nNIC0\tPIX\t X\n\nNIC Legend:\n  NIC0: mlx5_0\n";
constexpr std::string_view kCliques =
    R"({"nodes":[{"name":"n","instance":"GB200","labels":{"nvidia.com/gpu.clique":"61248eac-4785-4fbf-9cbd-231635e37e9d.20663"}}]})";
constexpr std::string_view kTable =
    "node,clusterUuid,cliqueId,platform\nn,61248eac-4785-4fbf-9cbd-231635e37e9d,20663,GB200\n";

// Reads with one reader; the outcome has to make sense.
void read_with(Format format, std::string_view text) {
  Error error;
  if (format == Format::nccl_topology) {
    if (auto affinity = read_nccl_topology(text, {.source = "f"}); !affinity) error = affinity.error();
  } else if (format == Format::nvidia_smi_topo) {
    if (auto affinity = read_nvidia_smi_topo(text, {.source = "f"}); !affinity) error = affinity.error();
  } else if (format == Format::nvlink_cliques) {
    TopologyBuilder builder;
    builder.host("n");
    ASSERT_TRUE(attach_gpus(builder, {}));
    if (auto read = read_nvlink_cliques(text, {.read = {.source = "f"}, .platform = {}}, builder); !read) {
      error = read.error();
    } else {
      ASSERT_TRUE(std::move(builder).build());
    }
  } else {
    auto topology = read_fabric(text, format, {.source = "f"});
    if (topology) {
      // What was read can be written and read again: nothing half-valid gets through.
      const std::string written = write_native_json(*topology);
      auto again = read_fabric(written, Format::native);
      ASSERT_TRUE(again) << again.error().text();
      ASSERT_EQ(write_native_json(*again), written);
      return;
    }
    error = topology.error();
    if (error.code == "fabric.empty") return;
  }
  if (error.message.empty()) return;
  EXPECT_TRUE(error.location.starts_with("f: line ")) << error.text();
  EXPECT_NE(error.kind, ErrorKind::internal);
}

const std::vector<std::pair<Format, std::string_view>> kSmallFiles{
    {Format::ibnetdiscover, kDump},  {Format::ibsim, kNetlist},          {Format::native, kNative},
    {Format::nccl_topology, kXml},   {Format::nvidia_smi_topo, kMatrix}, {Format::nvlink_cliques, kCliques},
    {Format::nvlink_cliques, kTable}};

TEST(HostileInput, SmallFilesCutOffAtEveryByte) {
  for (const auto& [format, text] : kSmallFiles) {
    for (std::size_t length = 0; length <= text.size(); ++length) {
      SCOPED_TRACE(std::string(to_string(format)) + " " + std::to_string(length));
      read_with(format, text.substr(0, length));
      detect_format(text.substr(0, length));
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(HostileInput, SmallFilesDamagedAtRandom) {
  for (const auto& [format, original] : kSmallFiles) {
    for (unsigned seed = 0; seed < 1500; ++seed) {
      SCOPED_TRACE(std::string(to_string(format)) + " " + std::to_string(seed));
      std::mt19937 random(seed);
      std::string text(original);
      for (unsigned n = 1 + random() % 4; n > 0; --n) {
        const std::size_t at = random() % (text.size() + 1);
        switch (random() % 4) {
          case 0:
            text.insert(at, 1, static_cast<char>(random()));
            break;
          case 1:
            text.erase(at, 1 + random() % 8);
            break;
          case 2:
            text.insert(at, text.substr(random() % (text.size() + 1), random() % 64));
            break;
          default:
            if (at < text.size()) text[at] = static_cast<char>(random());
        }
      }
      read_with(format, text);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(HostileInput, RealFilesCutOffAnywhere) {
  auto files = shared_files("ib");
  for (const auto* folder : {"ibsim", "gpu"}) {
    for (const auto& file : shared_files(folder)) files.push_back(file);
  }
  if (files.empty()) GTEST_SKIP() << "the real files ib/*, ibsim/* and gpu/* are not on this machine";
  std::mt19937 random(5);
  for (const auto& file : files) {
    const std::string text = shared_file(file).value();
    const Format format = detect_format(text);
    for (int i = 0; i < 8; ++i) {
      const std::size_t length = random() % (text.size() + 1);
      SCOPED_TRACE(file + " " + std::to_string(length));
      read_with(format, std::string_view(text).substr(0, length));
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(HostileInput, ATruncatedRealDumpKeepsWhatIsThere) {
  RAILWEAVE_SHARED_FILE_OR_SKIP(text, "ib/dgx-h100-ndr.ibnetdiscover.txt");
  // All switches, hardly any adapter: the switches' lines name them all.
  const Topology topology = must_read(std::string_view(text).substr(0, text.find("\nCa\t") + 10));
  const Counts counts = count(topology);
  EXPECT_EQ(counts.switches, 40U);
  EXPECT_EQ(counts.hosts, 194U);
  EXPECT_EQ(counts.host_ports, 542U);
  EXPECT_EQ(counts.inter_switch_links, 532U);
  EXPECT_EQ(findings(topology, "deviceWithoutSection").size(), 1U);
  EXPECT_EQ(findings(topology, "danglingLink").size(), 0U);
}

TEST(HostileInput, BinaryAndOddTextsAreRefused) {
  std::mt19937 random(9);
  std::vector<std::string> texts{std::string(100'000, '\0'),
                                 std::string(100'000, '['),
                                 std::string(100'000, '{'),
                                 std::string(100'000, '"'),
                                 std::string(100'000, '\n'),
                                 std::string(100'000, '<'),
                                 "\x7f"
                                 "ELF\x02\x01"};
  std::string noise;
  for (int i = 0; i < 200'000; ++i) noise += static_cast<char>(random());
  texts.push_back(noise);
  for (const auto& text : texts) {
    for (const auto format : all_formats()) read_with(format, text);
    EXPECT_FALSE(read_fabric(text));
  }
}

}  // namespace
}  // namespace railweave::fabric::hostile_input_test
