// `railweave lab route`: fields of its report, failures, comparisons, files it writes, and refusals.
#include <filesystem>
#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/railweave/terminal/json.h"
#include "tests/unit/cli/railweave_process.h"

namespace railweave::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

Json routed(std::vector<std::string> arguments, int exit_code = 0) {
  arguments.insert(arguments.begin(), {"lab", "route"});
  arguments.insert(arguments.end(), {"-o", "json"});
  const Finished finished = run_railweave(arguments);
  EXPECT_EQ(finished.exit_code, exit_code) << finished.err;
  const auto parsed = parse_json(finished.out);
  EXPECT_TRUE(parsed) << finished.out.substr(0, 300);
  return parsed.value_or(Json());
}

class LabRoute : public testing::Test {
 protected:
  // Two tiers: 8 leaves of 4 hosts, 4 spines.
  static std::string fabric() {
    static const std::string path = [] {
      std::string file = scratch_path("tree.json");
      const Finished made =
          run_railweave({"lab", "generate", "fat-tree", "--radix", "8", "--hosts", "32", "--nics-per-host", "1",
                         "--uplinks", "4", "--down-ports", "4", "-O", file, "-o", "json"});
      EXPECT_EQ(made.exit_code, 0) << made.err;
      return file;
    }();
    return path;
  }
  static std::string a_link() { return routed({fabric(), "--fail-random", "1", "--seed", "3"})["failedLinks"][0]; }
};

TEST_F(LabRoute, AnswersAllThatTheContractNames) {
  const Json answer = routed({fabric()});
  for (const char* name : {"switches", "endPorts", "unreachablePairs", "creditLoops", "lanesUsed", "maxLinkLoad",
                           "maxLinkLoadHosts", "changedEntries", "changedBlocks"}) {
    EXPECT_TRUE(answer[name].is_number_unsigned()) << name;
  }
  for (const char* name : {"routeMs", "rerouteMs", "auditMs", "peakMiB"}) EXPECT_TRUE(answer[name].is_number()) << name;
  EXPECT_TRUE(answer["findings"].is_array());
  EXPECT_EQ(answer["engine"], "fat-tree");
  EXPECT_THAT(answer["engineReason"].get<std::string>(), HasSubstr("2 tiers"));
  EXPECT_EQ(answer["switches"], 12);
  EXPECT_EQ(answer["endPorts"], 32);
  EXPECT_EQ(answer["unreachablePairs"], 0);
  EXPECT_EQ(answer["creditLoops"], 0);
  EXPECT_EQ(answer["lanesUsed"], 1);
  EXPECT_EQ(answer["maxLinkLoadHosts"], 28) << "4 hosts to 28 over 4 uplinks";
  EXPECT_EQ(answer["changedEntries"], 0);
  EXPECT_TRUE(answer["maxLinkHosts"]["port"].is_string());
  EXPECT_GT(answer["peakMiB"].get<double>(), 1);
}

TEST_F(LabRoute, ComparesEnginesOnTheFabricWithItsFailures) {
  const std::string link = a_link();
  const Json answer = routed({fabric(), "--fail", link, "--compare"});
  std::map<std::string, Json> of;
  for (const Json& one : answer["engines"]) of[one["engine"]] = one;
  EXPECT_EQ(of.size(), 5U);
  for (const char* name : {"fat-tree", "up-down", "layered"}) {  // each as alone
    const Json alone = routed({fabric(), "--fail", link, "--engine", name});
    EXPECT_EQ(of[name]["maxLinkLoadHosts"], alone["maxLinkLoadHosts"]) << name;
    EXPECT_EQ(of[name]["nonminimalPairs"], alone["nonminimalPairs"]) << name;
    EXPECT_EQ(of[name]["lanes"], alone["lanesUsed"]) << name;
    EXPECT_EQ(of[name]["creditLoops"], 0) << name;
    EXPECT_EQ(of[name]["taken"], name == std::string("fat-tree")) << name;
    EXPECT_EQ(of[name]["incremental"], name != std::string("layered")) << name;
  }
  EXPECT_TRUE(of["torus-3d"]["refused"].is_string()) << of["torus-3d"].dump();
  EXPECT_FALSE(routed({fabric()}).contains("engines"));
  const Finished shown = run_railweave({"lab", "route", fabric(), "--compare"});
  EXPECT_THAT(shown.out, AllOf(HasSubstr("FULLEST LINK"), HasSubstr("fat-tree (auto)"), HasSubstr("refused: ")));
}

