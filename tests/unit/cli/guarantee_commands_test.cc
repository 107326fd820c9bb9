// The commands about contracts and guarantees, against a service with canned answers.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/railweave/terminal/json.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/cli/stub_service.h"

namespace railweave::cli {
namespace {

using api::Method;
using api::Request;
using api::Response;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const char* const kContract =
    R"({"id":"research","guaranteedGbps":100,"maxGbps":200,"basis":"perPort","model":"hose","surviveLinkFailure":true,)"
    R"("classes":["all-reduce"],"reservedPermille":1000,"maxGpus":null,"maxNvlinkDomains":null,"pkey":"0x0001",)"
    R"("version":7})";

TEST(Contracts, AreListedAndShown) {
  StubService service;
  service.get("/v1/contracts", std::string(R"({"items":[)") + kContract + R"(],"nextCursor":null,"seq":9})");
  service.get("/v1/contracts/{tenant}", kContract);
  EXPECT_THAT(service.run({"contracts", "list"}).out, AllOf(HasSubstr("0x0001"), HasSubstr("all-reduce")));
  EXPECT_THAT(service.run({"contracts", "show", "research"}).out, HasSubstr("100 Gb/s per port\n"));
}

TEST(Contracts, SetKeepsWhatIsNotGivenAndHoldsToWhatWasRead) {
  StubService service;
  service.on(Method::get, "/v1/contracts/{tenant}",
             [](const Request&) { return Response::json(kContract).with("ETag", "\"research.7\""); });
  service.on(Method::put, "/v1/contracts/{tenant}", [](const Request&) { return Response::json(kContract); });
  const Finished done = service.run({"contracts", "set", "research", "--guaranteed", "50.5", "--no-survive", "--class",
                                     "storage", "--class", "all-to-all", "--per", "job", "--max-gpus", "64"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const auto put = service.asked().at(1);
  EXPECT_EQ(put.headers.value("If-Match"), "\"research.7\"");
  EXPECT_EQ(Json::parse(put.body),
            Json::parse(R"({"guaranteedGbps":50.5,"maxGbps":200,"basis":"perJob","model":"hose",)"
                        R"("surviveLinkFailure":false,"classes":["storage","all-to-all"],"reservedPermille":1000,)"
                        R"("maxGpus":64,"maxNvlinkDomains":null})"));
  EXPECT_EQ(service.run({"contracts", "set", "research", "--survive", "--no-survive"}).exit_code, 2);
  EXPECT_EQ(service.run({"contracts", "set", "research", "--guaranteed", "-1"}).exit_code, 2);
  EXPECT_EQ(service.run({"contracts", "set", "research", "--model", "star"}).exit_code, 2);
}

TEST(Contracts, RemoveSaysWhyNot) {
  StubService service;
  service.on(Method::del, "/v1/contracts/{tenant}", [](const Request&) {
    return Response::json(
        R"({"status":409,"code":"contracts.inUse","detail":"job-000001 rests on it","hint":"end it"})", 409);
  });
  const Finished refused = service.run({"contracts", "remove", "research"});
  EXPECT_EQ(refused.exit_code, 5);
  EXPECT_THAT(refused.err, HasSubstr("job-000001 rests on it"));
}

TEST(Qos, ClassesAreSetFromWhatWasPrinted) {
  StubService service;
  const std::string classes =
      R"({"items":[{"name":"bulk","sharePermille":900,"priority":0,"bound":"bandwidth","lossless":true,"dscp":26}],)"
      R"("version":4})";
  service.get("/v1/qos-classes", classes);
  service.on(Method::put, "/v1/qos-classes", [&](const Request&) { return Response::json(classes); });
  const Finished shown = service.run({"qos", "classes", "-o", "json"});
  EXPECT_THAT(service.run({"qos", "classes"}).out, AllOf(HasSubstr("bulk"), HasSubstr("900")));
  TemporaryFolder folder;
  const auto file = folder.path() / "classes.json";
  std::ofstream(file) << shown.out;
  ASSERT_EQ(service.run({"qos", "set", file.string()}).exit_code, 0);
  const auto put = service.asked().back();
  EXPECT_EQ(put.headers.value("If-Match"), "\"qos-classes.4\"");
  EXPECT_FALSE(Json::parse(put.body).contains("version"));
  std::ofstream(file) << "[";
  EXPECT_EQ(service.run({"qos", "set", file.string()}).exit_code, 8);
}

TEST(Guarantees, ListTellsWhatHoldsAndWhatDoesNot) {
  StubService service;
  const std::string terms = R"("tenant":"t","class":"all-reduce","model":"hose","guaranteedGbpsPerPort":50,)";
  service.get(
      "/v1/guarantees",
      R"({"items":[{"job":"job-000001",)" + terms +
          R"("state":"holds","surviveLinkFailure":true,"covered":false,"atRiskTotalMs":61000,"reason":"",)"
          R"("tightestLink":{"link":"a/1->b/2","name":"leaf-1/1->spine-1/2","reservedGbps":120,"limitGbps":133},"isolation":"lane","lane":1,"enforcement":[)"
          R"({"by":"functionRate","strength":"planned","statement":"Nothing sets it."}]},)"
          R"({"job":"job-000002",)" +
          terms +
          R"("state":"atRisk","surviveLinkFailure":false,"covered":false,"atRiskTotalMs":0,"reason":"2 links",)"
          R"("tightestLink":null,"isolation":"lane","lane":2,"enforcement":[],)"
          R"("inForce":{"level":"hardware","isolation":"lane","statement":""}}],)"
          R"("nextCursor":null,"seq":3})");
  const Finished listed = service.run({"guarantees", "list"});
  EXPECT_THAT(listed.out, AllOf(HasSubstr("120 of 133 Gb/s, leaf-1/1->spine-1/2"), HasSubstr("used up"),
                                HasSubstr("61 s"), HasSubstr("at risk"), HasSubstr("hardware"),
                                Not(HasSubstr("functionRate")), HasSubstr("lane 1 (planned)"), HasSubstr("lane 2")));
  EXPECT_THAT(listed.out, Not(HasSubstr("lane 2 (planned)")));
  EXPECT_THAT(service.run({"guarantees", "list", "-o", "wide"}).out, HasSubstr("functionRate (planned)"));
  (void)service.run({"guarantees", "list", "--at-risk", "--tenant", "t"});
  EXPECT_THAT(service.asked().back().target, AllOf(HasSubstr("state=atRisk"), HasSubstr("tenant=t")));
}

TEST(Guarantees, AQuestionTellsWhatWouldBeGivenAndWhatIsInTheWay) {
  StubService service;
  std::string answer =
      R"({"outcome":"placed","placement":{"level":"leaf","nodesUsed":2,"domainsUsed":2,"groupsAtLevel":1,)"
      R"("dataRingsOnRails":true},"ranks":{"count":2},"groups":{},"predicted":null,"alternatives":[],"guarantee":)"
      R"({"class":"all-reduce","guaranteedGbpsPerPort":50},"reservation":{"links":12,"mostGbpsOnALink":100,)"
      R"("reservedPermille":500,"coversLinkFailure":false},"qos":{"class":"all-reduce","serviceLevel":2,)"
      R"("trafficClass":104,"pkey":"0x8001"},"warnings":[]})";
  service.on(Method::post, "/v1/placements/query", [&](const Request&) { return Response::json(answer); });
  EXPECT_THAT(service.run({"place", "--tp", "2"}).out,
              AllOf(HasSubstr("50 Gb/s per port, class all-reduce (NCCL_IB_SL=2 NCCL_IB_TC=104)"),
                    HasSubstr("up to 100 Gb/s on 12 links, over-committed: 500 of 1000")));
  answer = R"({"outcome":"notNow","code":"admission.linksFull","reason":"1 link has too little left","explanation":)"
           R"({"excluded":[],"counterfactuals":[]},"links":[{"link":"a/1->b/2","wantedGbps":100,"reservedGbps":120,)"
           R"("limitGbps":133,"holders":[{"job":"job-000001","gbps":120}]}],"warnings":[]})";
  EXPECT_THAT(service.run({"place", "--tp", "2"}).out,
              AllOf(HasSubstr("a/1->b/2"), HasSubstr("133"), HasSubstr("job-000001 120")));
}

TEST(Guarantees, OtherRoutesAndNodesAreProposedAndAskedFor) {
  StubService service;
  service.get("/v1/guarantees/reroute",
              R"({"costs":[{"link":"a/1--b/2","cost":1.5}],"holdAgain":["job-000002"],"stillAtRisk":[],)"
              R"("loseCoverage":0,"changedEntries":12,"tried":2,"applied":false,)"
              R"("inForce":{"costs":[],"reason":"","actor":"","since":null},"seq":3})");
  EXPECT_THAT(service.run({"guarantees", "reroute"}).out,
              AllOf(HasSubstr("Would hold again"), HasSubstr("job-000002"), HasSubstr("a/1--b/2"), HasSubstr("1.50"),
                    HasSubstr("none: routes depend on the fabric alone")));
  service.on(Method::post, "/v1/guarantees/reroute", [](const Request&) {
    return Response::json(
        R"({"costs":[{"link":"a/1--b/2","cost":1.5}],"holdAgain":["job-000002"],"stillAtRisk":[],"loseCoverage":0,)"
        R"("changedEntries":12,"tried":2,"applied":true,"inForce":{"costs":[{"link":"a/1--b/2","cost":1.5}],)"
        R"("reason":"INC-42","actor":"local","since":"2026-11-22T10:00:00.000000Z"},"seq":4})");
  });
  EXPECT_THAT(service.run({"guarantees", "reroute", "--apply", "--reason", "INC-42"}).out,
              AllOf(HasSubstr("Hold again"), HasSubstr("on 1 link since 2026-11-22"), HasSubstr("INC-42")));
  EXPECT_EQ(Json::parse(service.asked().back().body), Json({{"reason", "INC-42"}}));
  service.on(Method::del, "/v1/guarantees/reroute", [](const Request&) { return Response::empty(); });
  EXPECT_EQ(service.run({"guarantees", "reroute", "--reset", "--force"}).exit_code, 0);
  EXPECT_EQ(service.asked().back().target, "/v1/guarantees/reroute?force=true");
  EXPECT_NE(service.run({"guarantees", "reroute", "--reset", "--apply"}).exit_code, 0);
  service.on(Method::post, "/v1/jobs/{id}/repair", [](const Request&) {
    return Response::json(
        R"({"job":"job-000002","lost":[],"drains":[],"placedAnew":false,"within":"node","moves":[]})");
  });
  EXPECT_EQ(service.run({"jobs", "repair", "job-000002", "--guarantee", "--dry-run"}).exit_code, 0);
  EXPECT_EQ(Json::parse(service.asked().back().body), Json({{"guarantee", true}}));
}

TEST(Guarantees, LinksCapsAndPartitionsArePrinted) {
  StubService service;
  service.get(
      "/v1/guarantees/links",
      R"({"items":[{"link":"a/1->b/2","name":"leaf-1/1->spine-1/2","capacityGbps":400,"fullest":0.9,"classes":[{"class":"all-reduce",)"
      R"("reservedGbps":120,"limitGbps":133,"jobs":1,"holders":[{"job":"job-000001","gbps":120}]}]}],)"
      R"("links":1,"seq":3})");
  service.get("/v1/jobs/{id}/caps",
              R"({"job":"job-000001","class":"all-reduce","items":[{"node":"n-1","ports":[{"device":"mlx5_0",)"
              R"("port":"a/1","guaranteedGbps":50,"maxGbps":60,"virtualFunction":["ip link set"],"queuePair":)"
              R"({"rateLimitKbps":60000000,"set":"x"},"tc":["tc qdisc"],"enforcement":[{"by":"hostShaping",)"
              R"("strength":"planned","statement":"Nothing sets it."}]}]}]})");
  service.get(
      "/v1/jobs/{id}/partition",
      R"({"job":"job-000001","tenant":"t","pkey":"0x8001","nodes":[{"node":"n-1","pkeyIndex":2,"isolated":true}],"items":[{"domain":"nv-1","number":3,"owner":"t",)"
      R"("gpus":[{"node":"n-1","gpu":2}],"imexNodes":["n-1"],"sharedWith":[],"request":{}},)"
      R"({"domain":"nv-2","number":1,"owner":"t","gpus":[],"imexNodes":[],"sharedWith":["other"],"request":{}}]})");
  EXPECT_THAT(service.run({"guarantees", "links", "--top", "1"}).out,
              AllOf(HasSubstr("leaf-1/1->spine-1/2  all-reduce"), HasSubstr("job-000001 120"), Not(HasSubstr("a/1"))));
  EXPECT_THAT(service.run({"guarantees", "caps", "job-000001"}).out,
              AllOf(HasSubstr("60 Gb/s"), HasSubstr("Nothing sets it.")));
  EXPECT_THAT(service.run({"guarantees", "caps", "job-000001", "--node", "n-1"}).out,
              AllOf(HasSubstr("ip link set"), HasSubstr("tc qdisc")));
  EXPECT_THAT(service.run({"guarantees", "partition", "job-000001"}).out,
              AllOf(HasSubstr("0x8001"), HasSubstr("nv-1, partition 3"), HasSubstr("with the key at index 2, isolated"),
                    HasSubstr("no IMEX list: its nodes also run jobs of other")));
  EXPECT_EQ(service.run({"guarantees", "partition", "job-000001", "--allow-shared"}).exit_code, 0);
  EXPECT_THAT(service.asked().back().target, HasSubstr("allowShared=true"));
}

TEST(JobRequest, BandwidthIsSentAsItIsGiven) {
  StubService service;
  service.on(Method::post, "/v1/placements/query",
             [](const Request&) { return Response::json(R"({"outcome":"never","code":"a.b","reason":"no"})"); });
  (void)service.run({"place", "--gpus", "8", "--bandwidth", "guaranteedGbpsPerPort=100,model=pattern"});
  ASSERT_FALSE(service.asked().empty());
  EXPECT_EQ(Json::parse(service.asked().back().body)["bandwidth"],
            Json::parse(R"({"guaranteedGbpsPerPort":100,"model":"pattern"})"));
}

}  // namespace
}  // namespace railweave::cli
