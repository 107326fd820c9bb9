#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "services/control/decide/commands.h"
#include "services/control/decide/moved_drains.h"
#include "services/control/decide/refusal.h"
#include "services/control/events/apply.h"
#include "services/control/guarantees/routes.h"
#include "services/control/views/subnet_costs.h"

namespace railweave::control {
namespace {

// The first part of error codes about a drain of that kind.
std::string_view drain_area(DrainKind kind) {
  constexpr std::array<std::string_view, 5> areas = {"links", "switches", "nodes", "nodes", "links"};
  return areas[static_cast<std::size_t>(kind)];
}

// Railweave programs forwarding tables; adaptive routing is programmed by the subnet managers of vendors.
DecisionResult refuse_adaptive(const std::string& subnet) {
  return refuse(
      ErrorKind::conflict, "subnets.notAdaptive",
      "subnet " + subnet + " is said to route adaptively, and in direct mode Railweave gives each pair one path",
      "choose another mode, or the spread single: railweave subnets spread " + subnet + " single");
}

}  // namespace

DecisionResult decide_command(const DecisionInput& in, const SetSubnetMode& command) {
  const ClusterState& state = in.state;
  const auto present = state.subnet_policies->find(command.subnet);
  const bool known = present != state.subnet_policies->end();
  const std::uint64_t version = known ? present->second.version : 0;
  if (command.if_version && *command.if_version != version) {
    return refuse_version("the subnet's mode", *command.if_version, version);
  }
  if (state.mode(command.subnet) == command.mode) return Decision{};
  const std::size_t costs = costs_in(state, command.subnet);
  if (command.mode == SubnetMode::opensm && costs > 0) {
    return refuse(ErrorKind::conflict, "subnets.linkCosts",
                  fmt::format("{} of its links have costs, which OpenSM cannot apply", costs),
                  "remove the costs first: railweave guarantees reroute --reset");
  }
  if (command.mode == SubnetMode::direct && state.spread(command.subnet) == fabric::PathSpread::adaptive) {
    return refuse_adaptive(command.subnet);
  }
  Decision decision{{SubnetModeSet{command.subnet, command.mode, command.reason}}, {}, false};
  // Other subnet managers compute routes of the fabric as it is cabled.
  if (state.route_bases->contains(command.subnet)) {
    decision.events.emplace_back(RoutesRebalanced{.subnet = command.subnet, .links = {}, .switches = {}});
  }
  return decision;
}

DecisionResult decide_command(const DecisionInput& in, const RotateSubnetKey& command) {
  return Decision{
      {SubnetKeyRotated{command.subnet, in.state.key_generation(command.subnet) + 1, command.reason}}, {}, false};
}

DecisionResult decide_command(const DecisionInput& in, const SetSubnetSpread& command) {
  const ClusterState& state = in.state;
  const auto& t = state.topology();
  if (state.spread(command.subnet) == command.spread) return Decision{};
  if (command.spread == fabric::PathSpread::adaptive && state.mode(command.subnet) == SubnetMode::direct) {
    return refuse_adaptive(command.subnet);
  }
  const auto has_path_sets = [&](fabric::PortId port) {
    return t.lmc(port) > 0 && t.subnet(port) && t.name(t.subnet(port)) == command.subnet;
  };
  if (command.spread == fabric::PathSpread::lmc && std::ranges::none_of(t.hca_ports(), has_path_sets)) {
    return refuse(ErrorKind::conflict, "subnets.noLmc",
                  "every adapter port of subnet " + command.subnet + " has one LID, so that its packets have one path",
                  "give its ports an LMC above 0, and discover or import it again");
  }
  return Decision{{SubnetSpreadSet{command.subnet, command.spread, command.reason}}, {}, false};
}

DecisionResult decide_command(const DecisionInput& in, const RequestDrain& command) {
  const ClusterState& state = in.state;
  if (state.drains->contains(command.target)) return Decision{};
  if (command.view_version != state.view_version) {
    return refuse(ErrorKind::conflict, "drains.viewChanged",
                  fmt::format("the fabric changed while the drain of {} was previewed", to_string(command.target)),
                  "repeat the request");
  }
  if (!command.objections.empty() && !command.force) {
    const std::string all = fmt::format("{}", fmt::join(command.objections, "; "));
    return refuse(ErrorKind::conflict, std::string(drain_area(command.target.kind)) + ".drainRefused",
                  fmt::format("draining {} is not safe: {}", to_string(command.target), all),
                  "resolve this first, or repeat the request with force");
  }
  return Decision{{DrainRequested{command.target, command.reason, command.force}}, {}, false};
}

DecisionResult decide_command(const DecisionInput& in, const ClearDrain& command) {
  const ClusterState& state = in.state;
  if (!state.drains->contains(command.target)) {
    return refuse(ErrorKind::notFound, "drains.notFound", fmt::format("{} is not drained", to_string(command.target)),
                  "GET /v1/drains lists the drains");
  }
  return Decision{clear_with_followers(state, {command.target, command.reason}), {}, false};
}

DecisionResult decide_command(const DecisionInput& in, const ReleaseLink& command) {
  if (!in.state.topology().find_link(command.link)) {
    return refuse(ErrorKind::notFound, "links.notFound", "there is no link '" + command.link + "'",
                  "GET /v1/links lists them");
  }
  if (!command.is_flapping) {
    return refuse(ErrorKind::conflict, "links.notFlapping",
                  "link " + command.link + " does not flap: there is nothing to forget",
                  "railweave links show " + command.link + " says what it is");
  }
  return Decision{{LinkReleased{command.subnet, command.link, command.reason}}, {}, false};
}

DecisionResult decide_command(const DecisionInput& in, const SetLinkCosts& command) {
  const ClusterState& state = in.state;
  if (command.by_link == state.link_costs->by_link) return Decision{};
  const auto changed = [&] {
    return refuse(ErrorKind::conflict, "routes.viewChanged", "the fabric changed while other routes were computed",
                  "repeat the request");
  };
  if (command.view_version != state.view_version) return changed();
  for (const auto& [link, cost] : command.by_link) {
    const auto subnet = subnet_of_link(state.topology(), link);
    if (subnet.empty()) return changed();
    if (state.mode(subnet) != SubnetMode::opensm) continue;
    return refuse(
        ErrorKind::conflict, "routes.openSmRoutes",
        fmt::format("link {} is of subnet {}, which is in opensm mode: OpenSM cannot apply costs", link, subnet),
        "set the subnet to direct mode first");
  }
  return Decision{with_alarm({command.by_link, command.reason}), {}, false};
}

}  // namespace railweave::control
