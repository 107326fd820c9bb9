#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/core.h>

#include "fabric/topology/checks/check_parts.h"
#include "fabric/topology/checks/checks.h"
#include "fabric/topology/leaf_sharing.h"

namespace railweave::fabric {
namespace {

// Links of one class join devices of the same sort: a host to its switch, or switches of two tiers, within a subnet.
using LinkClass = std::tuple<LinkKind, SubnetId, unsigned, unsigned>;
constexpr unsigned kHostEnd = 1000;  // instead of a tier

bool is_of_network(const Topology& topology, LinkId link) { return topology.kind(link) != LinkKind::nvlink; }

LinkClass class_of(const Topology& topology, LinkId link) {
  const auto end = [&](PortId port) -> unsigned {
    const SwitchId sw = topology.switch_of(port);
    return sw ? topology.tier(sw) : kHostEnd;
  };
  const unsigned a = end(topology.a(link));
  const unsigned b = end(topology.b(link));
  SubnetId subnet = topology.subnet(topology.a(link));
  if (!subnet) subnet = topology.subnet(topology.b(link));
  return {topology.kind(link), subnet, std::min(a, b), std::max(a, b)};
}

std::string rate_text(std::int64_t mbps) {
  return mbps % 1000 == 0 ? fmt::format("{} Gb/s", mbps / 1000) : fmt::format("{} Mb/s", mbps);
}

void check_speeds(const Topology& topology, FindingList& findings) {
  // Links of groups have assumed rates, by what is in the groups: none of them is slower than it should be.
  if (std::ranges::count(topology.source_findings(), kTiersWithoutCables, &Finding::code) > 0) return;
  std::map<LinkClass, std::map<std::int64_t, std::size_t>> rates;  // class -> rate -> links
  const auto counts = [&](LinkId link) {
    if (!is_of_network(topology, link) || topology.rate(link) == RateMbps()) return false;
    const HcaId hca = topology.hca_of(topology.b(link));
    return !hca || topology.kind(hca) == HcaKind::host;  // an aggregation node's link stays inside its switch
  };
  for (const auto link : topology.links()) {
    if (counts(link)) ++rates[class_of(topology, link)][topology.rate(link).value()];
  }
  std::map<LinkClass, std::pair<std::int64_t, std::vector<std::string>>> slower;
  for (const auto& [link_class, links_at] : rates) {
    // The rate of most links of the class, the higher of equals.
    std::size_t most = 0;
    for (const auto& [rate, links] : links_at) {
      if (links >= most) {
        most = links;
        slower[link_class].first = rate;
      }
    }
  }
  for (const auto link : topology.links()) {
    if (!counts(link)) continue;
    auto& [usual, links] = slower[class_of(topology, link)];
    if (topology.rate(link).value() < usual) links.push_back(topology.link_text(link));
  }
  for (auto& [link_class, usual_and_links] : slower) {
    auto& [usual, links] = usual_and_links;
    const bool to_hosts = std::get<3>(link_class) == kHostEnd;
    findings.add("linkSlowerThanClass", Severity::warning,
                 counted(links.size(), "link") + (to_hosts ? " to hosts" : " between switches") + " slower than the " +
                     rate_text(usual) + " of most such links",
                 links);
  }
}

// Each connected part by itself: what is an exception in a tree is the rule in a torus beside it.
void check_tiers(const Topology& topology, FindingList& findings) {
  struct Part {
    std::vector<std::string> same;
    std::size_t all = 0;
  };
  const SwitchComponents components = switch_components(topology);
  std::vector<Part> parts(components.count);
  for (const auto link : topology.links()) {
    if (!topology.joins_switches(link)) continue;
    const SwitchId a = topology.switch_of(topology.a(link));
    const SwitchId b = topology.switch_of(topology.b(link));
    Part& part = parts[components.of_switch[a.index()]];
    ++part.all;
    if (topology.tier(a) == topology.tier(b) && topology.tier(a) != Topology::kNoTier) {
      part.same.push_back(topology.link_text(link));
    }
  }
  for (const Severity severity : {Severity::warning, Severity::info}) {
    Part found;
    for (Part& part : parts) {
      const bool exception = 10 * part.same.size() < part.all;
      if (part.same.empty() || exception != (severity == Severity::warning)) continue;
      found.all += part.all;
      std::ranges::move(part.same, std::back_inserter(found.same));
    }
    findings.add("sameTierLinks", severity,
                 fmt::format("{} of {} between switches join switches of one tier", found.same.size(),
                             counted(found.all, "link")),
                 found.same);
  }
}

void check_borders(const Topology& topology, FindingList& findings) {
  std::vector<std::string> across;
  for (const auto link : topology.links()) {
    if (!topology.joins_switches(link) || topology.kind(link) != LinkKind::infiniband) continue;
    if (topology.subnet(topology.a(link)) != topology.subnet(topology.b(link)))
      across.push_back(topology.link_text(link));
  }
  findings.add(
      "linkBetweenSubnets", Severity::error,
      counted(across.size(), "link") + " between switches of different InfiniBand subnets; only a router may join them",
      across);
}

}  // namespace

void check_links(const Topology& topology, FindingList& findings) {
  check_speeds(topology, findings);
  check_tiers(topology, findings);
  check_borders(topology, findings);
}

}  // namespace railweave::fabric
