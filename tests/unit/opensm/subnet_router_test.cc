// The cabling that is remembered, and routing on it: the tables of the engine on the cabling with what is missing taken
// down, whatever was seen before; routes to switches that close no circle.
#include "fabric/drivers/opensm/routing/subnet_router.h"

#include <random>
#include <set>

#include <gtest/gtest.h>

#include "fabric/drivers/opensm/routing/cabling.h"
#include "fabric/routing/engine_registry.h"
#include "tests/unit/routing/random_fabric.h"

namespace railweave::fabric::opensm {
namespace {

// What a subnet manager sees of the fabric when these links are down. LIDs in order.
Cabling seen_of(const Topology& topology, const std::set<LinkId>& down = {}) {
  Cabling cabling;
  Lid lid = 0;
  const auto guid_of = [&](PortId port) {
    const SwitchId sw = topology.switch_of(port);
    return sw ? topology.guid(sw) : topology.guid(topology.hca_of(port));
  };
  const auto ports_of = [&](IdRange<PortId> ports, CabledDevice& device) {
    for (const PortId port : ports) {
      CabledPort& cabled = device.ports.emplace_back();
      if (topology.is_hca_port(port)) {
        cabled.guid = topology.port_guid(port);
        cabled.lid = ++lid;
      }
      const LinkId link = topology.link(port);
      if (!link || down.contains(link)) continue;
      cabled.peer = guid_of(topology.peer(port));
      cabled.peer_port = static_cast<std::uint8_t>(topology.number(topology.peer(port)));
      cabled.link = topology.spec(link);
    }
  };
  for (const SwitchId sw : topology.switches()) {
    CabledDevice& device = cabling.devices[topology.guid(sw)];
    device.description = topology.name(sw);
    device.lid = ++lid;
    ports_of(topology.ports(sw), device);
  }
  for (const HcaId hca : topology.hcas()) {
    CabledDevice& device = cabling.devices[topology.guid(hca)];
    device.type = NetlistDevice::adapter;
    device.description = "node" + std::to_string(hca.value()) + " mlx5_0";
    ports_of(topology.ports(hca), device);
  }
  return cabling;
}

std::set<LinkId> random_cuts(const Topology& topology, std::mt19937_64& random, std::size_t most) {
  std::set<LinkId> cuts;
  for (std::size_t n = random() % (most + 1); n > 0; --n)
    cuts.insert(topology.links()[random() % topology.links().size()]);
  return cuts;
}

// "<guid>/<port> <guid>/<port> lids" of everything, without ids.
std::multiset<std::string> text_of(const Topology& topology) {
  std::multiset<std::string> lines;
  for (const LinkId link : topology.links()) {
    lines.insert(topology.link_text(link) + " " + std::to_string(topology.rate(link).value()));
  }
  for (const SwitchId sw : topology.switches()) {
    lines.insert(to_string(topology.guid(sw)) + " " + std::to_string(topology.lid(sw)));
  }
  for (const PortId port : topology.hca_ports()) {
    lines.insert(topology.port_text(port) + " " + std::to_string(topology.lid(port)));
  }
  return lines;
}

TEST(Cabling, WhatIsNotSeenStaysAndIsBroken) {
  std::mt19937_64 random(1);
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const TopologyPtr topology = fabric::testing::build(fabric::testing::random_tree(seed));
    if (topology->links().empty()) continue;
    Cabling known;
    EXPECT_TRUE(known.learn(seen_of(*topology)));
    EXPECT_FALSE(known.learn(seen_of(*topology)));
    EXPECT_TRUE(known.broken().empty());
    const auto whole = text_of(known.topology({}).value());
    const std::set<LinkId> cuts = random_cuts(*topology, random, 5);
    Cabling seen = seen_of(*topology, cuts);
    // Every few rounds an adapter goes altogether.
    std::size_t gone_links = 0;
    if (seed % 3 == 0 && !topology->hcas().empty()) {
      const HcaId hca = topology->hcas()[random() % topology->hcas().size()];
      seen.devices.erase(topology->guid(hca));
      for (const PortId port : topology->ports(hca)) {
        if (!topology->link(port) || cuts.contains(topology->link(port))) continue;
        ++gone_links;
        const PortId peer = topology->peer(port);
        auto& end = seen.devices[topology->guid(topology->switch_of(peer))].ports[topology->number(peer) - 1];
        end = {};
      }
    }
    EXPECT_FALSE(known.learn(seen)) << seed;
    EXPECT_EQ(known.broken().size(), cuts.size() + gone_links) << seed;
    EXPECT_EQ(text_of(known.topology({}).value()), whole) << seed;

    Cabling read = read_cabling(write_cabling(known)).value();
    EXPECT_FALSE(read.learn(seen)) << seed;
    EXPECT_EQ(read, known) << seed;
    EXPECT_FALSE(known.learn(seen_of(*topology)));
    EXPECT_TRUE(known.broken().empty());
  }
}

TEST(Cabling, WhatIsSeenWins) {
  const TopologyPtr topology = fabric::testing::build(
      {.switches = {{.hosts = 1}, {.hosts = 1}, {}}, .cables = {{0, 2}, {1, 2}}, .cable_specs = {}});
  const Cabling before = seen_of(*topology);
  Cabling known = before;
  // Both leaves' cables to the spine are swapped.
  Cabling swapped = before;
  auto& spine = swapped.devices.at(topology->guid(topology->switches()[2]));
  std::swap(spine.ports[0], spine.ports[1]);
  for (auto& [guid, device] : swapped.devices) {
    for (CabledPort& port : device.ports) {
      if (port.peer == topology->guid(topology->switches()[2])) port.peer_port = port.peer_port == 1 ? 2 : 1;
    }
  }
  EXPECT_TRUE(known.learn(swapped));
  EXPECT_TRUE(known.broken().empty());
  EXPECT_EQ(known, swapped);
  // One leaf is gone, and the spine's port is used by the other one: nothing is left of the old cable.
  known = before;
  Cabling moved = before;
  const Guid first = topology->guid(topology->switches()[0]);
  moved.devices.erase(first);
  std::erase_if(moved.devices, [&](const auto& entry) {
    return entry.second.type == NetlistDevice::adapter && entry.second.ports[0].peer == first;
  });
  auto& top = moved.devices.at(topology->guid(topology->switches()[2]));
  auto& leaf = moved.devices.at(topology->guid(topology->switches()[1]));
  top.ports[0] = top.ports[1];
  top.ports[1] = {};
  for (CabledPort& port : leaf.ports) {
    if (port.peer == topology->guid(topology->switches()[2])) port.peer_port = 1;
  }
  // And OpenSM gave the lost leaf's LID to another.
  leaf.lid = before.devices.at(first).lid;
  EXPECT_TRUE(known.learn(moved));
  EXPECT_EQ(known.devices.at(first).lid, 0);
  for (const CabledPort& port : known.devices.at(first).ports) {
    EXPECT_NE(port.peer, topology->guid(topology->switches()[2]));
  }
  EXPECT_EQ(known.broken().size(), 1U);  // the lost leaf's host
}

TEST(Cabling, TornFilesAreRefused) {
  const TopologyPtr topology = fabric::testing::build(fabric::testing::random_tree(3));
  const std::string text = write_cabling(seen_of(*topology));
  EXPECT_TRUE(read_cabling(text));
  for (const std::string& wrong :
       {std::string("cabling 2\n"), "x" + text, text + "port 1\n", text + "switch 0 1 1 0 =\n",
        std::string("cabling 1\nport 1 0000000000000001 1 0 0000000000000001 1 4 NDR\n"),
        std::string("cabling 1\nswitch 0000000000000001 300 1 0 =\n"),
        std::string("cabling 1\nswitch 0000000000000001 30 1 0 =%4\n")}) {
    EXPECT_FALSE(read_cabling(wrong)) << wrong.substr(0, 80);
  }
  std::mt19937_64 random(5);
  for (int round = 0; round < 3000; ++round) {  // must not crash
    std::string torn = text;
    for (int n = 0; n < 3; ++n) torn[random() % torn.size()] = static_cast<char>(random());
    const auto read = read_cabling(torn);
    if (read) (void)read->topology({});
  }
}

TEST(SubnetRouter, RoutesAsTheEngineDoesOnTheCabling) {
  std::mt19937_64 random(2);
  std::size_t incremental = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const TopologyPtr plan = fabric::testing::build(fabric::testing::random_tree(seed));
    if (plan->links().empty()) continue;
    SubnetRouter router;
    const RouterLimits limits{.max_lanes = 8, .lanes_can_be_set = true};
    ASSERT_TRUE(router.route(seen_of(*plan), {}, limits)) << seed;
    // By itself, from what the router knows of the cabling.
    const auto topology = std::make_shared<const Topology>(router.cabling().topology({}).value());
    RoutingInput input{.view = FabricView(topology), .scope = RoutingScope::make(topology).value()};
    const RoutingEngine* engine = choose_engine(*input.scope).engine;
    for (int step = 0; step < 4; ++step) {
      const std::set<LinkId> cuts = random_cuts(*plan, random, 3);
      RoutingPolicy policy;
      input.view = FabricView(topology);
      for (const LinkId link : cuts) input.view.set_state(topology->find_link(plan->link_text(link)), LinkState::down);
      if (random() % 2 == 0) {
        const SwitchId sw = topology->switches()[random() % topology->switches().size()];
        input.view.set_drained(sw, true);
        policy.drained_switches.push_back(topology->guid(sw));
      }
      input.destination_weight = nullptr;
      if (random() % 3 == 0 && !topology->hca_ports().empty()) {
        const PortId port = topology->hca_ports()[random() % topology->hca_ports().size()];
        auto weights = std::make_shared<std::vector<std::uint32_t>>(input.scope->destinations().size(), 1U);
        if (const DestinationId id = input.scope->find(port)) (*weights)[id.index()] = 100;
        input.destination_weight = weights;
        policy.weights.push_back({topology->port_guid(port), 100});
      }
      const auto routed = router.route(seen_of(*plan, cuts), policy, limits);
      ASSERT_TRUE(routed) << seed << ": " << routed.error().text();
      EXPECT_FALSE(routed->new_cabling);
      EXPECT_EQ(routed->broken_links, cuts.size());
      EXPECT_EQ(routed->unknown_names, 0U);
      incremental += routed->routing->incremental ? 1 : 0;
      EXPECT_EQ(routed->routing->tables.digest(), engine->route(input).value().tables.digest()) << seed;
    }
  }
  EXPECT_GT(incremental, 10U);
}

