// The queue's commands, against a service with canned answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/railweave/terminal/exit_code.h"
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

constexpr const char* kWaiting =
    R"({"place":1,"id":"job-000007","name":"llama","tenant":"research","state":"queued","priority":"high","gpus":512,
        "nodes":0,"level":null,"submittedAt":"2026-11-21T08:00:00Z","startedAt":null,"endedAt":null,
        "waits":{"code":"noCapacity","reason":"needs 64 domains","starving":false,"job":"job-000003",
                 "expectedAt":"2026-11-21T09:00:00Z"}})";

TEST(Queue, ListShowsWhichJobsWaitAndWhy) {
  StubService service;
  service.get("/v1/queue/jobs", std::string(R"({"items":[)") + kWaiting + R"(],"nextCursor":null,"seq":9})");
  const Finished finished = service.run({"queue", "list", "--tenant", "research"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, AllOf(HasSubstr("POSITION"), HasSubstr("job-000007"), HasSubstr("needs 64 domains"),
                                  HasSubstr("2026-11-21")));
  EXPECT_EQ(service.asked().at(0).target, "/v1/queue/jobs?tenant=research&limit=1000");
  service.get("/v1/queue/shares", R"({"items":[],"nextCursor":null,"seq":9})");
}

TEST(Queue, ShowPolicyAndStrandedArePrintedForPeopleAndPrograms) {
  StubService service;
  service.get("/v1/queue", R"({"waiting":2,"gpusWaiting":24,"oldestSubmittedAt":"2026-11-21T08:00:00Z","running":3,
      "freeGpus":8,"totalGpus":64,"lastCycle":{"seq":9,"time":"2026-11-21T08:00:01Z","tookUs":812,"cycles":4,
      "nextLookAt":null},"seq":9})");
  EXPECT_THAT(service.run({"queue", "show"}).out,
              AllOf(HasSubstr("2 jobs for 24 GPUs"), HasSubstr("8 of 64 GPUs"), HasSubstr("812 us")));
  EXPECT_EQ(Json::parse(service.run({"queue", "show", "-o", "json"}).out)["waiting"], 2);
  StubService stranded;
  stranded.get("/v1/queue/stranded", R"({"freeGpus":12,"strandedGpus":10,"jobsAskedAbout":1,
      "beside":[{"job":"job-000003","gpus":10}],"seq":9})");
  EXPECT_THAT(stranded.run({"queue", "stranded"}).out, AllOf(HasSubstr("10 of them"), HasSubstr("job-000003")));
}

TEST(Queue, ConfigureChangesOnlyWhatIsGiven) {
  StubService service;
  service.on(Method::get, "/v1/queue/policy", [](const Request&) {
    return Response::json(R"({"priorityClasses":[{"name":"low","value":-1,"mayPreempt":false,"preemptible":true}],
        "backfill":"easy","fairShare":"running","version":3})")
        .with("ETag", "\"queue.3\"");
  });
  service.on(Method::put, "/v1/queue/policy", [](const Request& request) { return Response::json(request.body); });
  const Finished finished = service.run({"queue", "configure", "--backfill", "conservative"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, AllOf(HasSubstr("conservative"), HasSubstr("low")));
  const auto put = service.asked().at(1);
  EXPECT_EQ(put.headers.value("If-Match"), "\"queue.3\"");
  EXPECT_EQ(Json::parse(put.body)["fairShare"], "running");
  EXPECT_FALSE(Json::parse(put.body).contains("version"));
  const Finished nothing = service.run({"queue", "configure"});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.err, HasSubstr("nothing to change"));
}

