// `railweave lab flows` and `railweave lab qos`: rates computed by hand, guarantees met and not met, adversarial traffic,
// heat maps and refusals.
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/railweave/terminal/json.h"
#include "tests/unit/cli/railweave_process.h"

namespace railweave::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class LabFlows : public testing::Test {
 protected:
  // Two tiers: 8 leaves of 4 hosts, 4 spines; 400 Gb/s throughout; a GPU and an adapter per host.
  static std::string fabric() {
    static const std::string path = [] {
      std::string file = scratch_path("flows-tree.json");
      const Finished made = run_railweave({"lab",      "generate",
                                           "fat-tree", "--radix",
                                           "8",        "--hosts",
                                           "32",       "--nics-per-host",
                                           "1",        "--gpus-per-host",
                                           "1",        "--nvlink-domain",
                                           "1",        "--uplinks",
                                           "4",        "--down-ports",
                                           "4",        "-O",
                                           file,       "-o",
                                           "json"});
      EXPECT_EQ(made.exit_code, 0) << made.err;
      return file;
    }();
    return path;
  }
  static std::string host(std::size_t i) {
    static const Json document = [] {
      std::ifstream file(fabric());
      return Json::parse(file);
    }();
    return document["hosts"][i]["name"];
  }
  static Finished run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"lab", "flows", fabric()});
    return run_railweave(arguments);
  }
  static Json flows(std::vector<std::string> arguments, int exit_code = 0) {
    arguments.insert(arguments.end(), {"-o", "json"});
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.exit_code, exit_code) << finished.err;
    return parse_json(finished.out).value_or(Json());
  }
  static std::string csv(const std::string& rows) {
    return scratch_file("flows.csv", "from,to,class,rateGbps\n" + rows);
  }
  static double got(const Json& answer, const std::string& job) {
    for (const Json& one : answer["jobs"]) {
      if (one["name"] == job) return one["gotGbps"];
    }
    ADD_FAILURE() << "no job " << job;
    return -1;
  }
};

// Hosts of one leaf send to the first host of one leaf each, for all of which the closed form takes the same spine: a link of
// 400 Gb/s for four flows of 400. Followed, each has a spine of its own.
TEST_F(LabFlows, FollowedRoutesKeepFlowsApart) {
  std::string rows;
  for (std::size_t i = 0; i < 4; ++i) rows += host(i) + "," + host(4 * (i + 1)) + ",storage,\n";
  const std::string file = csv(rows);
  EXPECT_NEAR(got(flows({"--traffic", file}), "traffic in storage"), 400, 1e-6);
  const Json answer = flows({"--traffic", file, "--follow"});
  EXPECT_NEAR(got(answer, "traffic in storage"), 1600, 1e-6);
  const Json& told = answer["followed"];
  EXPECT_NEAR(told["fullestBefore"].get<double>(), 4, 1e-9);
  EXPECT_NEAR(told["fullest"].get<double>(), 1, 1e-9);
  EXPECT_EQ(told["hops"], 3);
  EXPECT_NEAR(told["gotGbpsBefore"].get<double>(), 400, 1e-6);
  EXPECT_NEAR(told["gotGbps"].get<double>(), 1600, 1e-6);
  EXPECT_THAT(
      run({"--traffic", file, "--follow"}).out,
      HasSubstr("3 next hops chosen for these flows: the fullest link is asked for 1.00 of its rate (4.00 before), "
                "jobs get 1600.0 Gb/s (400.0 before)"));
}

TEST_F(LabFlows, FollowedRoutesAreForFlowsAndEnginesThatTheyFit) {
  const std::string file = csv(host(0) + "," + host(4) + ",storage,\n");
  const Finished layered = run({"--traffic", file, "--follow", "--engine", "layered"});
  EXPECT_EQ(layered.exit_code, 2);
  EXPECT_THAT(layered.err, HasSubstr("routes of the engine layered cannot follow traffic"));
  const std::string jobs =
      scratch_file("surviving.json", R"([{"gpus": 2, "name": "a", "bandwidth": {"guaranteedGbpsPerPort": 1, )"
                                     R"("surviveLinkFailure": true}}])");
  const Finished surviving = run({"--jobs", jobs, "--follow"});
  EXPECT_EQ(surviving.exit_code, 2);
  EXPECT_THAT(surviving.err, HasSubstr("a job is to survive the failure of one"));
  const Finished searched = run({"--jobs", jobs, "--follow", "--adversarial"});
  EXPECT_EQ(searched.exit_code, 2);
  EXPECT_THAT(searched.err, HasSubstr("--follow chooses routes for flows that are known"));
}

