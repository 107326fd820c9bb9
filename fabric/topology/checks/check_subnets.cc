#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "fabric/topology/checks/check_parts.h"
#include "fabric/topology/leaf_sharing.h"

namespace railweave::fabric {
namespace {

void check_parts(const Topology& topology, FindingList& findings) {
  std::vector<std::string> isolated;
  const SwitchComponents components = switch_components(topology);
  std::map<SubnetId, std::map<std::uint32_t, SwitchId>> parts;  // the first switch of each part that has hosts
  for (const auto sw : topology.switches()) {
    if (topology.tier(sw) == Topology::kNoTier) {
      isolated.emplace_back(topology.name(sw));
    } else {
      parts[topology.subnet(sw)].emplace(components.of_switch[sw.index()], sw);
    }
  }
  for (const auto& [subnet, firsts] : parts) {
    if (firsts.size() < 2) continue;
    std::vector<std::string> names;
    for (const auto& [component, sw] : firsts) names.emplace_back(topology.name(sw));
    findings.add(
        "severalComponents", Severity::warning,
        fmt::format("subnet {} has {} parts with hosts that no link joins", topology.name(subnet), firsts.size()),
        names);
  }
  findings.add("isolatedSwitch", Severity::warning, counted(isolated.size(), "switch") + " connected to no host",
               isolated);
}

// Calls visit(subnet, first LID, count) for every switch and port that should have a LID; LID 0 where it is not known.
template <class Visit>
void for_each_address(const Topology& topology, Visit visit) {
  const auto size = [](std::uint8_t lmc) { return std::size_t{1} << std::min<unsigned>(lmc, 7); };
  for (const auto sw : topology.switches()) visit(topology.subnet(sw), topology.lid(sw), size(topology.lmc(sw)));
  for (const auto port : topology.hca_ports()) {
    if (topology.subnet(port)) visit(topology.subnet(port), topology.lid(port), size(topology.lmc(port)));
  }
}

void check_lids(const Topology& topology, FindingList& findings) {
  std::vector<bool> infiniband(topology.subnets().size());
  for (const auto link : topology.links()) {
    if (topology.kind(link) != LinkKind::infiniband) continue;
    if (const SubnetId subnet = topology.subnet(topology.a(link))) infiniband[subnet.index()] = true;
  }
  std::vector<std::size_t> needed(topology.subnets().size());
  std::map<SubnetId, std::vector<std::uint8_t>> used;  // uses of each LID: 0, 1, or 2 for more
  for_each_address(topology, [&](SubnetId subnet, Lid lid, std::size_t count) {
    needed[subnet.index()] += count;
    if (lid == 0) return;
    auto& uses = used[subnet];
    uses.resize(kUnicastLids + 1);
    for (std::size_t i = lid; i < std::min(lid + count, uses.size()); ++i) uses[i] = std::min(uses[i] + 1, 2);
  });
  for (const auto subnet : topology.subnets()) {
    if (infiniband[subnet.index()] && needed[subnet.index()] > kUnicastLids) {
      findings.add("tooManyLids", Severity::error,
                   fmt::format("subnet {} needs {} LIDs, but a subnet has {}; divide it into several subnets",
                               topology.name(subnet), needed[subnet.index()], kUnicastLids),
                   {std::string(topology.name(subnet))});
    }
  }
  for (const auto& [subnet, uses] : used) {
    std::vector<std::string> twice;
    for (std::size_t lid = 1; lid < uses.size(); ++lid) {
      if (uses[lid] > 1) twice.push_back(std::to_string(lid));
    }
    findings.add(
        "duplicateLid", Severity::error,
        fmt::format("{} used more than once in subnet {}", counted(twice.size(), "LID"), topology.name(subnet)), twice);
  }
}

}  // namespace

void check_subnets(const Topology& topology, FindingList& findings) {
  check_parts(topology, findings);
  check_lids(topology, findings);
}

}  // namespace railweave::fabric
