// Events, progress and status against a service with canned answers: output and exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/http/message/event_stream.h"
#include "services/railweave/terminal/json.h"
#include "tests/unit/cli/gate.h"
#include "tests/unit/cli/stub_service.h"

namespace railweave::cli {
namespace {

using api::Method;
using api::Request;
using api::Response;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string event(int seq) {
  return R"({"seq":)" + std::to_string(seq) +
         R"(,"time":"2026-11-21T09:00:00Z","type":"job.placed","subject":{"kind":"job","id":"job-000001"},"actor":"local",)"
         R"("summary":"placed","severity":"info","data":{}})";
}

TEST(Events, ShowTheNewestByDefault) {
  StubService service;
  service.on(Method::get, "/v1/events", [](const Request& request) {
    const std::uint64_t after = std::stoull(*request.query("after"));
    std::string items;
    for (std::uint64_t seq = after + 1; seq <= 200 && seq > after; ++seq) {
      items += (items.empty() ? "" : ",") + event(static_cast<int>(seq));
    }
    return Response::json(R"({"items":[)" + items + R"(],"nextCursor":null,"seq":200})");
  });
  const Finished finished = service.run({"events", "--last", "3"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(std::ranges::count(finished.out, '\n'), 4);
  EXPECT_THAT(finished.out, HasSubstr("\n198  2026"));
  EXPECT_EQ(Json::parse(service.run({"events", "--after", "190", "-o", "json"}).out)["items"].size(), 10U);
}

TEST(Events, FollowPrintsEachEventAndResumesWhereTheStreamBroke) {
  for (const bool document : {false, true}) {
    StubService service;
    int streams = 0;
    service.on(Method::get, "/v1/events/stream", [&streams](const Request&) {
      if (++streams > 1) return Response::json(R"({"code":"x","detail":"gone"})", 404);
      return Response::events([](const std::shared_ptr<api::StreamSink>& sink) {
        sink->send(api::format_event("6", "job.placed", event(6)));
        sink->send(api::format_event("7", "job.placed", "not JSON\x1b[31m"));
        sink->send(api::format_event("8", "job.placed", event(8)));
        sink->close("restarting");
      });
    });
    std::vector<std::string> line{"events", "--follow", "--after", "5", "--type", "job.placed"};
    if (document) line.insert(line.end(), {"-o", "json"});
    const Finished finished = service.run(line);
    EXPECT_EQ(finished.exit_code, 4) << finished.err;
    EXPECT_THAT(finished.err,
                AllOf(HasSubstr("an event that is not JSON"), HasSubstr("restarting"), HasSubstr("gone")));
    ASSERT_EQ(std::ranges::count(finished.out, '\n'), 2) << finished.out;
    if (document) {
      EXPECT_EQ(Json::parse(finished.out.substr(0, finished.out.find('\n'))), Json::parse(event(6)));
    } else {
      EXPECT_THAT(finished.out, StartsWith("6        2026-11-21T09:00:00Z  job.placed          placed\n8 "));
    }
    EXPECT_EQ(service.asked().at(1).headers.value("Last-Event-ID"), "8");
  }
}

TEST(Events, FollowEndsQuietlyWhenStdoutHasNoReader) {
  StubService service;
  service.on(Method::get, "/v1/events/stream", [](const Request&) {
    return Response::events([](const std::shared_ptr<api::StreamSink>& sink) {
      sink->send(api::format_event("6", "job.placed", event(6)));
    });
  });
  const Finished finished = service.run({"events", "--follow", "--after", "5"}, {.closed_stdout = true});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.err, "");
}

TEST(Events, FollowEndsWhenTheStreamIsRefused) {
  StubService service;
  service.get("/v1/events/stream", R"({"code":"query.invalidNumber","detail":"no"})", 400);
  const Finished finished = service.run({"events", "--follow", "--after", "5"});
  EXPECT_EQ(finished.exit_code, 8);
  EXPECT_EQ(service.asked().at(0).headers.value("Last-Event-ID"), "5");
}

constexpr const char* kNothing = R"({"items":[],"nextCursor":null,"seq":1})";

// Nothing is wrong, drained or waiting.
void quiet(StubService& service) {
  service.get("/v1/alarms", kNothing);
  service.get("/v1/drains", kNothing);
  service.get("/v1/queue", R"({"waiting":0,"gpusWaiting":0,"oldestSubmittedAt":null})");
}

TEST(Status, IsReadyOrNine) {
  for (const bool ready : {true, false}) {
    StubService service;
    service.get("/readyz", ready ? R"({"phase":"ready","seq":1})" : R"({"phase":"replaying","seq":1})",
                ready ? 200 : 503);
    service.get("/v1/leader",
                R"({"leader":{"name":"rack-2","url":"http://rack-2:7470","term":4,"since":"2026-11-23T06:00:00Z"},)"
                R"("replica":{"name":"rack-1","leads":false,"seq":1,"stalenessMs":12}})");
    service.get("/v1/fabric",
                R"({"source":"demo.json","hosts":128,"switches":20,"gpus":1024,"freeGpus":256,"interSwitchLinks":3})");
    service.get("/v1/jobs",
                R"({"items":[{"id":"job-000001","name":"a","tenant":"b","state":"placed"},)"
                R"({"id":"job-000002","name":"a","tenant":"b","state":"placed"},)"
                R"({"id":"job-000003","name":"a","tenant":"b","state":"queued"}],"nextCursor":null,"seq":1})");
    quiet(service);
    service.get("/v1/tenants",
                R"({"items":[{"id":"research","gpusHeld":768,"maxGpus":null}],"nextCursor":null,"seq":1})");
    service.get("/v1/subnets", R"({"code":"access.denied","detail":"not yours"})", 403);
    const Finished finished = service.run({"status"});
    EXPECT_EQ(finished.exit_code, ready ? 0 : 9) << "who may not see subnets is told the rest";
    EXPECT_THAT(finished.out, AllOf(HasSubstr("1024, 256 free (25%)"), HasSubstr("2 placed"), HasSubstr("research"),
                                    HasSubstr("rack-2 at http://rack-2:7470, term 4")));
  }
}

TEST(Status, ASubnetThatIsNotSeenIsAFinding) {
  for (const char* phase : {"synced", "blind", "offline"}) {
    const bool unseen = std::string_view(phase) != "synced";
    StubService service;
    service.get("/readyz", R"({"phase":"ready","seq":1})");
    service.get("/v1/leader", R"({"leader":null,"replica":{"name":"a","leads":true,"seq":1,"stalenessMs":0}})");
    service.get("/v1/fabric", R"({"source":"x","hosts":1,"switches":1,"gpus":8,"freeGpus":8,"interSwitchLinks":0})");
    service.get("/v1/jobs", R"({"items":[],"nextCursor":null,"seq":1})");
    quiet(service);
    service.get("/v1/tenants", R"({"items":[],"nextCursor":null,"seq":1})");
    service.get("/v1/subnets", std::string(R"({"items":[{"id":"files","mode":"observe","live":null},)"
                                           R"({"id":"compute","mode":"direct","live":{"phase":")") +
                                   phase + R"(","problem":"","unseen":)" + (unseen ? "true" : "false") +
                                   R"(,"discoveredAt":"2026-11-21T09:00:00Z"}}],"nextCursor":null,"seq":1})");
    const Finished finished = service.run({"status"});
    EXPECT_EQ(finished.exit_code, unseen ? 10 : 0) << finished.err;
    EXPECT_THAT(finished.out, HasSubstr(std::string("compute, direct mode, ") + phase));
    EXPECT_EQ(finished.out.find("nothing is known of its links and tables since 2026-11-21") != std::string::npos,
              unseen);
    EXPECT_EQ(finished.out.find("files"), std::string::npos) << "it is not live";
  }
}

TEST(Status, SaysWhatIsWrongBeforeAnythingElse) {
  StubService service;
  service.get("/readyz", R"({"phase":"ready","seq":1})");
  service.get("/v1/leader", R"({"leader":null,"replica":{"name":"a","leads":true,"seq":1,"stalenessMs":0}})");
  service.get("/v1/fabric", R"({"source":"x","hosts":1,"switches":1,"gpus":8,"freeGpus":8,"interSwitchLinks":0})");
  service.get("/v1/tenants", kNothing);
  service.get("/v1/subnets",
              R"({"items":[{"id":"compute","mode":"direct","live":{"phase":"partial","problem":"no route"}}],)"
              R"("nextCursor":null,"seq":1})");
  service.get("/v1/jobs",
              R"({"items":[{"id":"job-000001","name":"llama","tenant":"research","state":"placed","damaged":true},)"
              R"({"id":"job-000002","state":"placed","damaged":false}],"nextCursor":null,"seq":1})");
  const auto alarm = [](const char* severity, const char* kind) {
    return std::string(R"({"severity":")") + severity + R"(","kind":")" + kind +
           R"(","subject":{"kind":"link","id":"x","name":"x"},"subnet":"compute","raisedAt":"2026-11-21T09:00:00Z",)" +
           R"("text":"POST /v1/jobs/job-000001/repair moves its ranks","jobs":[],"acknowledged":null})";
  };
  service.get("/v1/alarms", R"({"items":[)" + alarm("warning", "guarantee.remarked") + "," +
                                alarm("critical", "link.down") + R"(],"nextCursor":null,"seq":1})");
  service.get("/v1/drains",
              R"({"items":[{"kind":"node","name":"n-1","state":"requested","changedAt":"2026-11-21T09:00:00Z"}],)"
              R"("nextCursor":null,"seq":1})");
  service.get("/v1/queue", R"({"waiting":3,"gpusWaiting":24,"oldestSubmittedAt":"2026-11-21T09:00:00Z"})");
  const Finished finished = service.run({"status"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  std::size_t at = 0;
  for (const char* next :
       {"critical  link.down", "railweave jobs repair job-000001", "warning   guarantee.remarked",
        "Alarms:   1 critical, 1 warning", "Subnet:   compute, direct mode, partial: no route",
        "Damaged:  job-000001, llama of research", "Drains:   node n-1 requested",
        "Waiting:  3 jobs for 24 GPUs, the oldest since 2026-11-21T09:00:00Z (", "Service:", "Jobs:     2 placed"}) {
    const std::size_t found = finished.out.find(next, at);
    ASSERT_NE(found, std::string::npos) << next << "\n" << finished.out;
    at = found;
  }
  EXPECT_EQ(finished.out.find("/v1/"), std::string::npos) << finished.out;
  EXPECT_EQ(service.run({"status", "--check"}).exit_code, 10);
}

}  // namespace
}  // namespace railweave::cli