// Two ports of one leaf send to one port: equal shares in one class, 350 to 50 by weight in two classes, and what one
// flow does not use goes to the other.
TEST_F(LabFlows, RatesAreThoseComputedByHand) {
  const std::string a = host(0), b = host(1), to = host(20);
  Json answer = flows({"--traffic", csv(a + "," + to + ",storage,\n" + b + "," + to + ",storage,\n")});
  EXPECT_NEAR(got(answer, "traffic in storage"), 400, 1e-6);
  EXPECT_NEAR(answer["jobs"][0]["perPortGbps"]["min"].get<double>(), 200, 1e-6);
  EXPECT_NEAR(answer["links"][0]["heat"].get<double>(), 1, 1e-9);
  EXPECT_EQ(answer["links"][0]["fullestClass"], "storage");
  EXPECT_TRUE(answer["settled"]);

  answer = flows({"--traffic", csv(a + "," + to + ",all-reduce,\n" + b + "," + to + ",best-effort,\n")});
  EXPECT_NEAR(got(answer, "traffic in all-reduce"), 350, 1e-3);
  EXPECT_NEAR(got(answer, "traffic in best-effort"), 50, 1e-3);
  EXPECT_THAT(answer["jobs"][0]["heldBackBy"].get<std::string>(), HasSubstr("leaf-1/"))
      << "the first link that both cross";

  answer = flows({"--traffic", csv(a + "," + to + ",all-reduce,30\n" + b + "," + to + ",best-effort,\n")});
  EXPECT_NEAR(got(answer, "traffic in all-reduce"), 30, 1e-3);
  EXPECT_NEAR(got(answer, "traffic in best-effort"), 370, 1e-3);
  EXPECT_EQ(answer["jobs"][0]["heldBackBy"], "its own rate");

  const std::string own = scratch_file("classes.json", R"({"classes":[{"name":"gold","sharePermille":750,"dscp":10},)"
                                                       R"({"name":"tin","sharePermille":250,"dscp":0}]})");
  const std::string json =
      scratch_file("flows.json", R"([{"from":")" + a + R"(","to":")" + to + R"(","class":"gold"},{"from":")" + b +
                                     R"(","to":")" + to + R"("}])");
  answer = flows({"--traffic", json, "--classes", own});
  EXPECT_NEAR(got(answer, "traffic in gold"), 300, 1e-3);
  EXPECT_NEAR(got(answer, "traffic in tin"), 100, 1e-3);
}

std::string job(const std::string& name, int gpus, const std::string& bandwidth) {
  return R"({"name":")" + name + R"(","tenant":"t","gpus":)" + std::to_string(gpus) +
         (bandwidth.empty() ? "" : R"(,"bandwidth":)" + bandwidth) + "}";
}

