// The commands about the live fabric, against a service with canned answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/http/message/event_stream.h"
#include "services/railweave/terminal/json.h"
#include "tests/unit/cli/stub_service.h"

namespace railweave::cli {
namespace {

using api::Method;
using api::Request;
using api::Response;
using testing::HasSubstr;
using testing::StartsWith;

const char* const kLive =
    R"({"phase":"programming","problem":"","port":"mlx5_0/1","switches":3,"adapters":8,"linksUp":9,"linksDown":1,)"
    R"("linksDamped":0,"discoveredAt":"2026-11-21T09:00:00Z","discoveryTookUs":4711,"discoveryMads":99,)"
    R"("sync":{"blocksWanted":3,"blocksDiffering":2,"wantedDigest":"00000000000000aa","appliedDigest":null,)"
    R"("readBackAt":null},"walk":{"at":"2026-11-21T09:02:00Z","seenSince":"2026-11-21T09:01:00Z",)"
    R"("pairs":56,"lostPairs":3},"isolated":[],"isolatedCount":0,"differences":[{"kind":"missingDevice","subject":"n-1",)"
    R"("text":"n-1 was not found"}],"differenceCount":1,"repairs":[{"cause":"2 links down","at":"2026-11-21T09:00:01Z",)"
    R"("noticedUs":10,"sweptUs":2000,"computedUs":3000,"programmedUs":9040,"changedEntries":5,"blocks":2,"mads":4,)"
    R"("isolated":0,"unreachablePairs":null}],"repairsTotal":1,)"
    R"("qos":{"classes":6,"partitions":2,"portsProgrammed":40,"portsPending":3,"ingressFilter":true,"filesWrittenAt":null,)"
    R"("problem":"2 ports: leaf-1/3 does not answer"}})";

std::string subnet() {
  return std::string(
             R"({"id":"compute","accepted":true,"kind":"compute","switches":3,"hostPorts":8,"mode":"direct",)") +
         R"("modeReason":"handed over","modeVersion":7,"live":)" + kLive + "}";
}

const char* const kAnswer =
    R"({"kind":"link","id":"a/1--b/2","allowed":false,"safe":false,"objections":["it cuts off 1 end port: n-1/x"],)"
    R"("cutsOff":[{"port":"c/1","node":"n-1","device":"n-1/x"}],"cutsOffCount":1,"jobsAffected":[{"job":"job-000001",)"
    R"("name":"j","tenant":"t","effect":"cutOff"}],"jobsAffectedCount":1,"changedEntries":5,"changedSwitches":2,)"
    R"("maxLinkLoadBefore":10,"maxLinkLoadAfter":20,"residualCapacity":0.875,"state":null,"waitsFor":null})";

TEST(Subnets, ShowTellsHowFarItIs) {
  StubService service;
  service.get("/v1/subnets/{id}", subnet());
  const Finished finished = service.run({"subnets", "show", "compute"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("Mode:           direct: handed over\n"));
  EXPECT_THAT(finished.out, HasSubstr("2 of 3 differ\n"));
  EXPECT_THAT(finished.out, HasSubstr("missingDevice  n-1      n-1 was not found\n"));
  EXPECT_THAT(finished.out, HasSubstr("9.0")) << "milliseconds";
  EXPECT_THAT(finished.out, HasSubstr("6 classes, 2 partitions on 40 ports, 3 pending\n"));
  EXPECT_THAT(finished.out, HasSubstr("2 ports: leaf-1/3 does not answer\n"));
  EXPECT_THAT(finished.out, HasSubstr(": 56 pairs, 3 lost by the tables that switches hold\n"));
  EXPECT_EQ(Json::parse(service.run({"subnets", "show", "compute", "-o", "json"}).out), Json::parse(subnet()));
}

TEST(Subnets, ModeIsHeldToWhatWasRead) {
  StubService service;
  service.on(Method::get, "/v1/subnets/{id}",
             [](const Request&) { return Response::json(subnet()).with("ETag", "\"mode.7\""); });
  service.on(Method::put, "/v1/subnets/{id}/mode", [](const Request&) {
    return Response::json(R"({"subnet":"compute","mode":"observe","reason":"r","version":9})");
  });
  const Finished finished = service.run({"subnets", "mode", "compute", "observe", "--reason", "r"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("Mode:    observe\n"));
  const auto put = service.asked().at(1);
  EXPECT_EQ(put.target, "/v1/subnets/compute/mode");
  EXPECT_EQ(put.headers.value("If-Match"), "\"mode.7\"");
  EXPECT_EQ(Json::parse(put.body), Json::parse(R"({"mode":"observe","reason":"r"})"));
  EXPECT_EQ(service.run({"subnets", "mode", "compute", "manual"}).exit_code, 2);
}

TEST(Discover, WaitsAndPrintsTheDifferences) {
  StubService service;
  service.on(Method::post, "/v1/fabric/discover", [](const Request&) {
    return Response::json(R"({"operation":"op-000001"})", 202).with("Location", "/v1/operations/op-000001");
  });
  int polls = 0;
  service.on(Method::get, "/v1/operations/{id}", [&polls](const Request&) {
    if (++polls < 3) return Response::json(R"({"state":"running","progress":{"done":0,"total":1,"unit":"steps"}})");
    return Response::json(std::string(R"({"state":"succeeded","result":{"subnet":"compute","mode":"observe","live":)") +
                          kLive + R"(,"differences":[{"kind":"otherLid","subject":"leaf-1","text":"LID 7"}],)" +
                          R"("differenceCount":1,"accepted":false,"fabric":null}})");
  });
  const Finished finished = service.run({"fabric", "discover", "--subnet", "compute"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, StartsWith("compute: observe mode, programming, 3 switches"));
  EXPECT_THAT(finished.out, HasSubstr("otherLid    leaf-1   LID 7\n"));
  EXPECT_THAT(finished.out, HasSubstr("1 differences from the accepted topology"));
  EXPECT_EQ(Json::parse(service.asked().at(0).body), Json::parse(R"({"subnet":"compute"})"));
  EXPECT_EQ(service.run({"fabric", "discover", "--gpus-per-node", "8"}).exit_code, 2);
  polls = 2;
  EXPECT_EQ(service.run({"fabric", "discover", "--accept", "--gpus-per-node", "8"}).exit_code, 0);
  EXPECT_EQ(Json::parse(service.asked().at(4).body), Json::parse(R"({"accept":true,"gpusPerNode":8})"));
}

TEST(Sync, EndsWithTenUnlessSynced) {
  StubService service;
  bool synced = false;
  service.on(Method::get, "/v1/fabric/sync", [&synced](const Request&) {
    const std::string yes = synced ? "true" : "false";
    return Response::json(R"({"synced":)" + yes +
                          R"(,"subnets":[{"subnet":"compute","mode":"direct","phase":"synced",)" + R"("synced":)" +
                          yes + R"(,"blocksWanted":3,"blocksDiffering":2,"isolated":0,)" +
                          R"("readBackAt":null,"problem":""}],"seq":1})");
  });
  EXPECT_EQ(service.run({"fabric", "sync"}).exit_code, 10);
  synced = true;
  const Finished finished = service.run({"fabric", "sync"});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_THAT(finished.out, HasSubstr("compute  direct  synced  yes             2       3         0  not yet"));
  EXPECT_EQ(service.run({"fabric", "sync", "--subnet", "compute"}).exit_code, 2);
}

TEST(Watch, TellsHowSubnetsAreThenWhatHappens) {
  StubService service;
  service.get("/v1/subnets", R"({"items":[)" + subnet() + R"(],"nextCursor":null,"seq":41})");
  service.get("/v1/events/stream", R"({"status":404,"code":"http.noSuchPath","detail":"no stream"})", 404);
  const Finished finished = service.run({"fabric", "watch"});
  EXPECT_EQ(finished.exit_code, 4) << finished.err;
  EXPECT_EQ(finished.out,
            "compute: direct mode, programming, 3 switches, 9 links up, 1 down, 0 held, 2 of 3 blocks differ\n");
  const auto stream = service.asked().at(1);
  EXPECT_THAT(stream.target, HasSubstr("type=route.programmed"));
  EXPECT_EQ(stream.headers.value("Last-Event-ID"), "41");
}

TEST(Drains, DryRunTellsAllAndEndsWithTen) {
  StubService service;
  service.on(Method::post, "/v1/links/{id...}/drain", [](const Request&) { return Response::json(kAnswer); });
  const Finished finished = service.run({"links", "drain", "a/1--b/2", "--dry-run", "--reason", "cable"});
  EXPECT_EQ(finished.exit_code, 10) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("Safe:               no, refused without --force\n"));
  EXPECT_THAT(finished.out, HasSubstr("Cuts off:           n-1/x\n"));
  EXPECT_THAT(finished.out, HasSubstr("Jobs:               job-000001 (cutOff)\n"));
  EXPECT_THAT(finished.out, HasSubstr("Residual capacity:  87.5 % between"));
  EXPECT_EQ(service.asked().at(0).target, "/v1/links/a%2F1--b%2F2/drain?dryRun=true");
  EXPECT_EQ(Json::parse(service.asked().at(0).body), Json::parse(R"({"reason":"cable"})"));
  EXPECT_EQ(service.run({"links", "drain", "a/1--b/2", "--dry-run", "--wait"}).exit_code, 2);
}

TEST(Drains, WaitsUntilDrainedAndSaysWhatFor) {
  StubService service;
  service.on(Method::post, "/v1/nodes/{id}/drain", [](const Request&) {
    return Response::json(R"({"kind":"node","id":"n-1","allowed":true,"safe":true,"state":"requested",)"
                          R"("waitsFor":"jobs run on it: job-000001"})");
  });
  int polls = 0;
  bool cleared = false;
  service.on(Method::get, "/v1/nodes/{id}", [&](const Request&) {
    if (cleared) return Response::json(R"({"id":"n-1","drain":null})");
    return Response::json(++polls < 3 ? R"({"drain":{"state":"requested","waitsFor":"jobs run on it: job-000001"}})"
                                      : R"({"drain":{"state":"drained","waitsFor":null}})");
  });
  const Finished finished = service.run({"nodes", "drain", "n-1", "--wait", "--force"});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.err,
            "waiting for at most 3600 s; Ctrl-C ends the waiting and not the drain, which railweave nodes undrain n-1 "
            "takes back\nrequested: jobs run on it: job-000001\n");
  EXPECT_THAT(finished.out, HasSubstr("State:     drained\n"));
  EXPECT_EQ(polls, 3);
  cleared = true;
  EXPECT_EQ(service.run({"nodes", "drain", "n-1", "--wait"}).exit_code, 5);
}

TEST(Drains, AreListedAndTakenBack) {
  StubService service;
  service.get(
      "/v1/drains",
      R"({"items":[{"kind":"switch","id":"00aa","name":"leaf-1","state":"rerouting","reason":"fan","actor":"local",)"
      R"("forced":false,"requestedAt":"2026-11-21T09:00:00Z","changedAt":"2026-11-21T09:00:01Z",)"
      R"("waitsFor":"new tables are being written","version":3}],"nextCursor":null,"seq":1})");
  service.on(Method::post, "/v1/switches/{id}/undrain", [](const Request&) { return Response::empty(); });
  EXPECT_THAT(service.run({"drains", "--kind", "switch"}).out, HasSubstr("switch  leaf-1  rerouting"));
  EXPECT_EQ(service.asked().at(0).target, "/v1/drains?kind=switch&limit=1000");
  EXPECT_EQ(service.run({"switches", "undrain", "leaf-1"}).exit_code, 0);
}

TEST(Alarms, AreFilteredByTheService) {
  StubService service;
  service.get(
      "/v1/alarms",
      R"({"items":[{"id":"link.down:x","kind":"link.down","severity":"warning","subject":)"
      R"({"kind":"link","id":"x","name":"leaf-1/1--spine-1/2"},"subnet":"compute","text":"cable it","jobs":["job-000001"],)"
      R"("raisedAt":"2026-11-21T09:00:00Z","version":3}],"nextCursor":null,"seq":1})");
  const Finished finished = service.run({"alarms", "--severity", "warning", "--kind", "link.down"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("warning   link.down  link leaf-1/1--spine-1/2"));
  EXPECT_EQ(service.asked().at(0).target, "/v1/alarms?severity=warning&kind=link.down&limit=1000");
}

TEST(Switches, TableTellsWhatIsWantedAndHeld) {
  StubService service;
  service.get("/v1/switches/{id}/forwarding-table",
              R"({"items":[{"lid":7,"destination":{"kind":"host","node":"n-1","device":"n-1/x","port":"c/1"},)"
              R"("wantedPort":5,"wantedTo":"spine-1","appliedPort":null,"differs":true},)"
              R"({"lid":8,"destination":{"kind":"host","device":"r"},"wantedPort":null,"wantedTo":null,)"
              R"("appliedPort":null,"differs":null}],"nextCursor":null,"seq":1})");
  const Finished finished = service.run({"switches", "table", "leaf-1", "--lid", "7"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.out,
            "LID  DESTINATION   WANTED  TO       APPLIED  DIFFERS\n"
            "  7  n-1/x              5  spine-1  dropped  yes\n"
            "  8  r            dropped  -              -  -\n");
  EXPECT_EQ(service.asked().at(0).target, "/v1/switches/leaf-1/forwarding-table?lid=7&limit=1000");
}

TEST(Links, ShowPrintsCountersDrainAndAlarms) {
  StubService service;
  service.get(
      "/v1/links/{id...}",
      R"({"id":"a/1--b/2","name":"leaf-1/1--spine-1/2","kind":"infiniband","speed":"NDR","width":4,"rateGbps":400,"state":"up","drained":true,)"
      R"("ends":[{"port":"a/1","switch":"leaf-1"},{"port":"b/2","switch":"spine-1"}],"drain":{"state":"requested",)"
      R"("reason":"cable","changedAt":"2026-11-21T09:00:00Z","waitsFor":"observe mode"},"utilisation":0.256,)"
      R"("counters":[{"readAt":"2026-11-21T09:00:00Z","sentBytes":5,"receivedBytes":6,"symbolErrors":7,)"
      R"("sentGbps":100.5,"utilisation":0.256},null],"alarms":[{"text":"errors"}]})");
  const Finished finished = service.run({"links", "show", "a/1--b/2"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out,
              testing::ContainsRegex("requested since 2026-11-21T09:00:00Z \\([0-9]+d ago\\): cable; observe mode\n"));
  EXPECT_THAT(finished.out, AllOf(HasSubstr("leaf-1/1--spine-1/2\n"), HasSubstr("a/1--b/2\n"), HasSubstr("25.6 %")));
  EXPECT_THAT(finished.out, HasSubstr("errors\n"));
  EXPECT_THAT(finished.out, HasSubstr("COUNTERS OF  SENT Gb/s"));
}

constexpr const char* kHistory =
    R"({"detail":"fine","from":"2026-11-21T09:00:00Z","slotSeconds":60,"slots":3,"ports":[)"
    R"({"port":"a/1","portName":"leaf-1/1","link":"a/1--b/2","load":[null,0.5,0.25],"peak":[null,0.9,0.3],)"
    R"("waiting":[null,0,0.1],"errors":[{"kind":"discards","counts":[null,3,4]}]}]})";

TEST(Links, HistoryAddsUp) {
  StubService service;
  service.get("/v1/links/{id...}", kHistory);
  const Finished finished = service.run({"links", "history", "a/1--b/2"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.out,
            "From:   2026-11-21T09:00:00Z\n"
            "Slots:  3 of 60 s\n"
            "\n"
            "PORT      AVERAGE    PEAK  WAITING  ERRORS\n"
            "leaf-1/1   37.5 %  90.0 %    5.0 %  discards 7\n");
  EXPECT_EQ(service.asked().at(0).target, "/v1/links/a%2F1--b%2F2/history?detail=fine");
}

TEST(Links, HistoryOfEachSlot) {
  StubService service;
  service.get("/v1/switches/{id}/history", kHistory);
  const Finished finished = service.run({"switches", "history", "leaf-1", "--each", "--detail", "coarse"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.out,
            "FROM                  PORT        LOAD    PEAK  WAITING  ERRORS\n"
            "2026-11-21T09:01:00Z  leaf-1/1  50.0 %  90.0 %    0.0 %  discards 3\n"
            "2026-11-21T09:02:00Z  leaf-1/1  25.0 %  30.0 %   10.0 %  discards 4\n");
  EXPECT_EQ(service.asked().at(0).target, "/v1/switches/leaf-1/history?detail=coarse");
}

TEST(Links, HistoryThatIsEmptySaysWhy) {
  StubService service;
  service.get("/v1/links/{id...}", R"({"detail":"fine","from":null,"slotSeconds":null,"slots":0,"ports":[]})");
  const Finished finished = service.run({"links", "history", "a/1--b/2"});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.out, "");
  EXPECT_THAT(finished.err, HasSubstr("not read here"));
}

}  // namespace
}  // namespace railweave::cli
