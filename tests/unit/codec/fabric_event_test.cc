// Events about the live fabric as the journal keeps them, also as older versions wrote them.
#include <gtest/gtest.h>

#include "services/control/codec/fabric_event_json.h"
#include "services/control/state/cluster_state.h"

namespace railweave::api::fabric_event_test {
namespace {

TEST(FabricEvents, ProgrammingsOfOlderVersionsAreRead) {
  const Json old =
      Json::parse(R"({"subnet":"compute","cause":"2 links down","entries":12,"blocks":3,"mads":7,"isolated":1,)"
                  R"("unreachablePairs":0,"computeUs":250,"totalUs":4000})");
  const auto read = fabric_event_from_json("route.programmed", old);
  ASSERT_TRUE(read && *read) << (read ? (*read).error().text() : "not a kind");
  const auto& event = std::get<control::RoutesProgrammed>(**read);
  EXPECT_EQ(event.cause, "2 links down");
  EXPECT_EQ(event.entries, 12U);
  EXPECT_EQ(event.total_us, 4000);
  const Out written = to_json(event);
  EXPECT_FALSE(written.contains("unreachablePairs")) << "they are not counted at that time";
  const auto again = fabric_event_from_json("route.programmed", Json::parse(written.dump()));
  ASSERT_TRUE(again && *again);
  EXPECT_EQ(std::get<control::RoutesProgrammed>(**again).blocks, 3U);
}

TEST(FabricEvents, CostsOfLinksAreReadBack) {
  const control::LinkCostsSet event{{{"1/2--3/4", 1.25}, {"1/3--5/6", 4}}, "for job-000001"};
  const auto again = fabric_event_from_json("route.costsSet", Json::parse(to_json(event).dump()));
  ASSERT_TRUE(again && *again) << (again ? (*again).error().text() : "not a kind");
  EXPECT_EQ(std::get<control::LinkCostsSet>(**again).by_link, event.by_link);
  EXPECT_EQ(std::get<control::LinkCostsSet>(**again).reason, event.reason);

  control::ClusterState state;
  state.put_costs({event.by_link, event.reason, "another user", 17, 42});
  control::ClusterState restored;
  ASSERT_TRUE(read_fabric_state(Json::parse(fabric_state_to_json(state).dump()), restored));
  EXPECT_EQ(restored.link_costs->by_link, event.by_link);
  EXPECT_EQ(restored.link_costs->reason, event.reason);
  EXPECT_EQ(restored.link_costs->actor, "another user");
  EXPECT_EQ(restored.link_costs->since_us, 17);
  EXPECT_EQ(restored.link_costs->version, 42U);
}

TEST(FabricEvents, HopsThatWereChosenForJobsAreReadBack) {
  control::RoutesRebalanced event{.subnet = "compute", .links = {"1/2--3/4"}, .switches = {"spine-1"}};
  event.fullest = 646;
  event.fullest_before = 1066;
  event.hops = {{"leaf-1", "0x0002c90300000001/1", 7}, {"leaf-2", "0x0002c90300000002/1", 36}};
  event.jobs = 3;
  event.asked_permille = 1000;
  event.asked_permille_before = 2660;
  const auto again = fabric_event_from_json("route.rebalanced", Json::parse(to_json(event).dump()));
  ASSERT_TRUE(again && *again) << (again ? (*again).error().text() : "not a kind");
  const auto& read = std::get<control::RoutesRebalanced>(**again);
  EXPECT_EQ(read.hops, event.hops);
  EXPECT_EQ(read.links, event.links);
  EXPECT_EQ(read.jobs, 3U);
  EXPECT_EQ(read.asked_permille, 1000U);
  EXPECT_EQ(read.asked_permille_before, 2660U);
  event.hops.clear();
  event.jobs = event.asked_permille = event.asked_permille_before = 0;
  EXPECT_EQ(to_json(event).dump(), R"({"subnet":"compute","links":["1/2--3/4"],"switches":["spine-1"],"fullest":646,)"
                                   R"("fullestBefore":1066})")
      << "as before there were hops";

  control::ClusterState state;
  state.put_route_basis("compute", {{}, {}, read.hops, 17, 42});
  control::ClusterState restored;
  ASSERT_TRUE(read_fabric_state(Json::parse(fabric_state_to_json(state).dump()), restored));
  ASSERT_TRUE(restored.route_bases->contains("compute"));
  EXPECT_EQ(restored.route_bases->at("compute").hops, read.hops);
  EXPECT_EQ(restored.route_bases->at("compute").version, 42U);
}

TEST(FabricEvents, AnEngineThatWasTakenIsReadBack) {
  control::RoutesRebalanced event{.subnet = "compute", .links = {}, .switches = {}};
  event.taken = {"layered", 4, 17};
  event.engine_before = "up-down";
  event.engine_reason = "ports refuse";
  const auto again = fabric_event_from_json("route.rebalanced", Json::parse(to_json(event).dump()));
  ASSERT_TRUE(again && *again) << (again ? (*again).error().text() : "not a kind");
  const auto& read = std::get<control::RoutesRebalanced>(**again);
  EXPECT_EQ(read.taken, event.taken);
  EXPECT_EQ(read.engine_before, "up-down");
  EXPECT_EQ(read.engine_reason, "ports refuse");
  // Also one that was given up, so that none is taken for a time.
  for (const auto& taken : {event.taken, control::TakenEngine{"", 0, 23}}) {
    control::ClusterState state;
    state.put_route_basis("compute", {{}, {}, {}, 17, 42, taken});
    control::ClusterState restored;
    ASSERT_TRUE(read_fabric_state(Json::parse(fabric_state_to_json(state).dump()), restored));
    ASSERT_TRUE(restored.route_bases->contains("compute"));
    EXPECT_EQ(restored.route_bases->at("compute").taken, taken);
  }
}

}  // namespace
}  // namespace railweave::api::fabric_event_test