// Whether a route goes from one switch of the plane up and then down to the other, over cables that are seen.
bool has_route(const Plane& plane, const SwitchOrder& order, const std::set<LinkId>& down, std::uint32_t from,
               std::uint32_t to) {
  std::set<std::pair<std::uint32_t, bool>> seen{{from, false}};  // and whether it went down already
  std::vector<std::pair<std::uint32_t, bool>> open(seen.begin(), seen.end());
  while (!open.empty()) {
    const auto [at, descending] = open.back();
    open.pop_back();
    if (at == to) return true;
    for (const Arc& arc : plane.arcs_of(at)) {
      const bool up = order.position[arc.to] > order.position[at];
      if (down.contains(arc.link) || (up && descending)) continue;
      const std::pair next(arc.to, !up);
      if (seen.insert(next).second) open.push_back(next);
    }
  }
  return false;
}

// Channels (the ports that packets leave by) of all routes to end ports and switches, and which wait for which.
TEST(SwitchLidRoutes, LeadToTheSwitchAndCloseNoCircle) {
  std::mt19937_64 random(4);
  std::size_t own_routes = 0, turned = 0, unreached = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const TopologyPtr plan = fabric::testing::build(fabric::testing::random_tree(seed));
    if (plan->links().empty()) continue;
    SubnetRouter router;
    ASSERT_TRUE(router.route(seen_of(*plan), {}, {.lanes_can_be_set = true}));
    const std::set<LinkId> cuts = random_cuts(*plan, random, 3);
    const auto routed = router.route(seen_of(*plan, cuts), {}, {.lanes_can_be_set = true});
    ASSERT_TRUE(routed);
    if (routed->routing->lanes.used() > 1) continue;
    const RoutingScope& scope = routed->routing->tables.scope();
    const Topology& topology = scope.topology();
    std::set<LinkId> down;
    for (const LinkId link : cuts) down.insert(topology.find_link(plan->link_text(link)));
    unreached += routed->switches->unreached();
    std::map<PortId, std::set<PortId>> waits;
    const auto walk = [&](SwitchId from, SwitchId to, auto port_at) {
      PortId last;
      for (std::size_t hops = 0; from != to; ++hops) {
        const std::uint16_t number = port_at(from);
        if (number == kNoPort || hops > topology.switches().size()) return false;
        const PortId port = topology.ports(from)[number - 1U];
        if (last) waits[last].insert(port);
        waits[port];
        last = port;
        from = topology.switch_of(topology.peer(port));
        if (!from) return false;
      }
      return true;
    };
    for (const SwitchId from : topology.switches()) {
      for (const SwitchId to : topology.switches()) {
        const bool there = walk(from, to, [&](SwitchId at) { return routed->switches->port(at, to); });
        EXPECT_TRUE(there || routed->switches->port(from, to) == kNoPort) << seed;
        const PlaneId plane = scope.plane_of(to);
        if (scope.plane_of(from) != plane || routed->switches->copied_from(to) ||
            !routed->routing->orders[plane.index()])
          continue;
        ++own_routes;
        const bool legal = has_route(scope.plane(plane), *routed->routing->orders[plane.index()], down,
                                     scope.local(from), scope.local(to));
        EXPECT_TRUE(there || !legal) << seed;
        turned += there && !legal ? 1 : 0;
      }
      for (const DestinationId id : routed->routing->tables.scope().destinations()) {
        const Destination& d = routed->routing->tables.scope().destination(id);
        walk(from, d.home, [&](SwitchId at) { return routed->routing->tables.out_port(at, id); });
      }
    }
    while (!waits.empty()) {
      const auto free = std::ranges::find_if(waits, [&](const auto& entry) {
        return std::ranges::none_of(entry.second, [&](PortId next) { return waits.contains(next); });
      });
      ASSERT_NE(free, waits.end()) << "a circle, seed " << seed;
      waits.erase(free);
    }
  }
  EXPECT_GT(own_routes, 1000U);
  EXPECT_GT(turned, 0U);
  std::printf("%zu routes of their own, %zu go up again; %zu switches not reached from every leaf\n", own_routes,
              turned, unreached);
}

}  // namespace
}  // namespace railweave::fabric::opensm
