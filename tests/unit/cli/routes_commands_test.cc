// `railweave routes` against a service with canned answers.
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

std::string audit(bool verified) {
  return std::string(R"({"engine":"fat-tree","sound":)") + (verified ? "true" : "false") +
         R"(,"pairs":90,"unreachablePairs":2,"cutOffPairs":2,"unreached":[{"from":"leaf-1","to":"dgx-1/mlx5_0",)"
         R"("at":null,"endPorts":4,"reason":"destinationCutOff"}],"longestRoute":2,"nonminimalPairs":0,"lanesUsed":1,)"
         R"("creditLoops":0,"maxLinkLoad":25,"maxLink":{"from":"leaf-1","to":"spine-1","port":"a/16","link":"x"},)"
         R"("maxLinkLoadHosts":20,"maxLinkHosts":null,"worstShiftLoad":3,"findings":[]})";
}

TEST(Routes, AuditEndsWithTenUnlessTheTablesAreVerified) {
  StubService service;
  bool verified = true;
  service.on(Method::get, "/v1/routes/audit", [&verified](const Request&) { return Response::json(audit(verified)); });
  const Finished good = service.run({"routes", "audit"});
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_THAT(good.out, HasSubstr("Fullest link:     25 pairs, leaf-1/16 -> spine-1\n"));
  EXPECT_THAT(good.out, HasSubstr("leaf-1       dgx-1/mlx5_0  -                4  destinationCutOff\n"));
  verified = false;
  EXPECT_EQ(service.run({"routes", "audit"}).exit_code, 10);
  EXPECT_EQ(service.run({"routes", "audit", "-o", "json"}).exit_code, 10);
}

TEST(Routes, PathPrintsEveryHop) {
  StubService service;
  service.on(Method::get, "/v1/routes/path", [](const Request&) {
    return Response::json(
        R"({"from":"a","to":"b","paths":[{"from":"dgx-1/mlx5_0","to":"dgx-2/mlx5_0","rail":"rail-0","outcome":"deadPort",)"
        R"("serviceLevel":0,"hops":[{"from":"dgx-1/mlx5_0","outPort":1,"to":"leaf-1","inPort":7,"lane":0,)"
        R"("rateGbps":400,"link":"x"}]}]})");
  });
  const Finished finished = service.run({"routes", "path", "dgx-1", "dgx 2"});
  EXPECT_EQ(finished.exit_code, 10) << "it does not arrive";
  EXPECT_THAT(finished.out, HasSubstr("Path:     dgx-1/mlx5_0 -> dgx-2/mlx5_0, rail rail-0\n"));
  EXPECT_THAT(finished.out, HasSubstr("Outcome:  deadPort\n"));
  EXPECT_THAT(finished.out, HasSubstr("  dgx-1/mlx5_0    1  leaf-1   7     0   400\n"));
  EXPECT_EQ(service.asked().at(0).target, "/v1/routes/path?from=dgx-1&to=dgx 2");
}

TEST(Routes, DiffAsksForWhatIsNamed) {
  StubService service;
  service.on(Method::post, "/v1/routes/diff", [](const Request&) {
    return Response::json(R"({"changedEntries":5,"changedBlocks":3,"changedSwitches":2,"stages":1,"dropsFirst":false,)"
                          R"("switches":[{"switch":"leaf-1","entries":4,"blocks":2}],"before":)" +
                          audit(true) + R"(,"after":)" + audit(true) + "}");
  });
  const Finished finished = service.run(
      {"routes", "diff", "--fail-link", "a/1--b/2", "--fail-link", "c/1--d/2", "--drain-switch", "spine-1"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("5 entries in 3 blocks of 2 switches\n"));
  EXPECT_THAT(finished.out, HasSubstr("leaf-1        4       2\n"));
  EXPECT_EQ(Json::parse(service.asked().at(0).body),
            Json::parse(R"({"failLinks":["a/1--b/2","c/1--d/2"],"drainSwitches":["spine-1"]})"));
  const Finished nothing = service.run({"routes", "diff"});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.err, HasSubstr("no change is requested (give --fail-link"));
}

}  // namespace
}  // namespace railweave::cli
