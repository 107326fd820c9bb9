#include "fabric/drivers/opensm/protocol/routing_policy.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "fabric/base/fnv1a.h"

namespace railweave::fabric::opensm {
namespace {

std::unexpected<Error> refused(std::string what, std::string where) {
  return fail(ErrorKind::invalid, "policy.invalid", std::move(what), std::move(where));
}

bool is_port(const PortName& name) { return name.device.known() && name.port >= 1 && name.port <= 254; }

}  // namespace

std::string to_string(const PortName& name) { return to_string(name.device) + "/" + std::to_string(name.port); }
std::string to_string(const LinkName& name) { return to_string(name.a) + "--" + to_string(name.b); }
std::string hex64(std::uint64_t value) { return to_string(Guid(value)); }

Result<RoutingPolicy> canonical(RoutingPolicy policy) {
  const std::size_t lines =
      policy.drained_links.size() + policy.drained_switches.size() + policy.weights.size() + policy.ports.lines();
  if (lines > kMaxPolicyLines) {
    return fail(ErrorKind::tooLarge, "policy.tooLarge",
                std::to_string(lines) + " drains, weights and tables of ports; at most " +
                    std::to_string(kMaxPolicyLines) + " are taken");
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
  if (policy.term != 0) text += "term " + std::to_string(policy.term) + "\n";
  for (const LinkName& link : policy.drained_links) text += "drain-link " + to_string(link) + "\n";
  for (const Guid sw : policy.drained_switches) text += "drain-switch " + to_string(sw) + "\n";
  for (const PortWeight& weight : policy.weights) {
    text += "weight " + to_string(weight.port) + " " + std::to_string(weight.weight) + "\n";
  }
  if (policy.repeat != 0) text += "repeat " + std::to_string(policy.repeat) + "\n";
  if (policy.rewrite != 0) text += "rewrite " + std::to_string(policy.rewrite) + "\n";
  if (policy.keeps_ports) text += "keep-ports\n";
  text += write_lines(policy.ports);
  return text + "end " + std::to_string(policy.revision) + " " + hex64(Fnv1a().add(text).value()) + "\n";
}

}  // namespace railweave::fabric::opensm
