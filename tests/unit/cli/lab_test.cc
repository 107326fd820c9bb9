// `railweave lab` on real dumps, on generated fabrics, and on invalid files.
#include <filesystem>
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/railweave/terminal/json.h"
#include "tests/unit/cli/railweave_process.h"

namespace railweave::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

#define NEEDS(variable, path)                     \
  const std::string variable = shared_data(path); \
  if (variable.empty()) GTEST_SKIP() << "skipped: " << (path) << " is absent from " << RAILWEAVE_SHARED_DATA

Json document(const std::vector<std::string>& arguments, int exit_code = 0) {
  const Finished finished = run_railweave(arguments);
  EXPECT_EQ(finished.exit_code, exit_code) << finished.err;
  const auto parsed = parse_json(finished.out);
  EXPECT_TRUE(parsed) << finished.out.substr(0, 300);
  return parsed.value_or(Json());
}

TEST(LabFabric, CountsTheDgxDump) {
  NEEDS(file, "ib/dgx-h100-ndr.ibnetdiscover.txt");
  const Json fabric = document({"lab", "fabric", file, "-o", "json"});
  EXPECT_EQ(fabric["switches"], 40);
  EXPECT_EQ(fabric["leaves"], 31);
  EXPECT_EQ(fabric["hostPorts"], 542);
  EXPECT_EQ(fabric["aggregationNodes"], 40);
  EXPECT_EQ(fabric["interSwitchLinks"], 532);
  EXPECT_EQ(fabric["components"], 1);
  EXPECT_EQ(fabric["rails"], 4);
  EXPECT_EQ(fabric["hostsShortOfRail"], 10);
  EXPECT_TRUE(fabric["tiers"].is_number_unsigned());
  EXPECT_TRUE(fabric["hosts"].is_number_unsigned());
  EXPECT_TRUE(fabric["readMs"].is_number());
  std::set<std::string> short_of_rail;
  for (const auto& finding : fabric["findings"]) {
    EXPECT_TRUE(finding["code"].is_string());
    EXPECT_THAT(finding["severity"].get<std::string>(), testing::AnyOf("info", "warning", "error"));
    EXPECT_TRUE(finding["objects"].is_array());
    if (finding["code"] == "hostShortOfRail") {
      for (const auto& object : finding["objects"]) short_of_rail.insert(object.get<std::string>());
    }
  }
  EXPECT_GE(short_of_rail.size(), 10U);
}

TEST(LabFabric, CountsTheOtherDumps) {
  NEEDS(selene, "ib/selene.storage.txt");
  NEEDS(tree, "ib/k-4-n-3-full.ibnetdiscover.txt");
  const Json storage = document({"lab", "fabric", selene, "-o", "json"});
  EXPECT_EQ(storage["switches"], 160);
  EXPECT_EQ(storage["leaves"], 60);
  EXPECT_EQ(storage["hostPorts"], 1247);
  EXPECT_EQ(storage["interSwitchLinks"], 2039);
  EXPECT_EQ(storage["components"], 1);
  const Json full = document({"lab", "fabric", tree, "-o", "json"});
  EXPECT_EQ(full["switches"], 80);
  EXPECT_EQ(full["hostPorts"], 128);
}

TEST(LabFabric, ReadsEveryRealFile) {
  int files = 0;
  for (const char* folder : {"ib", "ibsim"}) {
    NEEDS(path, folder);
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      const Finished finished = run_railweave({"lab", "fabric", entry.path().string()});
      EXPECT_EQ(finished.exit_code, 0) << entry.path() << "\n" << finished.err;
      EXPECT_THAT(finished.out, AllOf(StartsWith("Hosts:"), HasSubstr(" warning")));
      ++files;
    }
  }
  EXPECT_GE(files, 16);
}

TEST(LabFabric, FailOnMakesFindingsAnExitCode) {
  NEEDS(file, "ib/dgx-h100-ndr.ibnetdiscover.txt");
  EXPECT_EQ(run_railweave({"lab", "fabric", file, "--fail-on", "warning"}).exit_code, 10);
  EXPECT_EQ(run_railweave({"lab", "fabric", file, "--fail-on", "never"}).exit_code, 0);
}