TEST_F(LabRoute, EveryEngineThatIsOfferedRoutesATree) {
  const Finished offered = run_railweave({"__complete", "lab", "route", fabric(), "--engine", ""});
  for (const char* engine : {"auto", "fat-tree", "up-down", "layered"}) {
    EXPECT_THAT(offered.out, HasSubstr(std::string(engine) + "\t"));
    const Json answer = routed({fabric(), "--engine", engine});
    EXPECT_EQ(answer["unreachablePairs"], 0) << engine;
    EXPECT_EQ(answer["creditLoops"], 0) << engine;
    EXPECT_EQ(answer["engine"], engine == std::string("auto") ? "fat-tree" : engine);
  }
}

TEST_F(LabRoute, AFailedLinkChangesLittleAndLeavesTheRestVerified) {
  const Json answer = routed({fabric(), "--fail", a_link()});
  EXPECT_EQ(answer["failedLinks"].size(), 1U);
  EXPECT_EQ(answer["unreachablePairs"], 0);
  EXPECT_EQ(answer["creditLoops"], 0);
  EXPECT_TRUE(answer["incremental"].get<bool>());
  // 7 destinations of the leaf's own up the dead cable, and at most its 4 hosts from each other leaf and the spine.
  EXPECT_GE(answer["changedEntries"], 8);
  EXPECT_LE(answer["changedEntries"], 7 + 4 * 8);
  EXPECT_GE(answer["changedBlocks"], 2);
  EXPECT_LE(answer["changedBlocks"], 12);
  EXPECT_EQ(answer["healthy"]["maxLinkLoadHosts"], 28);
  EXPECT_GT(answer["maxLinkLoadHosts"], 28);
}

TEST_F(LabRoute, NamesOfFailures) {
  const std::string link = a_link();
  const std::string port = link.substr(0, link.find("--"));
  const std::string sw = port.substr(0, port.find('/'));
  EXPECT_EQ(routed({fabric(), "--fail", port})["failedLinks"], Json::array({link}));
  EXPECT_EQ(routed({fabric(), "--fail", port, "--fail", link})["failedLinks"].size(), 1U) << "the same link twice";
  const Json without_switch = routed({fabric(), "--fail", sw});
  EXPECT_GE(without_switch["failedLinks"].size(), 4U);
  const Finished unknown = run_railweave({"lab", "route", fabric(), "--fail", "spine-99/1"});
  EXPECT_EQ(unknown.exit_code, 4);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("spine-99/1"), HasSubstr("GUID/PORT")));
}

TEST_F(LabRoute, CutOffHostsAreCountedAndNamed) {
  const Json healthy = routed({fabric()});
  const std::string leaf = healthy["maxLinkHosts"]["from"].get<std::string>().starts_with("leaf")
                               ? healthy["maxLinkHosts"]["from"]
                               : healthy["maxLinkHosts"]["to"];
  const Json answer = routed({fabric(), "--fail", leaf});
  EXPECT_EQ(answer["unreachablePairs"], 4 * 28 * 2 + 4 * 3) << "its cables to hosts are down, too";
  EXPECT_EQ(answer["cutOffPairs"], answer["unreachablePairs"]);
  EXPECT_EQ(answer["creditLoops"], 0);
  ASSERT_EQ(answer["findings"].size(), 1U);
  EXPECT_EQ(answer["findings"][0]["code"], "cutOff");
  EXPECT_FALSE(answer["findings"][0]["objects"].empty());
}