TEST_F(LabFlows, GuaranteedJobsGetWhatTheyWerePromised) {
  const std::string jobs = scratch_file(
      "jobs.json", "[" + job("a", 10, R"({"guaranteedGbpsPerPort":20,"qosClass":"all-reduce"})") + "," +
                       job("b", 10, R"({"guaranteedGbpsPerPort":15,"model":"pattern","qosClass":"all-to-all"})") + "," +
                       job("c", 8, "") + "," + job("d", 2, R"({"guaranteedGbpsPerPort":300,"qosClass":"all-reduce"})") +
                       "," + job("e", 64, "") + "]");
  const Json answer = flows({"--jobs", jobs, "--fail-random", "2", "--seed", "4"});
  ASSERT_EQ(answer["jobs"].size(), 5U);
  for (int i : {0, 1}) {
    EXPECT_EQ(answer["jobs"][i]["met"], true) << answer["jobs"][i];
    EXPECT_EQ(answer["jobs"][i]["admitted"], true);
  }
  EXPECT_NEAR(answer["jobs"][0]["perPortGbps"]["min"].get<double>(), 20, 1e-3) << "a ring: each port sends to one";
  EXPECT_TRUE(answer["jobs"][2]["met"].is_null());
  EXPECT_EQ(answer["jobs"][3]["admitted"], false);
  EXPECT_THAT(answer["jobs"][3]["reason"].get<std::string>(), HasSubstr("too little left"));
  EXPECT_EQ(answer["jobs"][3]["class"], "best-effort");
  EXPECT_NE(answer["jobs"][4]["outcome"], "placed");
  EXPECT_EQ(answer["failedLinks"].size(), 2U);

  const Json worst = flows({"--jobs", jobs, "--fail-random", "2", "--seed", "4", "--adversarial", "--rounds", "40"});
  EXPECT_NEAR(worst["adversarial"]["share"].get<double>(), 1, 1e-6);
  EXPECT_LE(worst["adversarial"]["fullest"].get<double>(), 1);
  EXPECT_EQ(worst["adversarial"]["matrices"], 40);
  for (int i : {0, 1}) EXPECT_EQ(worst["jobs"][i]["met"], true) << worst["jobs"][i];
  const Json again = flows({"--jobs", jobs, "--fail-random", "2", "--seed", "4", "--adversarial", "--rounds", "40"});
  EXPECT_EQ(again["jobs"], worst["jobs"]) << "the same seed finds the same";
}

// A broken guarantee is detected: another job sends in the class without a rate limit.
TEST_F(LabFlows, SaysWhenAGuaranteeIsNotKept) {
  const std::string jobs = scratch_file(
      "rogue.json", R"({"jobs":[)" + job("a", 10, R"({"guaranteedGbpsPerPort":30,"qosClass":"all-reduce"})") + "," +
                        job("rogue", 22, R"({"qosClass":"all-reduce"})") + "]}");
  const Json answer = flows({"--jobs", jobs, "--adversarial", "--rounds", "60"}, 10);
  EXPECT_EQ(answer["adversarial"]["victim"], "a");
  EXPECT_LT(answer["adversarial"]["share"].get<double>(), 0.99);
  EXPECT_EQ(answer["jobs"][0]["met"], false);
  const Finished told = run({"--jobs", jobs, "--adversarial", "--rounds", "60"});
  EXPECT_EQ(told.exit_code, 10);
  EXPECT_THAT(told.err, HasSubstr("rogue sends in class all-reduce without a guarantee or a rate limit"));
  EXPECT_THAT(told.out, AllOf(HasSubstr("Worst traffic"), HasSubstr("hottest links"), HasSubstr("no")));
}

