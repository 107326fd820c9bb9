#include "fabric/topology/checks/checks.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/natural_order.h"
#include "fabric/topology/checks/check_parts.h"
#include "fabric/topology/leaf_sharing.h"
#include "fabric/topology/locality.h"
#include "fabric/topology/rail_coverage.h"

namespace railweave::fabric {
namespace {

void describe_tiers(const Topology& topology, FindingList& findings) {
  if (topology.switches().empty()) return;
  std::vector<std::size_t> on_tier(topology.tier_count());
  std::size_t nowhere = 0;
  for (const auto sw : topology.switches()) {
    if (topology.tier(sw) == Topology::kNoTier) {
      ++nowhere;
    } else {
      ++on_tier[topology.tier(sw)];
    }
  }
  std::string text = counted(on_tier.size(), "tier") + " of switches";
  for (std::size_t tier = 0; tier < on_tier.size(); ++tier) {
    text += fmt::format("{}{} on tier {}", tier == 0 ? ": " : ", ", on_tier[tier], tier);
  }
  if (nowhere > 0) text += fmt::format(", {} connected to no host", nowhere);
  findings.note("tiersFound", std::move(text));
}

void describe_rails(const Topology& topology, FindingList& findings) {
  if (!topology.rails_inferred()) return;
  std::vector<std::string> names;
  for (const auto rail : topology.rails()) names.emplace_back(topology.name(rail));
  const auto tenths = std::lround(topology.rail_confidence() * 1000);
  std::string message = fmt::format("{} inferred from the cabling; {}.{}% of the adapter ports agree",
                                    counted(names.size(), "rail"), tenths / 10, tenths % 10);
  findings.note("railsInferred", std::move(message), std::move(names));
}

}  // namespace

void FindingList::add(std::string code, Severity severity, std::string message, std::vector<std::string> objects) {
  if (objects.empty()) return;
  std::ranges::sort(objects, NaturalLess{});
  if (objects.size() > kMaxObjects) objects.resize(kMaxObjects);
  findings_.push_back({std::move(code), severity, std::move(message), std::move(objects)});
}

void FindingList::note(std::string code, std::string message, std::vector<std::string> objects) {
  if (objects.size() > kMaxObjects) objects.resize(kMaxObjects);
  findings_.push_back({std::move(code), Severity::info, std::move(message), std::move(objects)});
}

std::string counted(std::size_t count, std::string_view noun) {
  const bool es = noun.ends_with("ch");
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : es ? "es" : "s");
}

std::string first_few(const std::vector<std::string>& items) {
  static constexpr std::size_t kMaxItems = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(items.size(), kMaxItems); ++i) text += (i == 0 ? "" : ", ") + items[i];
  if (items.size() > kMaxItems) text += fmt::format(" and {} more", items.size() - kMaxItems);
  return text;
}

std::vector<Finding> check_fabric(const Topology& topology) {
  FindingList findings;
  findings.all() = topology.source_findings();
  describe_tiers(topology, findings);
  describe_rails(topology, findings);
  check_hosts(topology, findings);
  check_uplinks(topology, findings);
  check_links(topology, findings);
  check_subnets(topology, findings);
  derive_locality(topology, &findings.all());
  return std::move(findings.all());
}

FabricSummary summarize(const Topology& topology) {
  FabricSummary summary;
  summary.switches = topology.switches().size();
  for (const auto sw : topology.switches()) summary.leaves += topology.is_leaf(sw) ? 1 : 0;
  summary.hosts = topology.hosts().size();
  summary.gpus = topology.gpus().size();
  for (const auto port : topology.hca_ports()) {
    const HcaId hca = topology.hca_of(port);
    if (topology.host(hca) && topology.peer(port)) ++summary.host_ports;
  }
  for (const auto hca : topology.hcas()) {
    summary.aggregation_nodes += topology.kind(hca) == HcaKind::aggregation ? 1 : 0;
    summary.routers += topology.kind(hca) == HcaKind::router ? 1 : 0;
  }
  for (const auto link : topology.links()) {
    if (topology.joins_switches(link)) {
      ++summary.inter_switch_links;
    } else {
      const HcaId a = topology.hca_of(topology.a(link));
      const HcaId b = topology.hca_of(topology.b(link));
      if ((a && topology.host(a)) || (b && topology.host(b))) ++summary.host_links;
    }
  }
  summary.components = switch_components(topology).count;
  summary.tiers = topology.tier_count();
  summary.rails = topology.rails().size();
  summary.hosts_short_of_rail = hosts_short_of_rail(topology).size();
  summary.racks = topology.racks().size();
  summary.subnets = topology.subnets().size();
  summary.nvlink_domains = topology.nvlink_domains().size();
  summary.sites = topology.sites().size();
  summary.rails_inferred = topology.rails_inferred();
  summary.rail_confidence = topology.rail_confidence();
  return summary;
}

}  // namespace railweave::fabric
