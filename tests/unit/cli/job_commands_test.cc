// Placements, jobs and ranks against a service with canned answers: requests, output, exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/railweave/terminal/json.h"
#include "tests/unit/cli/stub_service.h"

namespace railweave::cli {
namespace {

using api::Method;
using api::Request;
using api::Response;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kExplanation =
    R"("explanation":{"level":"nvlinkDomain","blockGpus":8,"needed":64,"fits":61,"totalGpus":1024,"freeGpus":540,"strandedGpus":28,
       "levels":[{"level":"node","groups":128,"groupsThatFit":0,"bestBlocks":1,"bestBlocksWhenEmpty":1}],
       "excluded":[{"reason":"drained","nodes":2,"examples":["dgx-7","dgx-9"]}],
       "counterfactuals":[{"change":"pipeline 4 -> 3","outcome":"placed"},{"change":"tensor 8 -> 4","outcome":"never"}]})";

std::string not_now() {
  return std::string(R"({"outcome":"notNow","code":"jobs.noCapacityAtLevel","reason":"61 of 64 blocks fit",)") +
         kExplanation + "}";
}

TEST(Place, ExplainsWhyNotReadablyAndEndsWithSix) {
  StubService service;
  service.on(Method::post, "/v1/placements/query", [](const Request&) { return Response::json(not_now()); });
  const Finished finished = service.run({"place", "--tp", "8", "--pp", "4", "--dp", "16"});
  EXPECT_EQ(finished.exit_code, 6);
  EXPECT_EQ(finished.err, "");
  EXPECT_EQ(finished.out,
            "Outcome:  cannot be placed now\n"
            "Reason:   61 of 64 blocks fit\n"
            "Needed:   64 blocks of 8 GPUs, 512 GPUs in all\n"
            "Fits:     61 blocks of 8 GPUs at level nvlinkDomain\n"
            "Free:     540 of 1024 GPUs, 28 of them in fragments smaller than a block\n"
            "\n"
            "What fits\n"
            "  LEVEL  GROUPS  FIT NOW  BLOCKS IN BEST  IF EMPTY\n"
            "  node      128        0               1         1\n"
            "\n"
            "Excluded nodes\n"
            "  NODES  REASON   EXAMPLES\n"
            "      2  drained  dgx-7, dgx-9\n"
            "\n"
            "What would change the outcome\n"
            "  CHANGE           OUTCOME\n"
            "  pipeline 4 -> 3  placed\n"
            "  tensor 8 -> 4    can never be placed\n");
  const auto asked = service.asked();
  EXPECT_EQ(asked.at(0).target, "/v1/placements/query");
  EXPECT_EQ(Json::parse(asked.at(0).body), Json::parse(R"({"parallelism":{"tensor":8,"pipeline":4,"data":16}})"));
  EXPECT_EQ(asked.at(0).headers.value("Content-Type"), "application/json");
}

TEST(Place, NeverEndsWithSevenAndPlacedWithNought) {
  StubService service;
  int asked = 0;
  service.on(Method::post, "/v1/placements/query", [&asked](const Request&) {
    if (++asked == 1) return Response::json(R"({"outcome":"never","code":"jobs.neverFits","reason":"too big"})");
    return Response::json(
        R"({"outcome":"placed","placement":{"level":"leafGroup","nodesUsed":12},"ranks":{"count":96}})");
  });
  EXPECT_EQ(service.run({"place", "--gpus", "9"}).exit_code, 7);
  const Finished placed = service.run({"place", "--gpus", "96"});
  EXPECT_EQ(placed.exit_code, 0);
  EXPECT_THAT(placed.out, AllOf(HasSubstr("nothing was changed"), HasSubstr("one leaf group\n"), HasSubstr("96")));
}

std::string rank(int number) {
  const std::string n = std::to_string(number);
  return R"({"rank":)" + n + R"(,"node":"dgx-1","gpu":)" + std::to_string(number % 8) +
         R"(,"nics":[{"device":"mlx5_4","port":"0c42a10300280050/1","rail":3}],"dp":0,"pp":0,"cp":0,"ep":0,"tp":)" + n +
         "}";
}

StubService::Answerer ranks_answer(int count) {
  return [count](const Request& request) {
    const auto* limit = request.query("limit");
    const int shown = std::min(count, limit == nullptr ? count : std::stoi(*limit));
    std::string items;
    for (int i = 0; i < shown; ++i) items += (items.empty() ? "" : ",") + rank(i);
    return Response::json(R"({"items":[)" + items + R"(],"nextCursor":null,"seq":1})");
  };
}

std::string job(int ranks) {
  return R"({"id":"job-000001","name":"llama","tenant":"research","state":"placed","gpus":)" + std::to_string(ranks) +
         R"(,"spec":{"parallelism":{"tensor":8,"pipeline":1,"data":1,"context":1,"expert":1}},"ranks":{"count":)" +
         std::to_string(ranks) + R"(},"placement":{"level":"node"},"nodeList":["dgx-1"],"history":[]})";
}

