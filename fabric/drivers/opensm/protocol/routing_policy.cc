#include "fabric/drivers/opensm/protocol/routing_policy.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/fnv1a.h"

namespace railweave::fabric::opensm {
namespace {

std::unexpected<Error> refused(std::string what, std::string where) {
  return fail(ErrorKind::invalid, "policy.invalid", std::move(what), std::move(where));
}

bool is_port(const PortName& name) { return name.device.known() && name.port >= 1 && name.port <= 254; }

}  // namespace

std::string to_string(const PortName& name) { return fmt::format("{}/{}", to_string(name.device), name.port); }
std::string to_string(const LinkName& name) { return fmt::format("{}--{}", to_string(name.a), to_string(name.b)); }
std::string hex64(std::uint64_t value) { return to_string(Guid(value)); }

Result<RoutingPolicy> canonical(RoutingPolicy policy) {
  const std::size_t lines =
      policy.drained_links.size() + policy.drained_switches.size() + policy.weights.size() + policy.ports.lines();
  if (lines > kMaxPolicyLines) {
    return fail(ErrorKind::tooLarge, "policy.tooLarge",
                fmt::format("{} drains, weights and tables of ports; at most {} are taken", lines, kMaxPolicyLines));
  }
  for (LinkName& link : policy.drained_links) {
    if (!is_port(link.a) || !is_port(link.b)) {
      return refused("a link's ends are GUID/PORT, the GUID not 0, the port from 1 to 254", to_string(link));
    }
    if (link.a == link.b) return refused("a link joins two ports", to_string(link));
    if (link.b < link.a) std::swap(link.a, link.b);
  }
  for (const Guid sw : policy.drained_switches) {
    if (!sw.known()) return refused("no switch has the GUID 0", to_string(sw));
  }
  for (const PortWeight& weight : policy.weights) {
    if (!weight.port.known()) return refused("no port has the GUID 0", to_string(weight.port));
    if (weight.weight == 0) return refused("weights start at 1", to_string(weight.port));
  }
  std::ranges::sort(policy.drained_links);
  std::ranges::sort(policy.drained_switches);
  std::ranges::sort(policy.weights);
  if (const auto twice = std::ranges::adjacent_find(policy.drained_links); twice != policy.drained_links.end()) {
    return refused("the link is named twice", to_string(*twice));
  }
  if (const auto twice = std::ranges::adjacent_find(policy.drained_switches); twice != policy.drained_switches.end()) {
    return refused("the switch is named twice", to_string(*twice));
  }
  const auto twice = std::ranges::adjacent_find(policy.weights, {}, &PortWeight::port);
  if (twice != policy.weights.end()) return refused("the port has two weights", to_string(twice->port));
  if (policy.keeps_ports && !policy.ports.empty()) return refused("tables of ports stay, or are given", "keep-ports");
  if (auto checked = make_canonical(policy.ports); !checked) return std::unexpected(checked.error());
  return policy;
}

std::string write_policy(const RoutingPolicy& policy) {
  std::string text;
  if (policy.term != 0) text += fmt::format("term {}\n", policy.term);
  for (const LinkName& link : policy.drained_links) text += fmt::format("drain-link {}\n", to_string(link));
  for (const Guid sw : policy.drained_switches) text += fmt::format("drain-switch {}\n", to_string(sw));
  for (const PortWeight& weight : policy.weights) {
    text += fmt::format("weight {} {}\n", to_string(weight.port), weight.weight);
  }
  if (policy.repeat != 0) text += fmt::format("repeat {}\n", policy.repeat);
  if (policy.rewrite != 0) text += fmt::format("rewrite {}\n", policy.rewrite);
  if (policy.keeps_ports) text += "keep-ports\n";
  text += write_lines(policy.ports);
  return fmt::format("{}end {} {}\n", text, policy.revision, hex64(Fnv1a().add(text).value()));
}

}  // namespace railweave::fabric::opensm