TEST(LabPlace, PlacesOnTheDgxDump) {
  NEEDS(file, "ib/dgx-h100-ndr.ibnetdiscover.txt");
  const Json answer = document({"lab", "place", file, "--gpus-per-node", "8", "--nvlink-domain", "8", "--tp", "8",
                                "--pp", "2", "--dp", "3", "-o", "json"});
  EXPECT_EQ(answer["outcome"], "placed");
  EXPECT_EQ(answer["reason"], "");
  EXPECT_EQ(answer["domainsUsed"], 6);
  EXPECT_TRUE(answer["level"].is_string());
  EXPECT_TRUE(answer["placeUs"].is_number());
  ASSERT_EQ(answer["ranks"].size(), 48U);
  std::set<std::string> places;
  for (std::size_t i = 0; i < 48; ++i) {
    const Json& rank = answer["ranks"][i];
    EXPECT_EQ(rank["rank"], i);
    EXPECT_EQ(rank["tp"], i % 8);
    EXPECT_EQ(rank["dp"], i / 8 % 3);
    EXPECT_EQ(rank["pp"], i / 24);
    EXPECT_TRUE(rank["nics"].is_array());
    places.insert(rank["node"].get<std::string>() + "/" + rank["gpu"].dump());
    EXPECT_EQ(rank["node"], answer["ranks"][i - i % 8]["node"]) << "a tensor group stays in its NVLink domain";
  }
  EXPECT_EQ(places.size(), 48U) << "one rank per GPU";
}

class LabOnADemoFabric : public testing::Test {
 protected:
  static std::string fabric() {
    static const std::string path = [] {
      std::string file = scratch_path("demo-hgx.json");
      EXPECT_EQ(run_railweave({"lab", "generate", "rail-optimized", "--hosts", "16", "-O", file}).exit_code, 0);
      return file;
    }();
    return path;
  }
};

TEST_F(LabOnADemoFabric, GenerateIsDeterministicAndReadsBack) {
  const std::string again = scratch_path("again.json");
  const Finished generated =
      run_railweave({"lab", "generate", "rail-optimized", "--hosts", "16", "-O", again, "-o", "json"});
  EXPECT_EQ(Json::parse(generated.out)["gpus"], 128);
  std::ifstream first(fabric());
  std::ifstream second(again);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(first), {}),
            std::string(std::istreambuf_iterator<char>(second), {}));
  const Json read = document({"lab", "fabric", fabric(), "-o", "json"});
  EXPECT_EQ(read["hosts"], 16);
  EXPECT_EQ(read["gpus"], 128);
  EXPECT_EQ(read["rails"], 8);
}

TEST_F(LabOnADemoFabric, PlacementsAreTablesAndRefusalsAreExplained) {
  const Finished placed = run_railweave({"lab", "place", fabric(), "--tp", "8", "--dp", "2"});
  EXPECT_EQ(placed.exit_code, 0) << placed.err;
  EXPECT_THAT(placed.out,
              AllOf(StartsWith("Outcome:"), HasSubstr("RANK  NODE"), HasSubstr("NIC"), HasSubstr("RAIL  TP  PP  DP")));
  const Finished never = run_railweave({"lab", "place", fabric(), "--tp", "16"});
  EXPECT_EQ(never.exit_code, 7);
  EXPECT_THAT(never.out, HasSubstr("can never be placed"));
  const Json answer = document({"lab", "place", fabric(), "--gpus", "1000", "-o", "json"}, 7);
  EXPECT_EQ(answer["outcome"], "never");
  EXPECT_NE(answer["reason"], "");
  EXPECT_TRUE(answer["ranks"].empty());
}

TEST_F(LabOnADemoFabric, AbsurdJobsAreRefusedBeforeTheFabricIsRead) {
  const Finished huge = run_railweave({"lab", "place", scratch_path("absent"), "--gpus", "1000000000000"});
  EXPECT_EQ(huge.exit_code, 8) << huge.err;
  const Finished zero = run_railweave({"lab", "place", fabric(), "--tp", "0"});
  EXPECT_EQ(zero.exit_code, 8);
  EXPECT_THAT(zero.err, HasSubstr("/parallelism/tensor"));
  EXPECT_EQ(run_railweave({"lab", "place", fabric(), "--gpus", "8", "--require", "job=galaxy"}).exit_code, 8);
}

TEST_F(LabOnADemoFabric, ConvertKeepsTheNetwork) {
  const std::string netlist = scratch_path("demo.net");
  EXPECT_EQ(run_railweave({"lab", "convert", fabric(), "--to", "ibsim", "-O", netlist}).exit_code, 0);
  const Json before = document({"lab", "fabric", fabric(), "-o", "json"});
  const Json after = document({"lab", "fabric", netlist, "-o", "json"});
  for (const char* name :
       {"switches", "leaves", "hosts", "hostPorts", "interSwitchLinks", "components", "tiers", "rails"}) {
    EXPECT_EQ(before[name], after[name]) << name;
  }
}

TEST_F(LabOnADemoFabric, AFileIsWrittenWholeOrNotAtAll) {
  EXPECT_EQ(run_railweave({"lab", "convert", fabric(), "-O", "/"}).exit_code, 8);
  EXPECT_EQ(run_railweave({"lab", "convert", fabric(), "-O", scratch_path("no/such/folder.json")}).exit_code, 8);
  const std::string kept = scratch_file("kept.json", "precious");
  EXPECT_EQ(run_railweave({"lab", "convert", scratch_path("absent"), "-O", kept}).exit_code, 4);
  std::ifstream file(kept);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "precious");
}