TEST(Ranks, AreATableOfNodeGpuNicRailAndCoordinates) {
  StubService service;
  service.get("/v1/jobs/{id}", job(64));
  service.on(Method::get, "/v1/jobs/{id}/ranks", ranks_answer(64));
  const Finished finished = service.run({"jobs", "ranks", "job-000001"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, StartsWith("RANK  NODE   GPU  NIC     RAIL  TP  PP  DP\n"
                                       "   0  dgx-1    0  mlx5_4  3      0   0   0\n"));
  EXPECT_EQ(std::ranges::count(finished.out, '\n'), 65) << "all of them where there is no terminal";
  const Finished wide = service.run({"jobs", "ranks", "job-000001", "-o", "wide", "--limit", "2"});
  EXPECT_EQ(wide.out,
            "RANK  NODE   GPU  NIC     RAIL  NIC PORT            TP  PP  DP  CP  EP\n"
            "   0  dgx-1    0  mlx5_4  3     0c42a10300280050/1   0   0   0   0   0\n"
            "   1  dgx-1    1  mlx5_4  3     0c42a10300280050/1   1   0   0   0   0\n"
            "and 62 more ranks (--all shows them)\n");
}

TEST(Ranks, AreCutOnATerminalUnlessAllAreAskedFor) {
  StubService service;
  service.get("/v1/jobs/{id}", job(64));
  service.on(Method::get, "/v1/jobs/{id}/ranks", ranks_answer(64));
  const RunOptions terminal{.environment = {"TERM=xterm", "NO_COLOR=1"}, .terminal = true};
  const Finished finished = service.run({"jobs", "ranks", "job-000001"}, terminal);
  EXPECT_EQ(std::ranges::count(finished.out, '\n'), 34);
  EXPECT_THAT(finished.out, HasSubstr("and 32 more ranks (--all shows them)\n"));
  EXPECT_EQ(std::ranges::count(service.run({"jobs", "ranks", "job-000001", "--all"}, terminal).out, '\n'), 65);
  EXPECT_EQ(Json::parse(service.run({"jobs", "ranks", "job-000001", "-o", "json"}, terminal).out)["items"].size(), 64U);
}

TEST(Ranks, InAFormatOfLaunchersAreWhatTheServiceSays) {
  StubService service;
  service.on(Method::get, "/v1/jobs/{id}/ranks", [](const Request& request) {
    const auto* format = request.query("format");
    return Response::text("as " + (format == nullptr ? "nothing" : *format) + "\nnode-1 slots=8\n");
  });
  for (const char* format : {"hostfile", "mpi", "slurm", "torchrun", "nccl"}) {
    const Finished finished = service.run({"jobs", "ranks", "job-000001", "--format", format});
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_EQ(finished.out, "as " + std::string(format) + "\nnode-1 slots=8\n") << "byte for byte, nothing added";
  }
}

TEST(Show, TellsWhatIsPredictedOfGroupsAndWhatIsHeldIdle) {
  StubService service;
  std::string body = job(16);
  body.replace(body.find(R"("placement":{"level":"node"})"), std::string(R"("placement":{"level":"node"})").size(),
               R"("placement":{"level":"rack","nodesUsed":2,"domainsUsed":2,"groupsAtLevel":2,"dataRingsOnRails":true,
                   "idle":{"gpus":3,"nodes":[{"node":"dgx-1","gpus":[6,7]},{"node":"dgx-2","gpus":[7]}]}},
                  "groups":{"tensor":{"count":2,"ranks":8,"worst":"nvlinkDomain","domains":1},
                            "data":{"count":8,"ranks":2,"worst":"rack","domains":2,"sameRail":true}},
                  "predicted":{"stepMs":1234.5,"exposedMs":12.34,"communicationMs":0.5678,"assumed":false,
                               "generation":"H100","byGroup":{"tensor":0.4,"data":0.1678}})");
  service.get("/v1/jobs/{id}", body);
  const std::string out = service.run({"jobs", "show", "job-000001"}).out;
  // Values are aligned in a column; the words count.
  const auto line = [&](const std::string& name) {
    const auto at = out.find(name);
    std::string words;
    for (const char c : out.substr(std::min(at, out.size()), out.find('\n', at) - std::min(at, out.size()))) {
      if (c != ' ' || (!words.empty() && words.back() != ' ')) words += c;
    }
    return words;
  };
  EXPECT_EQ(line("Held idle"), "Held idle: 3 GPUs on 2 nodes") << out;
  EXPECT_EQ(line("Tensor"), "Tensor: 2 groups of 8, each within one NVLink domain") << out;
  EXPECT_EQ(line("Data: "), "Data: 8 groups of 2, each within one rack, over 2 NVLink domains") << out;
  EXPECT_EQ(line("Predicted step"), "Predicted step: 1234 ms, 12.3 ms of it waiting for communication") << out;
  EXPECT_EQ(line("Communication"), "Communication: 0.568 ms per step (tensor 0.400 ms, data 0.168 ms)") << out;
}

