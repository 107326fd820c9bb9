// Plans of classes on InfiniBand: tables that keep the promises, equal tables written directly and by OpenSM, refusals.
#include "fabric/qos/infiniband_plan.h"

#include <set>

#include <gtest/gtest.h>

#include "fabric/drivers/opensm/files/opensm_files.h"
#include "tests/unit/capacity/routed_fabrics.h"

namespace railweave::fabric {
namespace {

struct Fixture {
  testing::Routed fabric = testing::route_view(FabricView(testing::make_fat_tree({})));
  QosClasses classes = default_qos_classes();
  [[nodiscard]] InfinibandPlanInput input() const {
    return {.classes = &classes, .view = fabric.view, .scope = fabric.scope, .lanes = &fabric.routing.lanes};
  }
};

TEST(InfinibandPlan, GivesEveryClassItsShareAtEveryPortInWholePackets) {
  const Fixture f;
  const auto plan = plan_infiniband(f.input());
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_TRUE(plan->uniform);
  std::size_t cabled = 0;
  for (const PortId port : f.fabric.view.topology().all_ports())
    cabled += f.fabric.view.topology().peer(port) ? 1U : 0U;
  EXPECT_EQ(plan->ports.size(), cabled);
  ASSERT_FALSE(plan->ports.empty());
  for (const PortTables& port : plan->ports) {
    EXPECT_LE(port.arbitration->low.size(), 8U);
    EXPECT_TRUE(port.arbitration->high.empty());
    for (std::uint8_t c = 0; c < f.classes.size(); ++c) {
      EXPECT_EQ((*port.sl_to_vl)[plan->service_level(c, 0)], plan->lane(c, 0));
      // Whole packets leave 78 % of the shares to be promised to all at once, and the plan says so.
      EXPECT_GE(plan->promised_permille(*port.arbitration, c), f.classes[c].share_permille * 77 / 100);
    }
  }
  ASSERT_EQ(plan->not_as_asked.size(), 1U);
  EXPECT_NE(plan->not_as_asked[0].find("packets are sent whole"), std::string::npos) << plan->not_as_asked[0];
}

TEST(InfinibandPlan, UnmarkedPacketsAreInTheLowestClass) {
  const Fixture f;
  const auto plan = plan_infiniband(f.input());
  ASSERT_TRUE(plan) << plan.error().text();
  ASSERT_EQ(f.classes[5].name, "best-effort");
  EXPECT_EQ(plan->service_level(5, 0), 0);
  EXPECT_EQ(plan->lane(5, 0), 0);
  std::set<std::uint8_t> levels;
  for (unsigned c = 0; c < f.classes.size(); ++c) levels.insert(plan->service_level(c, 0));
  EXPECT_EQ(levels.size(), f.classes.size());
  const auto policy = opensm_policy(f.input(), *plan);
  ASSERT_TRUE(policy);
  EXPECT_EQ(policy->qos.default_level, 0);
  // Wherever it stands in the list; of equal priorities the last is the lowest.
  QosClasses classes = {{"scavenger", 100, 7, ClassBound::bandwidth, false, 0},
                        {"gold", 500, 0, ClassBound::latency, true, 8}};
  EXPECT_EQ(lowest_class(classes), 0);
  EXPECT_EQ(class_number(classes, 1), 1);
  classes[1].priority = 7;
  EXPECT_EQ(lowest_class(classes), 1);
  EXPECT_EQ(class_number(classes, 0), 1);
  // DSCP 0 is what unmarked packets have.
  const auto refused = check_qos_classes(classes);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().location, "/classes/0");
}

TEST(InfinibandPlan, IsTheSameThroughOpenSmAndDirectly) {
  const Fixture f;
  InfinibandPlanInput input = f.input();
  const auto& ends = f.fabric.ends;
  input.tenants = {{.tenant = "red",
                    .pkey = 2,
                    .members = {{ends[0], 2}, {ends[1]}},
                    .limited = {ends[3]},
                    .qos_class = 2,
                    .limit = from_gbps(100)},
                   {.tenant = "blue", .pkey = 3, .members = {{ends[2]}, {ends[0]}}, .qos_class = 3}};
  input.limited_default = {ends[0]};
  const auto plan = plan_infiniband(input);
  ASSERT_TRUE(plan) << plan.error().text();
  const auto policy = opensm_policy(input, *plan);
  ASSERT_TRUE(policy);
  ASSERT_FALSE(plan->ports.empty());
  for (const PortTables& port : plan->ports) {
    ASSERT_EQ(policy->sharing.low.size(), port.arbitration->low.size());
    for (std::size_t i = 0; i < port.arbitration->low.size(); ++i) {
      EXPECT_EQ(policy->sharing.low[i].lane, port.arbitration->low[i].vl);
      EXPECT_EQ(policy->sharing.low[i].weight, port.arbitration->low[i].weight);
    }
    EXPECT_EQ(policy->sharing.lane_of_level, *port.sl_to_vl);
  }
  // The partition keys of every adapter in the plan are its memberships in the partitions.
  const Topology& t = f.fabric.view.topology();
  for (const PortTables& port : plan->ports) {
    const HcaId hca = t.find_hca(port.port.device);
    if (!hca) {
      EXPECT_FALSE(port.pkeys.has_value());
      continue;
    }
    const Guid guid = t.port_guid(t.ports(hca)[port.port.port - 1U]);
    std::set<std::uint16_t> keys;
    for (const auto& partition : policy->partitions) {
      std::uint16_t key = 0;
      for (const auto& member : partition.members) {
        // OpenSM keeps what it reads last of a port.
        const bool is_named = member.who == opensm::PartitionMember::Who::all ||
                              (member.who == opensm::PartitionMember::Who::port && member.port == guid);
        if (is_named) key = static_cast<std::uint16_t>(partition.pkey | (member.full ? 0x8000U : 0U));
      }
      if (key != 0) keys.insert(key);
    }
    std::set<std::uint16_t> planned(port.pkeys->begin(), port.pkeys->end());
    planned.erase(0);
    EXPECT_EQ(planned, keys);
    EXPECT_EQ(port.pkeys->front(), guid == t.port_guid(ends[0]) ? 0x7fff : 0xffff);
    if (guid == t.port_guid(ends[0])) {
      EXPECT_EQ(*port.pkeys, (std::vector<std::uint16_t>{0x7fff, 0x8003, 0x8002})) << "each at its index";
    }
  }
  opensm::OpenSmOptions options{.routing_engines = {"ftree"}, .sharing = policy->sharing};
  EXPECT_TRUE(opensm::write_opensm_options(options)) << opensm::write_opensm_options(options).error().text();
  EXPECT_TRUE(opensm::write_partitions(policy->partitions))
      << opensm::write_partitions(policy->partitions).error().text();
  EXPECT_TRUE(opensm::write_qos_policy(policy->qos)) << opensm::write_qos_policy(policy->qos).error().text();
}

TEST(InfinibandPlan, WeighsEachPortByItsReservations) {
  const Fixture f;
  Ledger ledger(whole_capacities_mbps(f.fabric.view), capacity_rules(f.classes));
  auto one = std::make_shared<Reservation>();
  one->job = "a";
  one->qos_class = 4;
  one->loads = {{0, 40'000}};
  ledger.reserve(one);
  InfinibandPlanInput input = f.input();
  input.ledger = &ledger;
  const auto plan = plan_infiniband(input);
  ASSERT_TRUE(plan) << plan.error().text();
  const PortId out = out_port_of(f.fabric.view.topology(), 0);
  ASSERT_FALSE(plan->ports.empty());
  for (const PortTables& port : plan->ports) {
    const SwitchId sw = f.fabric.view.topology().find_switch(port.port.device);
    if (sw && f.fabric.view.topology().ports(sw)[port.port.port - 1U] == out) {
      EXPECT_GE(plan->promised_permille(*port.arbitration, 4), 100U);
    }
  }
}

TEST(InfinibandPlan, OneTableHoldsTheFullestLinkOfEachClass) {
  const Fixture f;
  Ledger ledger(whole_capacities_mbps(f.fabric.view), capacity_rules(f.classes));
  const auto reserve = [&](const char* job, std::uint8_t qos_class, DirectedLink link, std::int64_t mbps) {
    auto one = std::make_shared<Reservation>();
    one->job = job;
    one->qos_class = qos_class;
    one->loads = {{link, mbps}};
    ledger.reserve(one);
  };
  reserve("a", 4, 3, 100'000);
  reserve("b", 3, ledger.links() - 1, 120'000);
  InfinibandPlanInput input = f.input();
  input.ledger = &ledger;
  input.uniform = true;
  const auto plan = plan_infiniband(input);
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_TRUE(plan->uniform);
  for (const PortTables& port : plan->ports) {
    EXPECT_GE(plan->promised_permille(*port.arbitration, 4), 250U);
    EXPECT_GE(plan->promised_permille(*port.arbitration, 3), 300U);
  }
}

TEST(InfinibandPlan, PromisesWhatTheWeakestLaneOfAClassHas) {
  InfinibandPlan plan;
  plan.routing_lanes = 2;
  plan.numbers = {0, 1};
  plan.owned_lanes = 1;
  VlArbitration table;
  table.low = {{0, 50}, {1, 200}, {2, 200}, {3, 40}, {4, 30}, {5, 200}};
  const auto of_lane = [&](std::uint8_t vl) { return promised_permille(table, vl, plan.mtu_bytes); };
  EXPECT_EQ(plan.promised_permille(table, 0), of_lane(0));
  EXPECT_EQ(plan.promised_permille(table, 1), of_lane(3));
  EXPECT_EQ(plan.promised_to_owner(table, 0), of_lane(4));
  std::swap(table.low[4].weight, table.low[5].weight);
  EXPECT_EQ(plan.promised_to_owner(table, 0), of_lane(5));
}

TEST(InfinibandPlan, LimitedMembersTakeTheIndicesThatMembersLeave) {
  const Fixture f;
  const PortId port = *f.fabric.view.topology().hca_ports().begin();
  InfinibandPlanInput input = f.input();
  input.tenants = {{.tenant = "watched", .pkey = 7, .members = {}, .limited = {port}},
                   {.tenant = "owner", .pkey = 9, .members = {{.port = port, .index = 1}}, .limited = {}}};
  const auto ports = plan_partitions(input);
  ASSERT_TRUE(ports) << ports.error().text();
  const Topology& t = f.fabric.view.topology();
  const auto of_port = std::ranges::find_if(*ports, [&](const PortTables& one) {
    return one.port.device == t.guid(t.hca_of(port)) && one.port.port == t.number(port);
  });
  ASSERT_NE(of_port, ports->end());
  EXPECT_EQ(of_port->pkeys, (std::vector<std::uint16_t>{0xffff, 0x8009, 7}));
}

// Each class and each owner has as many lanes as the routing, one after the other, and is promised on each all that it is promised.
TEST(InfinibandPlan, DemandsLanesOfClassesAndOwnersForEveryLaneOfTheRouting) {
  const QosClasses classes = default_qos_classes();
  const std::vector<std::uint32_t> wanted{100, 50, 300, 200, 100, 50, 0, 70, 0, 30};
  for (const unsigned routing_lanes : {1U, 2U, 3U}) {
    const auto demands = lane_demands(classes, routing_lanes, wanted);
    ASSERT_EQ(demands.size(), (classes.size() + 2) * routing_lanes);
    for (std::size_t i = 0; i < demands.size(); ++i) {
      const std::size_t n = i / routing_lanes, lane = i % routing_lanes;
      const std::size_t slot = n < classes.size() ? class_number(classes, n) : n == classes.size() ? 7 : 9;
      EXPECT_EQ(demands[i].vl, slot * routing_lanes + lane);
      EXPECT_EQ(demands[i].min_permille, wanted[n < classes.size() ? n : slot]);
      EXPECT_EQ(demands[i].requested_permille,
                (n < classes.size() ? classes[n].share_permille : wanted[slot]) / routing_lanes);
    }
  }
}

TEST(InfinibandPlan, PlansEveryPortOfTheSubnetThatIsAskedAndNoOther) {
  const auto fabric = testing::route_view(
      FabricView(std::make_shared<const Topology>(generate("rail-only", {{"hosts", "4"}, {"rails", "3"}}).value())));
  const Topology& t = fabric.view.topology();
  const QosClasses classes = default_qos_classes();
  ASSERT_EQ(t.subnets().size(), 3U);
  for (const SubnetId subnet : t.subnets()) {
    std::set<PortRef> cabled, planned;
    for (const PortId port : t.switch_ports()) {
      const PortId peer = t.peer(port);
      if (!peer || t.subnet(t.switch_of(port)) != subnet) continue;
      cabled.insert({t.guid(t.switch_of(port)), static_cast<std::uint8_t>(t.number(port))});
      if (t.is_hca_port(peer)) cabled.insert({t.guid(t.hca_of(peer)), static_cast<std::uint8_t>(t.number(peer))});
    }
    const auto plan = plan_infiniband({.classes = &classes,
                                       .subnet = subnet,
                                       .view = fabric.view,
                                       .scope = fabric.scope,
                                       .lanes = &fabric.routing.lanes});
    ASSERT_TRUE(plan) << plan.error().text();
    for (const PortTables& one : plan->ports) EXPECT_TRUE(planned.insert(one.port).second);
    EXPECT_EQ(planned, cabled);
  }
}

TEST(InfinibandPlan, CountsTheLanesOfTheSubnetThatIsAsked) {
  const auto fabric = testing::route_view(
      FabricView(std::make_shared<const Topology>(generate("rail-only", {{"hosts", "4"}, {"rails", "2"}}).value())));
  const Topology& t = fabric.view.topology();
  ASSERT_EQ(t.subnets().size(), 2U);
  Lanes lanes = fabric.routing.lanes;
  ASSERT_EQ(lanes.planes.size(), 2U);
  lanes.planes[0].lanes = 3;
  lanes.planes[0].levels = 3;
  lanes.planes[1].lanes = 2;
  lanes.planes[1].levels = 4;
  for (const SwitchId sw : t.switches()) {
    const auto& plane = lanes.planes[fabric.scope->plane_of(sw).index()];
    const auto needed = routing_lanes(fabric.view, *fabric.scope, lanes, t.subnet(sw));
    EXPECT_EQ(needed.lanes, plane.lanes);
    EXPECT_EQ(needed.levels, plane.levels);
  }
  const auto all = routing_lanes(fabric.view, *fabric.scope, lanes, {});
  EXPECT_EQ(all.lanes, 3U);
  EXPECT_EQ(all.levels, 4U);
}

TEST(InfinibandPlan, OpenSmIsGivenOneTableOrNone) {
  const Fixture f;
  auto plan = plan_infiniband(f.input()).value();
  ASSERT_TRUE(opensm_policy(f.input(), plan));
  plan.uniform = false;
  const auto differ = opensm_policy(f.input(), plan);
  ASSERT_FALSE(differ);
  EXPECT_EQ(differ.error().code, "qos.notUniform");
  plan.uniform = true;
  plan.ports.clear();
  EXPECT_FALSE(opensm_policy(f.input(), plan));
}

TEST(InfinibandPlan, RefusesClassesThatDoNotFitTheLanesWithTheArithmetic) {
  const Fixture f;
  InfinibandPlanInput input = f.input();
  input.data_lanes = 4;
  const auto plan = plan_infiniband(input);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, "qos.lanesDoNotSuffice");
  EXPECT_EQ(plan.error().message, "6 classes x 1 lanes for the routing = 6 lanes, but the ports have 4");
  const auto torus = testing::route_view(FabricView(std::make_shared<const Topology>(generate("torus", {}).value())));
  InfinibandPlanInput on_torus = f.input();
  on_torus.view = torus.view;
  on_torus.scope = torus.scope;
  on_torus.lanes = &torus.routing.lanes;
  const auto refused = plan_infiniband(on_torus);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "qos.lanesDoNotSuffice");
  EXPECT_EQ(refused.error().hint, "use at most " + std::to_string(8 / torus.routing.lanes.used()) + " classes");
  const LaneDemand crowded[] = {{0, 400, 400}, {1, 395, 400}, {2, 190, 190}, {3, 5, 5}};
  EXPECT_EQ(assign_weights(crowded, {.entries = 4}).error().code, "qos.tableTooSmall");
}

}  // namespace
}  // namespace railweave::fabric
