#include "fabric/formats/format.h"

#include <gtest/gtest.h>

#include "tests/unit/formats/fixtures.h"

namespace railweave::fabric::format_test {
namespace {

TEST(Format, IsRecognisedByTheShapeOfTheText) {
  EXPECT_EQ(detect_format("#\n# Topology file\n\nvendid=0x2c9\nSwitch\t36 \"S-0002c90300000001\"\t\t# \"x\"\n"),
            Format::ibnetdiscover);
  EXPECT_EQ(detect_format("Ca 1 \"H-0002c90300000001\" # \"x\"\r\n"), Format::ibnetdiscover);
  EXPECT_EQ(detect_format("Switch 36 \"S-0002c90300000001\"\n\nHca 1 \"H-0002c90300000001\"\n"), Format::ibsim);
  EXPECT_EQ(detect_format("Switch 36 \"leaf\"\n"), Format::ibsim);
  EXPECT_EQ(detect_format("# ibsim netlist written by Railweave\n\nSwitch 36 \"S-0002c90300000001\"\n"), Format::ibsim);
  EXPECT_EQ(detect_format(" \n{\"railweave\":\"fabric\"}"), Format::native);
  EXPECT_EQ(detect_format("{\"nodes\":[{\"cliqueId\":1}]}"), Format::nvlink_cliques);
  EXPECT_EQ(detect_format("{\"nodes\":[]}"), Format::unknown);
  EXPECT_EQ(detect_format("<system version=\"1\"/>"), Format::nccl_topology);
  EXPECT_EQ(detect_format("<!-- x -->\n<system/>"), Format::nccl_topology);
  EXPECT_EQ(detect_format("\t\x1b[4mGPU0\tGPU1\tCPU Affinity\x1b[0m\nGPU0\t X \n"), Format::nvidia_smi_topo);
  EXPECT_EQ(detect_format("node,clusterUuid,cliqueId\n"), Format::nvlink_cliques);
  EXPECT_EQ(detect_format("# list\nn1 61248eac-4785-4fbf-9cbd-231635e37e9d 20663\n"), Format::nvlink_cliques);
  for (const char* text : {"", "   \n", "hello\nworld", "[1,2]", "Switch"})
    EXPECT_EQ(detect_format(text), Format::unknown) << text;
}

TEST(Format, IsRecognisedForEveryRealFile) {
  const auto files = shared_files("gpu");
  if (files.empty()) GTEST_SKIP() << "the real files gpu/* are not on this machine";
  for (const auto& file : files) {
    const Format format = detect_format(shared_file(file).value());
    const Format expected = file.ends_with(".xml")    ? Format::nccl_topology
                            : file.ends_with(".json") ? Format::nvlink_cliques
                                                      : Format::nvidia_smi_topo;
    EXPECT_EQ(format, expected) << file;
  }
  const auto netlists = shared_files("ibsim");
  ASSERT_FALSE(netlists.empty());
  for (const auto& file : netlists) EXPECT_EQ(detect_format(shared_file(file).value()), Format::ibsim) << file;
}

TEST(Format, NamesAreReadBack) {
  EXPECT_EQ(all_formats().size(), 6U);
  for (const auto format : all_formats()) EXPECT_EQ(parse_format(to_string(format)), format);
  EXPECT_FALSE(parse_format("unknown"));
  EXPECT_FALSE(parse_format(""));
}

// What else infiniband-diags print of a fabric is named, and what to give instead.
TEST(ReadFabric, NamesFormsThatItDoesNotRead) {
  const std::vector<std::pair<std::string, std::string>> forms = {
      {"CA     0  1 0x0000000000100007 4x SDR - SW     0  2 0x0000000000200001 ( 'H-4' - 'S-2' )\n"
       "SW     0  8 0x0000000000200001 4x SDR                                    'S-2'\n",
       "`ibnetdiscover -p`"},
      {"CA: H-4:\n      0x0000000000100007      0    1[  ] ==( 4X           2.5 Gbps Initialize/  LinkUp)==>       0   "
       " 2[  ] "
       "\"S-2\" (Could be 12X Could be 10.0 Gbps)\n",
       "`iblinkinfo`"},
      {"Ca\t: 0x0002c903000e0b72 ports 1 devid 0x673c vendid 0x2c9 \"host HCA-1\"\n", "a list of nodes"},
  };
  for (const auto& [text, name] : forms) {
    const auto read = read_fabric(text, Format::unknown, {.source = "a.txt"});
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, "input.format");
    EXPECT_NE(read.error().message.find(name), std::string::npos) << read.error().text();
    EXPECT_NE(read.error().text().find("the output of ibnetdiscover without options"), std::string::npos)
        << read.error().text();
  }
}

TEST(ReadFabric, SaysWhatItTakes) {
  auto unknown = read_fabric("hello", Format::unknown, {.source = "f"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, "input.format");
  EXPECT_EQ(unknown.error().location, "f: line 1, column 1");
  auto machine = read_fabric("<system/>");
  ASSERT_FALSE(machine);
  EXPECT_EQ(machine.error().code, "input.notAFabric");
}

}  // namespace
}  // namespace railweave::fabric::format_test