TEST(Show, TellsWhoSlowsAJobAndWhomItSlows) {
  StubService service;
  std::string body = job(16);
  const std::string shared =
      R"("placement":{"level":"node"},
         "withContention":{"basis":"routes","stepMs":900,"communicationMs":50.5,"exposedMs":10,"byGroup":{"data":50.5},
           "reachable":true,"alone":{"stepMs":800,"communicationMs":25.25},"slowdown":2,"stepSlowdown":1.125,
           "mostContended":{"link":"leaf-1/3 > spine-2/1","group":"data","capacityGbps":400,"othersGbps":310.5,
                            "jobs":[{"job":"job-000007","gbps":300},{"job":"job-000009","gbps":10.5}],"jobsCrossing":3},
           "slows":[{"job":"job-000007","name":"n","tenant":"t","slowdown":1.5,"stepSlowdown":null,
                     "communicationMs":3,"withoutThisMs":2}]})";
  const std::string plain = R"("placement":{"level":"node"})";
  body.replace(body.find(plain), plain.size(), shared);
  service.get("/v1/jobs/{id}", body);
  const std::string out = service.run({"jobs", "show", "job-000001"}).out;
  EXPECT_THAT(out, HasSubstr("50.5 ms of communication per step, a step of 900 ms: slowdown 2.00x, on routes"));
  EXPECT_THAT(out,
              HasSubstr("leaf-1/3 > spine-2/1, 310.5 of 400.0 Gb/s: job-000007 300.0, job-000009 10.5 and 1 more"));
  EXPECT_THAT(out, HasSubstr("job-000007 1.50x"));
}

TEST(Submit, SendsTheKeyAndPrintsTheJob) {
  StubService service;
  service.on(Method::post, "/v1/jobs", [](const Request&) { return Response::json(job(8), 201); });
  const Finished finished =
      service.run({"jobs", "submit", "--tenant", "research", "--tp", "8", "--idempotency-key", "k-1", "-o", "json"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(Json::parse(finished.out), Json::parse(job(8)));
  EXPECT_EQ(service.asked().at(0).headers.value("Idempotency-Key"), "k-1");
}

TEST(Submit, AJobThatIsNotPlacedIsExplainedOnStdout) {
  StubService service;
  service.on(Method::post, "/v1/jobs", [](const Request&) {
    std::string body =
        R"({"status":409,"code":"jobs.noCapacityAtLevel","detail":"61 of 64 blocks fit","outcome":"notNow",)";
    return Response::json(body + kExplanation + "}", 409);
  });
  const Finished finished = service.run({"jobs", "submit", "--tp", "8"});
  EXPECT_EQ(finished.exit_code, 6);
  EXPECT_THAT(finished.out, HasSubstr("Reason:   61 of 64 blocks fit\n"));
  const Finished document = service.run({"jobs", "submit", "--tp", "8", "-o", "json"});
  EXPECT_EQ(document.exit_code, 6);
  EXPECT_EQ(Json::parse(document.out)["outcome"], "notNow");
}

TEST(Submit, AConflictThatIsNoPlacementIsAnError) {
  StubService service;
  service.on(Method::post, "/v1/jobs", [](const Request&) {
    return Response::json(R"({"status":409,"code":"tenants.gpuLimit","detail":"holds too many","hint":"wait"})", 409);
  });
  const Finished finished = service.run({"jobs", "submit", "--tp", "8"});
  EXPECT_EQ(finished.exit_code, 5);
  EXPECT_EQ(finished.err, "railweave: holds too many (wait)\n");
}

TEST(Jobs, CancelAndCompleteSayWhatTheJobIsNow) {
  StubService service;
  service.on(Method::del, "/v1/jobs/{id}",
             [](const Request&) { return Response::json(R"({"id":"job-000001","state":"cancelled"})"); });
  service.on(Method::post, "/v1/jobs/{id}/complete",
             [](const Request&) { return Response::json(R"({"id":"job-000001","state":"cancelled"})"); });
  EXPECT_EQ(service.run({"jobs", "cancel", "job-000001", "--reason", "wrong branch"}).out, "job-000001:  cancelled\n");
  EXPECT_EQ(service.run({"jobs", "complete", "job-000001"}).out, "job-000001:  already cancelled\n");
  EXPECT_EQ(service.asked().at(0).target, "/v1/jobs/job-000001?reason=wrong branch");
}

TEST(Terminal, GetsColorsUnlessNoColor) {
  StubService service;
  service.get("/v1/jobs/{id}", job(8));
  const std::vector<std::string> show{"jobs", "show", "job-000001"};
  EXPECT_THAT(service.run(show, {.environment = {"TERM=xterm"}, .terminal = true}).out,
              HasSubstr("\x1b[32mplaced\x1b[0m"));
  EXPECT_THAT(service.run(show, {.environment = {"TERM=xterm", "NO_COLOR=1"}, .terminal = true}).out,
              Not(HasSubstr("\x1b")));
  EXPECT_THAT(service.run(show, {.environment = {"TERM=dumb"}, .terminal = true}).out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(service.run(show, {.environment = {"TERM=xterm"}}).out, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace railweave::cli
