// railweave fabric import and check against a service with canned answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/railweave/terminal/json.h"
#include "tests/unit/cli/stub_service.h"

namespace railweave::cli {
namespace {

using api::Method;
using api::Request;
using api::Response;
using testing::HasSubstr;

TEST(Import, UploadsWatchesTheOperationAndPrintsTheFabric) {
  StubService service;
  service.on(Method::put, "/v1/fabric/topology", [](const Request&) {
    return Response::json(R"({"operation":"op-000001"})", 202).with("Location", "/v1/operations/op-000001");
  });
  int polls = 0;
  service.on(Method::get, "/v1/operations/{id}", [&polls](const Request&) {
    if (++polls < 3) return Response::json(R"({"state":"running","progress":{"done":1,"total":2,"unit":"bytes"}})");
    return Response::json(R"({"state":"succeeded","result":{"hosts":3,"switches":1,"gpus":24,"source":"x"}})");
  });
  const std::string file = scratch_file("fabric.txt", "hello");
  const Finished finished =
      service.run({"fabric", "import", file, "--gpus-per-node", "8", "--subnet", "a b", "--force"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("Hosts:              3\n"));
  const auto put = service.asked().at(0);
  EXPECT_EQ(put.body, "hello");
  EXPECT_EQ(put.headers.value("Prefer"), "respond-async");
  EXPECT_EQ(put.target, "/v1/fabric/topology?format=auto&source=" + file + "&subnet=a b&gpusPerNode=8&force=true");
  EXPECT_EQ(polls, 3);
}

TEST(Import, ReportsWhyTheOperationFailed) {
  StubService service;
  service.on(Method::put, "/v1/fabric/topology",
             [](const Request&) { return Response::json("{}", 202).with("Location", "/v1/operations/op-000001"); });
  int asked = 0;
  service.on(Method::get, "/v1/operations/{id}", [&asked](const Request&) {
    const bool first = ++asked == 1;
    const std::string code = first ? "ibnetdiscover.unreadable" : "topology.losesJobs";
    return Response::json(R"({"state":"failed","error":{"code":")" + code + R"(","status":)" + (first ? "400" : "409") +
                          R"(,"detail":"dump.txt: line 3, column 1: no","hint":"see"}})");
  });
  const std::string file = scratch_file("fabric.txt", "hello");
  const Finished unreadable = service.run({"fabric", "import", file});
  EXPECT_EQ(unreadable.exit_code, 8);
  EXPECT_EQ(unreadable.err, "railweave: dump.txt: line 3, column 1: no (see)\n");
  EXPECT_EQ(service.run({"fabric", "import", file}).exit_code, 5);
}

TEST(Import, SeveralFilesAreOneRequest) {
  StubService service;
  service.on(Method::put, "/v1/fabric/topology",
             [](const Request&) { return Response::json(R"({"hosts":1,"switches":1})"); });
  const std::string file = scratch_file("second.txt", "second");
  EXPECT_EQ(service.run({"fabric", "import", "-", file, "--hosts", "dgx-1"}, {.input = "first"}).exit_code, 0);
  const auto asked = service.asked();
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].target, "/v1/fabric/topology?format=files&source=stdin, " + file + "&hosts=dgx-1");
  const Json files = Json::parse(asked[0].body)["files"];
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0], Json::parse(R"({"name":"stdin","format":"auto","text":"first"})"));
  EXPECT_EQ(files[1]["text"], "second");
}

TEST(Import, AFileThatCannotBeReadSendsNothing) {
  StubService service;
  service.on(Method::put, "/v1/fabric/topology", [](const Request&) { return Response::json("{}"); });
  const std::string file = scratch_file("good.txt", "good");
  EXPECT_EQ(service.run({"fabric", "import", file, scratch_path("absent.txt")}).exit_code, 4);
  EXPECT_EQ(service.run({"fabric", "import", file, "/"}).exit_code, 8);
  EXPECT_EQ(service.run({"fabric", "import", "/dev/zero"}).exit_code, 8);
  EXPECT_THAT(service.asked(), testing::IsEmpty());
}

TEST(Check, FailsOnlyWhenAsked) {
  StubService service;
  service.get(
      "/v1/fabric/findings",
      R"({"findings":[{"code":"hostShortOfRail","severity":"warning","message":"m","objects":["a","b","c","d"]}]})");
  const Finished finished = service.run({"fabric", "check"});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.out,
            "SEVERITY  CODE             MESSAGE  OBJECTS\n"
            "warning   hostShortOfRail  m        a, b, c +1\n"
            "\n0 errors, 1 warning, 0 notes\n");
  EXPECT_EQ(service.run({"fabric", "check", "--fail-on", "error"}).exit_code, 0);
  EXPECT_EQ(service.run({"fabric", "check", "--fail-on", "warning"}).exit_code, 10);
  EXPECT_EQ(service.run({"fabric", "check", "--fail-on", "info", "-o", "json"}).exit_code, 10);
}

TEST(Export, WritesWhatTheServiceHasOrSlurmsFileOfIt) {
  StubService service;
  const std::string native =
      R"({"railweave":"fabric","version":1,"hosts":[{"name":"n1","gpus":[{}]},{"name":"n2","gpus":[{}]}]})";
  service.on(Method::get, "/v1/fabric/topology", [&](const Request&) { return Response::json(native); });
  EXPECT_EQ(service.run({"fabric", "export"}).out, native + "\n");
  EXPECT_EQ(service.run({"fabric", "export", "slurm"}).out, "SwitchName=cluster Nodes=n[1-2]\n");
  EXPECT_EQ(service.run({"fabric", "export", "slurm", "--plugin", "block"}).out,
            "BlockName=cluster Nodes=n[1-2]\nBlockSizes=2\n");
  EXPECT_THAT(service.run({"fabric", "export", "slurm", "--format", "topology.yaml"}).out,
              HasSubstr("nodes: \"n[1-2]\""));
  const Finished wrong = service.run({"fabric", "export", "--plugin", "tree"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("fabric export slurm"));
}

}  // namespace
}  // namespace railweave::cli