TEST_F(LabFlows, DrawsLinksByTier) {
  const std::string picture = scratch_path("heat.svg");
  const Finished drawn = run({"--traffic", csv(host(0) + "," + host(20) + ",,\n"), "--svg", picture, "--top", "3"});
  ASSERT_EQ(drawn.exit_code, 0) << drawn.err;
  std::ifstream file(picture);
  const std::string svg{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(svg, AllOf(StartsWith("<svg"), HasSubstr("hosts up"), HasSubstr("tier 0 up"), HasSubstr("tier 0 down"),
                         HasSubstr("hosts down"), HasSubstr("32 links, mean 3%, fullest 100%: ")));
  // Each cell names both ends of its link.
  std::size_t cells = 0;
  for (std::size_t at = svg.find("<title>"); at != std::string::npos; at = svg.find("<title>", at + 1)) {
    ++cells;
    EXPECT_THAT(svg.substr(at, svg.find("</title>", at) - at),
                testing::MatchesRegex("<title>[^ ]+ > [^ ]+: [0-9]+% of .*"));
  }
  EXPECT_GT(cells, 0U);
}

TEST_F(LabFlows, RefusesWithWhereAndWhatToDo) {
  EXPECT_EQ(run({}).exit_code, 2);
  EXPECT_THAT(run({}).err, HasSubstr("give jobs with --jobs FILE"));
  EXPECT_EQ(run({"--adversarial", "--traffic", csv(host(0) + "," + host(1) + ",,\n")}).exit_code, 2);
  const auto refused = [&](const std::string& rows) { return run({"--traffic", csv(rows)}).err; };
  EXPECT_THAT(refused("node-x," + host(1) + ",,\n"),
              AllOf(HasSubstr("line 2"), HasSubstr("the fabric has no host or port 'node-x'")));
  EXPECT_THAT(refused(host(0) + "," + host(1) + ",gold,\n"), HasSubstr("the classes are latency, management"));
  EXPECT_THAT(refused(host(0) + "," + host(1) + ",,fast\n"), HasSubstr("'fast' is not a rate in Gb/s"));
  EXPECT_THAT(refused(host(0) + "," + host(0) + ",,\n"), HasSubstr("a port sends to itself"));
  EXPECT_THAT(refused(host(0) + "\n"), HasSubstr("expected 4 cells, found 1"));
  const auto jobs = [&](const std::string& text) { return run({"--jobs", scratch_file("bad.json", text)}).err; };
  EXPECT_THAT(jobs("[" + job("a", 2, R"({"guaranteedGbps":1})") + "]"),
              AllOf(HasSubstr("/jobs/0/bandwidth"), HasSubstr("unknown field 'guaranteedGbps'")));
  EXPECT_THAT(jobs("[" + job("a", 2, "") + "," + job("a", 2, "") + "]"), HasSubstr("two jobs have the name 'a'"));
  EXPECT_THAT(jobs(R"([{"tenant":"t"}])"), HasSubstr("say how many GPUs"));
  const Finished offered = run_railweave({"__complete", "lab", "flows", fabric(), "--"});
  EXPECT_THAT(offered.out, AllOf(HasSubstr("--adversarial"), HasSubstr("--svg"), HasSubstr("--traffic")));
}

TEST_F(LabFlows, PlansClassesForEveryKindOfDevice) {
  const auto qos = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"lab", "qos", fabric()});
    return run_railweave(arguments);
  };
  const Json plan = parse_json(qos({"-o", "json"}).out).value_or(Json());
  EXPECT_EQ(plan["ports"].size(), 2U * (32 + 32)) << "both ends of every cable";
  EXPECT_EQ(plan["classes"].size(), 6U);
  EXPECT_EQ(plan["routingLanes"], 1);
  for (const Json& one : plan["classes"]) {
    EXPECT_GE(one["promisedPermille"].get<int>(), one["sharePermille"].get<int>() * 77 / 100) << one;
    EXPECT_EQ(one["serviceLevel"] == 0, one["name"] == "best-effort") << "unmarked packets have level 0";
  }
  EXPECT_THAT(qos({}).err, HasSubstr("packets are sent whole"));
  const Json small = parse_json(qos({"--mtu", "2048", "-o", "json"}).out).value_or(Json());
  EXPECT_GT(small["classes"][2]["promisedPermille"], plan["classes"][2]["promisedPermille"]) << "smaller packets";
  const std::string leaf = plan["ports"][0]["device"];
  EXPECT_EQ(parse_json(qos({"--switch", leaf, "-o", "json"}).out).value_or(Json())["ports"].size(), 8U);
  EXPECT_EQ(parse_json(qos({"--host", host(3), "-o", "json"}).out).value_or(Json())["ports"].size(), 1U);
  const Finished few = qos({"--lanes", "4"});
  EXPECT_EQ(few.exit_code, 7);
  EXPECT_THAT(few.err, HasSubstr("6 classes x 1 lanes for the routing = 6 lanes"));

  EXPECT_THAT(qos({"--to", "opensm"}).out,
              AllOf(HasSubstr("### opensm.conf"), HasSubstr("### partitions.conf"), HasSubstr("### qos-policy.conf")));
  const Finished sonic = qos({"--to", "sonic", "--switch", leaf});
  const Json config = parse_json(sonic.out).value_or(Json());
  for (const char* table : {"DSCP_TO_TC_MAP", "SCHEDULER", "PORT_QOS_MAP", "QUEUE", "BUFFER_POOL", "BUFFER_PROFILE",
                            "BUFFER_PG", "BUFFER_QUEUE", "WRED_PROFILE"}) {
    EXPECT_TRUE(config.contains(table)) << table << sonic.err;
  }
  EXPECT_EQ(config["PORT_QOS_MAP"].size(), 8U);
  EXPECT_THAT(sonic.err, HasSubstr("is not lossless on Ethernet"));
  EXPECT_EQ(qos({"--to", "sonic"}).exit_code, 2);
  // DSCP 0 is in traffic class 0 of the lowest class, and congestion notifications do not wait.
  EXPECT_EQ(config["DSCP_TO_TC_MAP"]["RAILWEAVE"]["0"], "0");
  EXPECT_EQ(config["DSCP_TO_TC_MAP"]["RAILWEAVE"]["63"], "0");
  const std::string notifications = config["DSCP_TO_TC_MAP"]["RAILWEAVE"]["48"];
  EXPECT_EQ(config["SCHEDULER"]["scheduler." + notifications]["type"], "STRICT");
  EXPECT_EQ(config["PFC_WD"].size(), 9U) << "8 ports and GLOBAL";
  EXPECT_EQ(qos({"--to", "tc", "--host", "node-x"}).exit_code, 4);
  // These adapters are InfiniBand.
  for (const char* to : {"tc", "dcb"}) {
    const Finished refused = qos({"--to", to, "--host", host(3)});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr("no cabled Ethernet adapter"));
  }
}

