// A controller and the InfiniBand driver on a random subnet in memory, with the state that its reports make: what models of live
// subnets share.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "fabric/drivers/infiniband/infiniband_driver.h"
#include "fabric/routing/delta/forwarding_delta.h"
#include "gtest/gtest.h"
#include "services/control/decide/cut_off_alarms.h"
#include "services/control/decide/decide.h"
#include "services/control/events/apply.h"
#include "services/control/live/subnet_controller.h"
#include "tests/unit/live_model/asked_administration.h"
#include "tests/unit/live_model/held_paths.h"
#include "tests/unit/live_model/random_subnet.h"

namespace railweave::control {

class LiveModel {
 public:
  static constexpr std::size_t kBlocksAStep = 1;  // while routes are spread again, so that there are steps at all

  LiveModel(std::uint64_t seed, bool is_rebalanced, RandomSubnet::Shape shape = RandomSubnet::Shape::any)
      : random_(seed), world_(random_, shape), is_rebalanced_(is_rebalanced), queue_(placers_, 0) {}

  std::string accept_what_is_there() {
    fabric::infiniband::InfinibandDriver driver(std::make_unique<SharedPort>(world_.subnet), options());
    auto found = driver.discover();
    if (!found) return "the first discovery: " + found.error().text();
    topology_ = found->topology;
    tell(AcceptTopology{topology_, std::make_shared<const std::string>(), "digest", "model", false, std::nullopt});
    tell(SetSubnetMode{"model", SubnetMode::direct, "", {}});
    return {};
  }
  // Also a restart: what was there before is gone.
  void connect(bool several_lanes = true) {
    SubnetOptions live{.subnet = "model", .port = "memory", .several_lanes = several_lanes};
    live.audits = std::launch::deferred;
    live.damping.is_on = false;
    live.look_every = std::chrono::seconds(30);
    live.rebalance = is_rebalanced_;
    live.rebalance_after = std::chrono::seconds(2);
    live.rebalance_blocks = kBlocksAStep;
    const auto now_us = [this] {
      return 1 + std::chrono::duration_cast<std::chrono::microseconds>(world_.subnet.now().time_since_epoch()).count();
    };
    SubnetSurroundings with{.connect = [this](SubnetMode) -> Result<std::unique_ptr<fabric::FabricDriver>> {
                              auto driver = std::make_unique<fabric::infiniband::InfinibandDriver>(
                                  std::make_unique<SharedPort>(world_.subnet), options());
                              auto server = std::make_unique<fabric::infiniband::AdministrationServer>(
                                  std::make_unique<SilentClients>(), 0, nullptr);
                              server_ = server.get();
                              driver->serve_by(std::move(server));
                              return driver;
                            },
                            .monotonic_us = now_us,
                            .unix_us = now_us,
                            .report = [this](auto body) { reports_.push_back(std::move(body)); },
                            .routes = [this](const ClusterState& state) { return routes_.at(state); },
                            .host_routes = [this](const ClusterState& state) { return routes_.at(state); },
                            .keep_routes = [this](FabricRoutesPtr routes) { routes_.keep(std::move(routes)); }};
    controller_ = std::make_unique<SubnetController>(live, with);
  }
  void tell(decltype(Command::body) body) {
    const auto decided = decide(state_, {"model", std::move(body)}, ++time_us_, placers_, queue_);
    ASSERT_TRUE(decided) << decided.error().error.text();
    for (const auto& event : decided->events) apply(state_, Event{++seq_, 1, time_us_, "model", event});
    // What the service's follow-up says of the state by itself.
    for (const auto& event : cut_off_alarm_changes(state_)) apply(state_, Event{++seq_, 1, time_us_, "model", event});
  }
  // What it says of routes that are to be spread again, the last if there are several.
  std::optional<RoutesRebalanced> step_once(unsigned wait_ms) {
    controller_->step(std::make_shared<const ClusterState>(state_), std::chrono::milliseconds(wait_ms));
    std::optional<RoutesRebalanced> spread;
    for (auto& report : std::exchange(reports_, {})) {
      if (const auto* balance = std::get_if<ReportBalance>(&report)) spread = balance->report;
      tell(std::move(report));
    }
    // Time passes without a driver that waits, too: until the next attempt to connect.
    if (controller_->status()->phase == SubnetPhase::offline) {
      (void)world_.subnet.receive(std::chrono::milliseconds(wait_ms));
    }
    return spread;
  }
  [[nodiscard]] bool is_spreading() const {
    const auto phase = controller_->status()->phase;
    return phase == SubnetPhase::programming || phase == SubnetPhase::partial;
  }
  RandomSubnet::Cable& any_cable() { return world_.cables[world_.pick(static_cast<unsigned>(world_.cables.size()))]; }

