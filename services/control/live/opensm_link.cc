#include "services/control/live/opensm_link.h"

#include <utility>

namespace railweave::control {
namespace {

using namespace fabric;  // NOLINT: this file is about its types

constexpr std::uint64_t kLinkStateTrap = 128;

std::optional<opensm::PortName> port_name(const Topology& t, PortId port) {
  const SwitchId sw = t.switch_of(port);
  const HcaId hca = t.hca_of(port);
  const Guid device = sw ? t.guid(sw) : (hca ? t.guid(hca) : Guid());
  if (!device.known()) return std::nullopt;
  return opensm::PortName{device, t.number(port)};
}

// Devices of other subnets are named as well: a plugin skips those that its subnet does not have.
opensm::RoutingPolicy policy_of(const ClusterState& state) {
  opensm::RoutingPolicy policy;
  const Topology& t = state.topology();
  for (const auto& [target, drain] : *state.drains) {
    if (target.kind == DrainKind::network_switch) {
      const SwitchId sw = t.find_switch(target.id);
      if (sw && t.guid(sw).known()) policy.drained_switches.push_back(t.guid(sw));
    } else if (target.kind == DrainKind::link) {
      const LinkId link = t.find_link(target.id);
      if (!link) continue;
      const auto a = port_name(t, t.a(link));
      const auto b = port_name(t, t.b(link));
      if (a && b) policy.drained_links.push_back({*a, *b});
    }
  }
  return policy;
}

std::string_view text_of(opensm::PolicyEvent::Kind kind) {
  using enum opensm::PolicyEvent::Kind;
  switch (kind) {
    case trap:
      return "a trap";
    case subnetUp:
      return "the subnet is up";
    case subnetError:
      return "errors, it will sweep again";
    case routing:
      return "tables are about to be written";
    case routed:
      return "tables were computed";
    case written:
      return "blocks of a table were written";
    case refused:
      return "a policy or routing was refused";
    case takesPorts:
      return "tables of ports are programmed";
    case noPorts:
      return "tables of ports are not programmed";
    case lost:
      return "events were lost";
  }
  return "?";
}

}  // namespace

Result<std::unique_ptr<OpensmLink>> OpensmLink::start(const std::string& socket_path, SubnetController& controller,
                                                      const log::Log& log) {
  std::unique_ptr<OpensmLink> link(new OpensmLink(log));
  opensm::PolicyServerHooks hooks;
  hooks.event = [&controller, log](Guid instance, const opensm::PolicyEvent& event) {
    using Kind = opensm::PolicyEvent::Kind;
    log.debug("OpenSM tells: {}", text_of(event.kind));
    if (event.kind == Kind::trap && event.number == kLinkStateTrap) controller.notice({event.device});
    if (event.kind == Kind::routing) controller.opensm_writes();
    const bool is_settled = event.kind == Kind::subnetUp || event.kind == Kind::routed;
    if (is_settled || event.kind == Kind::lost) controller.opensm_settled();
    if (event.kind == Kind::refused) controller.opensm_refused(event.text);
    if (event.kind == Kind::routed) controller.opensm_wrote();
    if (event.kind == Kind::takesPorts) controller.opensm_takes_ports(instance, {});
    if (event.kind == Kind::noPorts) controller.opensm_takes_ports(instance, event.text);
  };
  hooks.changed = [&controller, log](Guid instance, bool connected) {
    log.info("OpenSM's plugin is {}", connected ? "connected" : "gone");
    controller.opensm_connected(instance, connected);
  };
  hooks.problem = [log](const Error& error) { log.warn("OpenSM's plugin: {}", error.text()); };
  auto server = opensm::PolicyServer::start({.socket_path = socket_path}, std::move(hooks));
  if (!server) return std::unexpected(server.error());
  link->server_ = std::move(*server);
  return link;
}

void OpensmLink::follow(const ClusterState& state, const SubnetController::OpensmPorts& wanted, std::uint64_t term) {
  const bool has_ports = wanted.ports != nullptr && (wanted.ports != ports_.ports || wanted.repeat != ports_.repeat);
  const bool is_same = !has_ports && wanted.rewrite == ports_.rewrite;
  if (view_version_ == state.view_version && is_same) return;
  opensm::RoutingPolicy policy = policy_of(state);
  policy.term = term;
  policy.revision = ++revision_;
  if (wanted.ports != nullptr) {
    ports_ = wanted;
  } else {
    ports_.rewrite = wanted.rewrite;
  }
  policy.keeps_ports = ports_.ports == nullptr;
  if (ports_.ports != nullptr) policy.ports = *ports_.ports;
  policy.repeat = ports_.repeat;
  policy.rewrite = wanted.rewrite;
  const bool first = !view_version_;
  view_version_ = state.view_version;
  const bool is_repeated = policy.repeat != published_.repeat || policy.rewrite != published_.rewrite;
  if (!first && policy.same_content(published_) && !is_repeated) return;
  published_ = policy;
  if (auto published = server_->publish(std::move(policy)); !published) {
    log_.warn("drains and tables of ports were not passed on to OpenSM: {}", published.error().text());
  }
}

}  // namespace railweave::control