TEST_F(LabRoute, RandomFailuresAreDrawnBySeed) {
  const auto drawn = [](const std::string& amount, const std::string& seed) {
    return routed({fabric(), "--fail-random", amount, "--seed", seed})["failedLinks"];
  };
  EXPECT_EQ(drawn("5", "7"), drawn("5", "7"));
  EXPECT_NE(drawn("5", "7"), drawn("5", "8"));
  EXPECT_EQ(drawn("5", "7").size(), 5U);
  EXPECT_EQ(drawn("25%", "1").size(), 8U) << "of 32 links between switches";
  EXPECT_EQ(drawn("0.1%", "1").size(), 1U) << "not none";
  EXPECT_EQ(drawn("0", "1").size(), 0U);
  for (const char* bad : {"-1", "1.5", "101%", "x", "%", "1%%", "1e1%", "nan%", ""}) {
    const Finished refused = run_railweave({"lab", "route", fabric(), std::string("--fail-random=") + bad});
    EXPECT_EQ(refused.exit_code, 2) << "'" << bad << "' " << refused.err;
    EXPECT_EQ(refused.out, "") << bad;
  }
  EXPECT_EQ(run_railweave({"lab", "route", fabric(), "--fail-random", "33"}).exit_code, 8);
}

TEST_F(LabRoute, WhatItWritesItReadsBack) {
  const std::string fdbs = scratch_path("opensm.fdbs"), subnet = scratch_path("opensm-subnet.lst");
  routed({fabric(), "--write-fdbs", fdbs, "--write-subnet", subnet});
  EXPECT_THAT(content_of(fdbs), AllOf(HasSubstr("Switch 0x"), HasSubstr("0x0009 : 001  : 01   : yes")));
  EXPECT_THAT(content_of(subnet), HasSubstr("{ SW Ports:"));
  const Json same = routed({fabric(), "--against", fdbs, "--against-subnet", subnet})["against"];
  EXPECT_EQ(same["differingEntries"], 0);
  EXPECT_EQ(same["entries"], 12 * 32);
  EXPECT_EQ(same["maxLinkLoadHosts"], 28);
  EXPECT_EQ(same["unreachablePairs"], 0);
  // One entry corrupted: exactly that is found, and what it breaks.
  std::string text = content_of(fdbs);
  const auto line = text.find(" : 005  : ");
  ASSERT_NE(line, std::string::npos);
  text.replace(line, 10, " : 001  : ");
  const Json other = routed({fabric(), "--against", scratch_file("corrupt.fdbs", text)})["against"];
  EXPECT_EQ(other["differingEntries"], 1);
  EXPECT_GE(other["unreachablePairs"], 1);
  const Finished garbage = run_railweave({"lab", "route", fabric(), "--against", scratch_file("no.fdbs", "hello\n")});
  EXPECT_EQ(garbage.exit_code, 8);
  EXPECT_THAT(garbage.err, AllOf(HasSubstr("no.fdbs"), HasSubstr("opensm-lfts.dump")));
}

TEST_F(LabRoute, MoreLidsPerPort) {
  const Json answer = routed({fabric(), "--lmc", "2", "--fail-random", "2"});
  EXPECT_EQ(answer["endPorts"], 32);
  EXPECT_EQ(answer["destinations"], 128);
  EXPECT_EQ(answer["unreachablePairs"], 0);
  EXPECT_EQ(answer["creditLoops"], 0);
  EXPECT_EQ(run_railweave({"lab", "route", fabric(), "--lmc", "8"}).exit_code, 2);
}

TEST_F(LabRoute, PrintsForPeople) {
  const Finished table = run_railweave({"lab", "route", fabric(), "--fail-random", "1"});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, AllOf(StartsWith("Engine:"), HasSubstr("Pairs unreachable:  0"), HasSubstr("Credit loops:"),
                               HasSubstr("Fullest link:"), HasSubstr("Changed:"), HasSubstr("blocks of 64")));
  const Finished wide = run_railweave({"lab", "route", fabric(), "-o", "wide"});
  EXPECT_THAT(wide.out, AllOf(HasSubstr("Longest route:"), HasSubstr("Tables:")));
  const Finished yaml = run_railweave({"lab", "route", fabric(), "-o", "yaml"});
  EXPECT_THAT(yaml.out, HasSubstr("maxLinkLoadHosts: 28"));
}

