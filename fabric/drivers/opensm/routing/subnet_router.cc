#include "fabric/drivers/opensm/routing/subnet_router.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <utility>

#include <fmt/core.h>

#include "fabric/routing/audit/audit.h"
#include "fabric/routing/engine_registry.h"
#include "fabric/routing/plane/parallel_for.h"

namespace railweave::fabric::opensm {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

LinkId find(const Topology& topology, const LinkName& name) {
  const auto port = [&](const PortName& end) -> PortId {
    const auto at = [&](IdRange<PortId> ports) {
      return end.port >= 1 && end.port <= ports.size() ? ports[end.port - 1] : PortId();
    };
    if (const SwitchId sw = topology.find_switch(end.device)) return at(topology.ports(sw));
    const HcaId hca = topology.find_hca(end.device);
    return hca && topology.guid(hca) == end.device ? at(topology.ports(hca)) : PortId();
  };
  const PortId a = port(name.a), b = port(name.b);
  return a && b && topology.peer(a) == b ? topology.link(a) : LinkId();
}

std::string faults_of(const AuditReport& report) {
  std::string text;
  if (report.unreachable_pairs > report.cut_off_pairs) {
    text = fmt::format("{} pairs of ports are connected by cables but do not reach each other",
                       report.unreachable_pairs - report.cut_off_pairs);
  }
  if (report.credit_loops > 0) {
    text += fmt::format("{}{} lanes have credit loops", text.empty() ? "" : ", ", report.credit_loops);
  }
  return text;
}

}  // namespace

Result<void> SubnetRouter::renew_scope() {
  auto topology = cabling_.topology({.source = "OpenSM"});
  if (!topology) return std::unexpected(topology.error());
  auto scope = RoutingScope::make(std::make_shared<const Topology>(std::move(*topology)));
  if (!scope) return std::unexpected(scope.error());
  EngineChoice choice = choose_engine(**scope);
  if (choice.engine == nullptr) {
    return fail(ErrorKind::impossible, "opensm.noEngine", "no routing engine suits this fabric");
  }
  last_.reset();
  scope_ = std::move(*scope);
  engine_ = choice.engine;
  reason_ = std::move(choice.reason);
  return {};
}

RoutingInput SubnetRouter::input_for(const RoutingPolicy& policy, const RouterLimits& limits,
                                     RoutedSubnet& routed) const {
  const Topology& topology = scope_->topology();
  FabricView view(scope_->topology_ptr());
  for (const LinkName& name : cabling_.broken()) {
    const LinkId link = find(topology, name);
    if (!link) continue;
    view.set_state(link, LinkState::down);
    ++routed.broken_links;
  }
  for (const LinkName& name : policy.drained_links) {
    const LinkId link = find(topology, name);
    if (link) view.set_drained(link, true);
    routed.unknown_names += link ? 0 : 1;
  }
  for (const Guid name : policy.drained_switches) {
    const SwitchId sw = topology.find_switch(name);
    if (sw) view.set_drained(sw, true);
    routed.unknown_names += sw ? 0 : 1;
  }
  RoutingInput input{.view = std::move(view), .scope = scope_};
  if (!policy.weights.empty()) {
    std::unordered_map<Guid, std::uint32_t> weight_of;
    for (const PortWeight& weight : policy.weights) {
      weight_of[weight.port] = weight.weight;
      const HcaId hca = topology.find_hca(weight.port);
      const bool known = hca && std::ranges::any_of(topology.ports(hca), [&](PortId port) {
                           return topology.port_guid(port) == weight.port;
                         });
      routed.unknown_names += known ? 0 : 1;
    }
    auto weights = std::make_shared<std::vector<std::uint32_t>>(scope_->destinations().size(), 1U);
    for (const DestinationId id : scope_->destinations()) {
      const PortId port = scope_->destination(id).port;
      const auto found = port ? weight_of.find(topology.port_guid(port)) : weight_of.end();
      if (found != weight_of.end()) (*weights)[id.index()] = found->second;
    }
    input.destination_weight = std::move(weights);
  }
  input.max_lanes = limits.lanes_can_be_set ? std::max(1U, limits.max_lanes) : RoutingInput{}.max_lanes;
  input.threads = part_count();
  return input;
}

Result<RoutedSubnet> SubnetRouter::route(const Cabling& seen, const RoutingPolicy& policy, const RouterLimits& limits) {
  RoutedSubnet routed;
  routed.new_cabling = cabling_.learn(seen) || scope_ == nullptr;
  if (routed.new_cabling) {
    scope_.reset();
    if (auto renewed = renew_scope(); !renewed) return std::unexpected(renewed.error());
  }
  routed.engine = engine_->name();
  routed.reason = reason_;
  const RoutingInput input = input_for(policy, limits, routed);

  const auto route_start = Clock::now();
  const bool incremental = last_ != nullptr && last_max_lanes_ == input.max_lanes;
  auto routing = incremental ? engine_->reroute(*last_, input) : engine_->route(input);
  if (!routing) return std::unexpected(routing.error());
  routed.route_ms = ms_since(route_start);
  if (routing->lanes.used() > 1 && (!limits.lanes_can_be_set || routing->lanes.used() > limits.max_lanes)) {
    return fail(ErrorKind::precondition, "opensm.lanes",
                fmt::format("the engine '{}' needs {} virtual lanes here to be free of deadlocks", routed.engine,
                            routing->lanes.used()),
                {},
                limits.lanes_can_be_set ? fmt::format("the ports have {}", limits.max_lanes)
                                        : "set 'qos TRUE' in OpenSM's options, so that it programs them");
  }
  const auto audit_start = Clock::now();
  AuditOptions options = AuditOptions::on_all_cores();
  options.shift_samples = 0;
  const AuditReport report = audit(input.view, routing->tables, routing->lanes, options);
  routed.audit_ms = ms_since(audit_start);
  if (!report.verified()) {
    return fail(ErrorKind::internal, "opensm.notVerified",
                "tables of the engine '" + routed.engine + "' do not pass the audit: " + faults_of(report));
  }
  routed.cut_off_pairs = report.cut_off_pairs;
  routed.routing = std::make_shared<const Routing>(std::move(*routing));
  routed.switches = std::make_shared<const SwitchLidRoutes>(*routed.routing, input.view);
  last_ = routed.routing;
  last_max_lanes_ = input.max_lanes;
  return routed;
}

}  // namespace railweave::fabric::opensm