TEST_F(LabFlows, HostsOnEthernetGetCommandsForTheirInterfaces) {
  const std::string ethernet = scratch_path("ethernet.json");
  ASSERT_EQ(run_railweave({"lab", "generate", "fat-tree", "--radix", "8", "--hosts", "8", "--nics-per-host", "1",
                           "--speed", "400G", "-O", ethernet})
                .exit_code,
            0);
  const auto qos = [&](const char* to) {
    return run_railweave({"lab", "qos", ethernet, "--to", to, "--host", "node-2"});
  };
  const Finished tc = qos("tc"), dcb = qos("dcb");
  EXPECT_THAT(tc.out, AllOf(HasSubstr("tc class replace dev \"$IFACE\""), HasSubstr("RDMA bypasses it")));
  EXPECT_THAT(dcb.out, AllOf(HasSubstr("dcb ets set dev \"$IFACE\" tc-tsa 0:ets"), HasSubstr("dcb pfc set"),
                             HasSubstr("dscp-prio"), HasSubstr(" 0:0")));
  EXPECT_THAT(dcb.err, HasSubstr("is not lossless on Ethernet"));
  // The name of the RDMA device is only where the interface is looked up.
  for (const std::string& text : {tc.out, dcb.out}) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line.find("mlx5") == std::string::npos) continue;
      EXPECT_THAT(line, HasSubstr("/sys/class/infiniband/"));
    }
  }
}

TEST(LabReplay, PriorityClassesAreTriedOnGeneratedStreams) {
  const std::string fabric = scratch_path("replay-tree.json");
  ASSERT_EQ(run_railweave({"lab", "generate", "fat-tree", "--hosts", "32", "--gpus-per-host", "2", "--nvlink-domain",
                           "2", "--radix", "16", "--oversubscription", "3", "-O", fabric})
                .exit_code,
            0);
  std::vector<std::string> words{"lab", "replay", "generated", "--fabric",        fabric,  "--seeds",
                                 "2",   "--jobs", "100",       "--communication", "heavy", "--priority-classes"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return run_railweave(more);
  };
  const Finished finished = with({"4", "-o", "json"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json answer = parse_json(finished.out).value_or(Json());
  ASSERT_EQ(answer["classWeights"].size(), 4U);
  EXPECT_NEAR(answer["classWeights"][0].get<double>() / answer["classWeights"][1].get<double>(), 2, 0.1);
  EXPECT_GT(answer["jobsOnTheNetwork"].get<double>(), 1);
  EXPECT_GT(answer["judges"]["flows"]["workPercent"].get<double>(),
            answer["judges"]["reversed"]["workPercent"].get<double>());
  EXPECT_THAT(with({"2"}).out, HasSubstr("the other way round (control)"));
  for (const auto& refused : {with({"1"}), with({"2", "--follow-routes"})}) {
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr("--priority-classes are 2 to 8"));
  }
  EXPECT_EQ(with({"9"}).exit_code, 2);
}

}  // namespace
}  // namespace railweave::cli