TEST(Queue, DefragPlansUnlessItIsToCarryOut) {
  StubService service;
  service.get("/v1/queue/defragmentation",
              R"({"steps":[{"frees":["nv-1"],"freedGpus":8,"costGpuSeconds":1200,"moves":[{"job":"job-000003",
      "costGpuSeconds":1200,"ranks":[{"rank":0,"from":{"node":"a","gpu":0},"to":{"node":"b","gpu":1}}]}]}],"seq":9})");
  EXPECT_THAT(service.run({"queue", "defrag", "--dry-run", "--steps", "4"}).out,
              AllOf(HasSubstr("nv-1"), HasSubstr("job-000003"), HasSubstr("1200")));
  EXPECT_EQ(service.asked().at(0).target, "/v1/queue/defragmentation?for=domains&steps=4&restart=PT5M");
  service.on(Method::post, "/v1/queue/moves", [](const Request&) {
    return Response::json(R"({"moves":[{"job":"job-000003","tenant":"research","plan":9,"state":"offered",
        "inFavourOf":"job-000009","gpus":1,"lostGpuSeconds":1200,"until":"2026-11-21T08:05:00Z","reason":"",
        "ranks":[{"rank":0,"from":{"node":"a","gpu":0},"to":{"node":"b","gpu":1}}]}],
        "budgetLeftGpuSeconds":100,"jobsLeft":7,"seq":9})");
  });
  EXPECT_THAT(service.run({"queue", "defrag", "--for", "head", "--carry-out"}).out,
              AllOf(HasSubstr("job-000009"), HasSubstr("offered"), HasSubstr("1200")));
  EXPECT_EQ(Json::parse(service.asked().at(1).body)["for"], "head");
  const Finished refused = service.run({"queue", "defrag", "--dry-run", "--carry-out"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--dry-run"));
}

TEST(Queue, SubmitQueuesAndShowsWhy) {
  StubService service;
  service.on(Method::post, "/v1/jobs", [](const Request&) {
    return Response::json(R"({"id":"job-000007","name":"llama","tenant":"research","state":"queued","gpus":8,
        "outcome":"queued","placement":null,"groups":null,"predicted":null,"nodeList":[],"spec":{"parallelism":{}},
        "waits":{"code":"noCapacity","reason":"8 GPUs must share one node","starving":false,"job":null,"expectedAt":null},
        "submittedAt":"2026-11-21T08:00:00Z","startedAt":null,"endedAt":null,"notBefore":null,"damage":null,
        "ranks":{"count":0,"href":"/v1/jobs/job-000007/ranks"},"history":[]})",
                          201);
  });
  const Finished finished = service.run(
      {"jobs", "submit", "--tenant", "research", "--gpus", "8", "--not-before", "2026-11-21T09:00:00Z", "--ranks"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out,
              AllOf(HasSubstr("queued"), HasSubstr("8 GPUs must share one node"), Not(HasSubstr("On nodes:"))));
  const Json body = Json::parse(service.asked().at(0).body);
  EXPECT_EQ(body["queue"], true);
  EXPECT_EQ(body["notBefore"], "2026-11-21T09:00:00Z");
}

TEST(Repair, DryRunListsMovesAndBadGpusAreRefused) {
  StubService service;
  service.on(Method::post, "/v1/jobs/{id}/repair", [](const Request&) {
    return Response::json(R"({"job":"job-000007","lost":[{"node":"a","gpu":3}],"drains":["a"],"placedAnew":false,
        "within":"node","moves":[{"rank":3,"from":{"node":"a","gpu":3},"to":{"node":"a","gpu":5}}]})");
  });
  const Finished finished = service.run({"jobs", "repair", "job-000007", "--gpu", "a:3", "--node", "b", "--dry-run"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, AllOf(HasSubstr("1 ranks, within one node"), HasSubstr("a:5"), HasSubstr("Dry run")));
  EXPECT_EQ(service.asked().at(0).target, "/v1/jobs/job-000007/repair?dryRun=true");
  EXPECT_EQ(Json::parse(service.asked().at(0).body), Json::parse(R"({"nodes":["b"],"gpus":[{"node":"a","gpu":3}]})"));
  for (const char* wrong : {"a", ":3", "a:", "a:x"}) {
    EXPECT_EQ(service.run({"jobs", "repair", "job-000007", "--gpu", wrong}).exit_code, 2) << wrong;
  }
}

TEST(Reservations, SetMaintenanceOrRoomForAJob) {
  StubService service;
  service.on(Method::put, "/v1/reservations/{name}", [](const Request& request) {
    const Json body = Json::parse(request.body);
    Json answer{{"id", "r"},        {"kind", body["kind"]}, {"from", body["from"]},
                {"to", body["to"]}, {"tenant", nullptr},    {"reason", ""},
                {"gpus", 8},        {"version", 1}};
    answer["nodes"] = Json::array({Json::array({"dgx-1", Json::array({0, 1})})});
    return Response::json(answer.dump());
  });
  const std::vector<std::string> times = {"--from", "2026-12-01T08:00:00Z", "--to", "2026-12-01T12:00:00Z"};
  std::vector<std::string> upkeep = {"reservations", "set", "r", "--node", "dgx-1"};
  upkeep.insert(upkeep.end(), times.begin(), times.end());
  EXPECT_THAT(service.run(upkeep).out, AllOf(HasSubstr("maintenance"), HasSubstr("dgx-1")));
  // Maintenance is of no tenant and no job: what names one is refused, never dropped.
  for (const auto& more : {std::vector<std::string>{"--tenant", "research"}, std::vector<std::string>{"--gpus", "8"},
                           std::vector<std::string>{"--only", "dgx-1"}}) {
    std::vector<std::string> both = upkeep;
    both.insert(both.end(), more.begin(), more.end());
    const auto refused = service.run(both);
    EXPECT_EQ(refused.exit_code, static_cast<int>(ExitCode::usage)) << more.front();
    EXPECT_THAT(refused.err, HasSubstr("--node asks for maintenance"));
  }
  std::vector<std::string> room = {"reservations", "set", "r", "--tenant", "research", "--gpus", "8"};
  room.insert(room.end(), times.begin(), times.end());
  EXPECT_EQ(service.run(room).exit_code, 0);
  EXPECT_EQ(Json::parse(service.asked().at(1).body)["job"], Json::parse(R"({"gpus":8,"tenant":"research"})"));
}

}  // namespace
}  // namespace railweave::cli