TEST(LabGenerate, SaysWhichParameterIsWrong) {
  const Finished bad = run_railweave({"lab", "generate", "fat-tree", "--radix", "many"});
  EXPECT_EQ(bad.exit_code, 8);
  EXPECT_THAT(bad.err, HasSubstr("radix"));
  EXPECT_EQ(run_railweave({"lab", "generate", "torus", "--x", "1000", "--y", "1000", "--z", "1000"}).exit_code,
            7);  // no such fabric
  EXPECT_EQ(bad.out, "");
}

TEST(LabGenerate, EveryKindWritesAFabricThatReadsBack) {
  for (const char* kind :
       {"fat-tree", "rail-optimized", "rail-only", "dragonfly", "dragonfly-plus", "torus", "demo-hgx", "demo-nvl72"}) {
    const Finished generated = run_railweave({"lab", "generate", kind});
    ASSERT_EQ(generated.exit_code, 0) << kind << generated.err;
    const Finished read = run_railweave({"lab", "fabric", "-", "-o", "json"}, {.input = generated.out});
    EXPECT_EQ(read.exit_code, 0) << kind << read.err;
  }
}

TEST(LabBadInput, IsRefusedWithALineAndACode) {
  struct Case {
    const char* name;
    std::string content;
  };
  std::string rubbish;
  unsigned state = 3;
  for (int i = 0; i < 100'000; ++i) {
    state = state * 1664525U + 1013904223U;
    rubbish += static_cast<char>(state >> 24U);
  }
  const std::vector<Case> cases{{"empty", ""},
                                {"blank", " \n\n"},
                                {"prose", "hello\nworld\n"},
                                {"binary", rubbish},
                                {"truncated.json", R"({"format":"railweave-fabric","version":1,"swit)"},
                                {"deep.json", std::string(100'000, '[')},
                                {"nul", std::string(1000, '\0')},
                                {"steering", "\x1b[2J\x1b]0;owned\x07 Switch\n"},
                                {"long-line", std::string(5'000'000, 'x')}};
  for (const auto& [name, content] : cases) {
    const Finished finished = run_railweave({"lab", "fabric", scratch_file(name, content)});
    EXPECT_EQ(finished.exit_code, 8) << name << "\n" << finished.err;
    EXPECT_EQ(finished.out, "") << name;
    EXPECT_THAT(finished.err, StartsWith("railweave: ")) << name;
    EXPECT_EQ(std::ranges::count(finished.err, '\n'), 1) << name;
    for (const char c : finished.err)
      ASSERT_TRUE(c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f)) << name;
  }
  EXPECT_EQ(run_railweave({"lab", "fabric", "/"}).exit_code, 8);
  EXPECT_EQ(run_railweave({"lab", "fabric", "/dev/zero"}).exit_code, 8);
  EXPECT_EQ(run_railweave({"lab", "fabric", scratch_path("absent\x1b[31m")}).exit_code, 4);
}

TEST(LabBadInput, TruncatedRealDumpsNeverCrash) {
  NEEDS(file, "ib/psmn-x5.ibnetdiscover.txt");
  std::ifstream stream(file);
  const std::string whole(std::istreambuf_iterator<char>(stream), {});
  for (std::size_t part = 1; part < 12; ++part) {
    const Finished finished =
        run_railweave({"lab", "fabric", "-"}, {.input = whole.substr(0, whole.size() * part / 12)});
    EXPECT_TRUE(finished.exit_code == 0 || finished.exit_code == 8) << finished.exit_code << finished.err;
  }
}

TEST(LabBadInput, NamesWithControlCharactersAreShownEscaped) {
  const std::string dump =
      "Switch\t4 \"S-0000000000000001\"\t\t# \"leaf\x1b[31m\" base port 0 lid 1 lmc 0\n"
      "[1]\t\"H-0000000000000002\"[1](3) \t\t# \"node\x9b-1 mlx5_0\" lid 2 4xNDR\n\n"
      "Ca\t1 \"H-0000000000000002\"\t\t# \"node\x9b-1 mlx5_0\"\n"
      "[1](3) \t\"S-0000000000000001\"[1]\t\t# lid 2 lmc 0 \"leaf\x1b[31m\" lid 1 4xNDR\n";
  const std::string file = scratch_file("steering.txt", dump);
  for (const char* format : {"wide", "json", "yaml"}) {
    const Finished finished = run_railweave({"lab", "fabric", file, "-o", format});
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    for (const char c : finished.out) {
      ASSERT_TRUE(c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f)) << format;
    }
  }
}

}  // namespace
}  // namespace railweave::cli