TEST_F(LabRoute, RefusesWhatMakesNoSense) {
  const Finished engine = run_railweave({"lab", "route", fabric(), "--engine", "magic"});
  EXPECT_EQ(engine.exit_code, 2);
  EXPECT_THAT(engine.err, HasSubstr("fat-tree"));
  EXPECT_EQ(run_railweave({"lab", "route", fabric(), "--against-subnet", fabric()}).exit_code, 2);
  EXPECT_EQ(run_railweave({"lab", "route", fabric(), "--write-fdbs", "-"}).exit_code, 2);
  EXPECT_EQ(run_railweave({"lab", "route", fabric(), "--against", scratch_path("absent")}).exit_code, 4);
  EXPECT_EQ(run_railweave({"lab", "route", scratch_path("absent")}).exit_code, 4);
  EXPECT_EQ(run_railweave({"lab", "route", scratch_file("empty", "")}).exit_code, 8);
}

TEST_F(LabRoute, MultipathSpreadsOverAllNearestLinks) {
  EXPECT_TRUE(routed({fabric()})["multipath"].is_null());
  const Json spread = routed({fabric(), "--multipath"})["multipath"];
  EXPECT_EQ(spread["sound"], true);
  EXPECT_EQ(spread["mostMembers"], 4);
  // 4 hosts of a leaf send to the 28 of the others, over 4 uplinks.
  EXPECT_DOUBLE_EQ(spread["maxLinkLoadHosts"].get<double>(), 4 * 28 / 4.0);
  // 4 flows on 4 links: the mean of the fullest is 544/256 by counting all 256 assignments.
  EXPECT_NEAR(spread["collisionFactor"].get<double>(), 544.0 / 256, 1e-9);
  const Finished refused = run_railweave({"lab", "route", fabric(), "--engine", "layered", "--multipath"});
  EXPECT_EQ(refused.exit_code, 7) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("proves one path per pair"));
}

TEST(LabRouteReal, EveryRealFileIsRoutedAndVerified) {
  int files = 0;
  for (const char* folder : {"ib", "ibsim"}) {
    const std::string path = shared_data(folder);
    if (path.empty()) GTEST_SKIP() << "skipped: " << folder << " is absent from " << RAILWEAVE_SHARED_DATA;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      const Json answer = routed({entry.path().string()});
      EXPECT_EQ(answer["unreachablePairs"], 0) << entry.path();
      EXPECT_EQ(answer["creditLoops"], 0) << entry.path();
      ++files;
    }
  }
  EXPECT_GE(files, 16);
}

// Two leaves without a cable between them, in one subnet: no table can help, and no number may hide it.
TEST_F(LabRoute, PairsInDifferentPartsOfASubnetAreUnreachable) {
  std::string dump;
  for (const char* island : {"1", "2"}) {
    const std::string leaf = "S-000000000000000" + std::string(island);
    dump += "Switch 4 \"" + leaf + "\" # \"leaf-" + island + "\" enhanced port 0 lid " + island + " lmc 0\n";
    std::string adapters;
    for (const char* port : {"1", "2", "3"}) {
      const std::string guid = std::string("0000000000000") + island + "0" + port, lid = std::string(island) + port;
      dump += "[" + std::string(port) + "] \"H-" + guid + "\"[1](" + guid + ") # \"n" + lid + " mlx5_0\" lid " + lid +
              " 4xNDR\n";
      adapters += "Ca 1 \"H-" + guid + "\" # \"n" + lid + " mlx5_0\"\n[1](" + guid + ") \"" + leaf + "\"[" + port +
                  "] # lid " + lid + " lmc 0 \"leaf-" + island + "\" lid " + island + " 4xNDR\n";
    }
    dump += adapters;
  }
  const std::string file = scratch_file("torn.ibnetdiscover", dump);
  const Json answer = routed({file}, 10);
  EXPECT_EQ(answer["unreachablePairs"], 18) << "3 x 3 pairs in each direction";
  std::size_t torn = 0;
  for (const Json& finding : answer["findings"]) torn += finding["code"] == "subnetTorn" ? 1 : 0;
  EXPECT_EQ(torn, 1U) << answer["findings"].dump();
  EXPECT_EQ(routed({fabric()})["unreachablePairs"], 0);
}

}  // namespace
}  // namespace railweave::cli
