// Lists, answers of every shape, and resources, against a service with canned answers: requests, output, exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
using testing::Not;
using testing::StartsWith;

std::string node(int number) {
  return R"({"id":"dgx-)" + std::to_string(number) +
         R"(","kind":"compute","rack":"rack-1","gpus":8,"freeGpus":8,"drained":false,"state":"ready","labels":{"gpu":"h100"}})";
}

// Two items a page, cursors by position.
Response page_of_nodes(const Request& request, int count) {
  const auto* cursor = request.query("cursor");
  const int from = cursor == nullptr ? 0 : std::stoi(*cursor);
  std::string items;
  for (int i = from; i < std::min(from + 2, count); ++i) items += (items.empty() ? "" : ",") + node(i);
  const std::string next = from + 2 < count ? "\"" + std::to_string(from + 2) + "\"" : "null";
  return Response::json(R"({"items":[)" + items + R"(],"nextCursor":)" + next + R"(,"seq":7})");
}

TEST(Lists, FollowEveryPageAndPrintATable) {
  StubService service;
  service.on(Method::get, "/v1/nodes", [](const Request& request) { return page_of_nodes(request, 5); });
  const Finished finished = service.run({"nodes", "list", "--rack", "rack 1&x"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.err, "");
  EXPECT_THAT(finished.out, StartsWith("NODE   KIND     RACK    GPUS  FREE  STATE\n"
                                       "dgx-0  compute  rack-1     8     8  ready\n"));
  EXPECT_EQ(std::ranges::count(finished.out, '\n'), 6);
  const auto asked = service.asked();
  ASSERT_EQ(asked.size(), 3U);
  EXPECT_EQ(asked[0].target, "/v1/nodes?rack=rack 1&x&limit=1000");
  EXPECT_EQ(asked[2].target, "/v1/nodes?rack=rack 1&x&limit=1000&cursor=4");
}

TEST(Lists, PrintOneJsonOrYamlDocumentOfAllPages) {
  StubService service;
  service.on(Method::get, "/v1/nodes", [](const Request& request) { return page_of_nodes(request, 3); });
  const Finished finished = service.run({"-o", "json", "nodes", "list"});
  const Json document = Json::parse(finished.out);
  EXPECT_EQ(document["items"].size(), 3U);
  EXPECT_EQ(document["items"][2], Json::parse(node(2)));
  EXPECT_TRUE(document["nextCursor"].is_null());
  EXPECT_EQ(document["seq"], 7);
  EXPECT_THAT(service.run({"nodes", "list", "-o", "yaml"}).out, StartsWith("items:\n  - id: dgx-0\n"));
}

TEST(Lists, StopAtTheLimitAndSaySo) {
  StubService service;
  service.on(Method::get, "/v1/nodes", [](const Request& request) { return page_of_nodes(request, 9); });
  const Finished finished = service.run({"nodes", "list", "--limit", "3"});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(std::ranges::count(finished.out, '\n'), 4);
  EXPECT_THAT(finished.err, HasSubstr("the first 3; there are more"));
}

TEST(Lists, BeginAgainWhenTheFabricChangesUnderTheCursor) {
  StubService service;
  int requests = 0;
  service.on(Method::get, "/v1/nodes", [&requests](const Request& request) {
    if (++requests == 2) {
      return Response::json(R"({"status":409,"code":"query.cursorExpired","detail":"the topology changed"})", 409);
    }
    return page_of_nodes(request, 3);
  });
  const Finished finished = service.run({"nodes", "list"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(std::ranges::count(finished.out, '\n'), 4) << finished.out;
}

TEST(Lists, DoNotGoOnForEverWithAServerThatDoes) {
  StubService service;
  service.get("/v1/nodes", R"({"items":[)" + node(1) + R"(],"nextCursor":"same","seq":1})");
  EXPECT_EQ(service.run({"nodes", "list"}).exit_code, 0);
  EXPECT_EQ(service.asked().size(), 2U);
}

TEST(Lists, SayOnStderrThatThereIsNothing) {
  StubService service;
  service.get("/v1/jobs", R"({"items":[],"nextCursor":null,"seq":1})");
  const Finished finished = service.run({"jobs", "list"});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.out, "");
  EXPECT_EQ(finished.err, "no jobs\n");
}

TEST(Answers, ThatAreGarbageAreRefusedWithoutRepeatingThem) {
  for (const char* body :
       {"", "<html>hello</html>", "[]", "7", "{", "{\"items\":7}", "\x1b[2J\x1b[31m", "{\"items\":{}}"}) {
    StubService service;
    service.get("/v1/nodes", body);
    const Finished finished = service.run({"nodes", "list"});
    EXPECT_EQ(finished.exit_code, 3) << body;
    EXPECT_EQ(finished.out, "");
    EXPECT_THAT(finished.err, AllOf(StartsWith("railweave: "), HasSubstr("is it railweaved"), Not(HasSubstr("\x1b"))));
  }
}

TEST(Answers, OfOtherShapesArePrintedAsFarAsTheyGo) {
  StubService service;
  service.get("/v1/nodes", R"({"items":[7,null,{"id":["x"]},{"id":"ok","gpus":"many","labels":3}]})");
  const Finished finished = service.run({"nodes", "list", "-o", "wide"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("ok"));
  StubService other;
  other.get("/v1/jobs/{id}", R"({"id":1,"nodeList":"x","history":{},"placement":[],"spec":null})");
  EXPECT_EQ(other.run({"jobs", "show", "job-000001"}).exit_code, 0);
}

TEST(Answers, CannotSteerTheTerminal) {
  StubService service;
  service.get("/v1/nodes",
              R"({"items":[{"id":"a\u001b[31m\u009b\u202ez\nb","rack":"\u007f"}],"nextCursor":null,"seq":1})");
  for (const char* format : {"table", "wide", "json", "yaml"}) {
    const Finished finished = service.run({"nodes", "list", "-o", format});
    EXPECT_EQ(finished.exit_code, 0);
    for (const char c : finished.out) {
      ASSERT_TRUE((static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) || c == '\n') << format << "\n" << finished.out;
    }
    EXPECT_EQ(finished.out.find("\xe2\x80\xae"), std::string::npos) << format;
    EXPECT_EQ(finished.out.find("\xc2\x9b"), std::string::npos) << format;
  }
}

TEST(Answers, ProblemsBecomeOneLineAndAnExitCode) {
  struct Case {
    int status, exit_code;
  };
  for (const auto& [status, exit_code] : {Case{400, 8}, Case{404, 4}, Case{409, 5}, Case{412, 5}, Case{413, 8},
                                          Case{422, 7}, Case{429, 9}, Case{503, 9}, Case{500, 1}}) {
    StubService service;
    service.get("/v1/nodes/{id}", R"({"code":"x.y","detail":"no such\u001b[31m thing","hint":"look elsewhere"})",
                status);
    const Finished finished = service.run({"nodes", "show", "dgx/1"});
    EXPECT_EQ(finished.exit_code, exit_code) << status;
    EXPECT_EQ(finished.out, "");
    EXPECT_EQ(finished.err, "railweave: no such\\x1b[31m thing (look elsewhere)\n");
    EXPECT_EQ(service.asked().at(0).target, "/v1/nodes/dgx%2F1");
  }
}

TEST(Answers, ThatTakeTooLongEndTheCommand) {
  Gate gate;
  StubService service;
  service.on(Method::get, "/v1/fabric", [&](const Request&) {
    gate.wait();
    return Response::json("{}");
  });
  const Finished finished = service.run({"fabric", "show", "--timeout", "0.2"});
  gate.open();
  EXPECT_EQ(finished.exit_code, 3);
  EXPECT_THAT(finished.err, HasSubstr("did not answer within 200 ms"));
}

TEST(Tenants, SetChangesOnlyWhatIsGiven) {
  StubService service;
  service.on(Method::get, "/v1/tenants/{name}", [](const Request&) {
    return Response::json(R"({"id":"research","description":"pre-training","maxGpus":64,"gpusHeld":8,"version":3})")
        .with("ETag", "\"research.3\"");
  });
  service.on(Method::put, "/v1/tenants/{name}", [](const Request& request) { return Response::json(request.body); });
  EXPECT_EQ(service.run({"tenants", "set", "research", "--max-gpus", "128"}).exit_code, 0);
  EXPECT_EQ(service.run({"tenants", "put", "research", "--no-limit", "--description", ""}).exit_code, 0);
  const auto asked = service.asked();
  EXPECT_EQ(Json::parse(asked.at(1).body), Json::parse(R"({"description":"pre-training","maxGpus":128})"));
  EXPECT_EQ(asked.at(1).headers.value("If-Match"), "\"research.3\"");
  EXPECT_EQ(Json::parse(asked.at(3).body), Json::parse(R"({"description":"","maxGpus":null})"));
}

TEST(Progress, IsShownAfterASecondAndOnATerminalOnly) {
  constexpr const char* kProgress = "\x1b[Kworking ... 1 s";
  Gate gate;
  StubService service;
  service.on(Method::get, "/v1/fabric", [&](const Request&) {
    gate.wait();
    return Response::json(R"({"hosts":1,"switches":1})");
  });
  RunOptions options{.environment = {"TERM=xterm", "NO_COLOR=1"}, .terminal = true};
  options.on_output = [&](const std::string& out) {
    if (out.contains(kProgress)) gate.open();
  };
  const Finished shown = service.run({"fabric", "show"}, options);
  EXPECT_THAT(shown.out, HasSubstr(kProgress));
  EXPECT_THAT(shown.out, HasSubstr("\x1b[KHosts:")) << "erased before the answer";
  const Finished piped = service.run({"fabric", "show"});
  EXPECT_EQ(piped.err, "");
  EXPECT_THAT(piped.out, StartsWith("Hosts:"));
}

}  // namespace
}  // namespace railweave::cli