  [[nodiscard]] std::string alarm_texts() const {
    std::string texts;
    for (const auto& [id, alarm] : *state_.alarms) texts += alarm.kind + ": " + alarm.text.whole_text() + "\n";
    return texts;
  }
  [[nodiscard]] std::string name(int node) { return world_.subnet.node(node).description; }
  [[nodiscard]] fabric::PortId port_of(int node, unsigned port) {
    const Guid guid(world_.subnet.node(node).guid);
    const auto ports = world_.is_switch(node) ? topology_->ports(topology_->find_switch(guid))
                                              : topology_->ports(topology_->find_hca(guid));
    return ports[port - 1];
  }

  // The fabric as it is, on the basis that the state has.
  [[nodiscard]] fabric::RoutingInput truth(const FabricRoutes& base, const std::vector<bool>& reached) {
    fabric::RoutingInput input = base.input;
    input.view = fabric::FabricView(topology_);
    input.view.set_spread_basis(state_.view.spread_basis());
    // Of the links in force, those whose two ports a cable joins.
    std::set<std::pair<fabric::PortId, fabric::PortId>> joined;
    std::map<fabric::SwitchId, bool> is_reached;
    for (const int node : world_.switches()) {
      is_reached[topology_->find_switch(Guid(world_.subnet.node(node).guid))] = reached[static_cast<std::size_t>(node)];
    }
    for (const auto& cable : world_.cables) {
      const auto a = port_of(cable.a, cable.a_port);
      const auto b = port_of(cable.b, cable.b_port);
      if (cable.is_up) joined.insert({std::min(a, b), std::max(a, b)});
    }
    for (const auto link : topology_->links()) {
      const auto a = topology_->switch_of(topology_->a(link));
      const auto b = topology_->switch_of(topology_->b(link));
      // What nothing that answers leads to is as it was last seen.
      const bool is_seen = (a && is_reached[a]) || (b && is_reached[b]);
      const bool is_up = joined.contains({topology_->a(link), topology_->b(link)});
      input.view.set_state(link, is_seen && is_up ? fabric::LinkState::up
                                 : is_seen        ? fabric::LinkState::down
                                                  : state_.view.state(link));
    }
    return input;
  }
  // Pairs of adapters on the fullest link as it would be by these tables.
  [[nodiscard]] std::uint64_t fullest_by(const FabricRoutes& base, const fabric::Routing& routing,
                                         const std::vector<int>& adapters) {
    return HeldPaths(world_.subnet, adapters,
                     [&](int node, int to) -> unsigned {
                       const auto sw = topology_->find_switch(Guid(world_.subnet.node(node).guid));
                       const auto port = routing.tables.out_port(sw, base.scope().find(port_of(to, 1)));
                       return port == fabric::kNoPort ? 255U : port;
                     })
        .fullest();
  }
  // The same by fresh tables; none: they are as those on the basis that there is, or cannot be written without drops.
  [[nodiscard]] std::optional<std::uint64_t> fullest_if_fresh(const FabricRoutes& base, fabric::RoutingInput input,
                                                              const std::vector<int>& adapters) {
    const auto& engine = *base.choice.engine;
    auto basis = std::make_shared<fabric::SpreadBasis>();
    for (const auto link : topology_->links()) {
      if (topology_->joins_switches(link) && !input.view.alive(link)) basis->links.push_back(link);
    }
    if (!engine.incremental() || basis->links.empty()) return std::nullopt;
    input.view.set_spread_basis(std::move(basis));
    const auto fresh = engine.route(input);
    if (!fresh) return std::nullopt;
    const auto delta = fabric::compute_delta(input.view, base.routing, *fresh, {.urgent = {}, .may_drop = false});
    if (delta.left_out > 0) return std::nullopt;
    return fullest_by(base, *fresh, adapters);
  }

 protected:
  std::mt19937_64 random_;
  RandomSubnet world_;
  const bool is_rebalanced_;
  PlacerCache placers_;
  QueueRunner queue_;
  RoutingCache routes_;
  ClusterState state_;
  fabric::TopologyPtr topology_;
  std::unique_ptr<SubnetController> controller_;
  fabric::infiniband::AdministrationServer* server_ = nullptr;  // of its driver

 private:
  static fabric::infiniband::InfinibandOptions options() {
    fabric::infiniband::InfinibandOptions options{.mode = fabric::infiniband::SubnetMode::direct};
    options.naming.subnet = "model";
    return options;
  }

  std::vector<decltype(Command::body)> reports_;
  std::int64_t time_us_ = 1'800'000'000'000'000;
  std::uint64_t seq_ = 0;
};

}  // namespace railweave::control
