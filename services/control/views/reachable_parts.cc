#include "services/control/views/reachable_parts.h"

#include <map>
#include <utility>

namespace railweave::control {

using fabric::PortId;

ReachableParts::ReachableParts(const fabric::FabricView& view) : view_(view), joined_(fabric::joined_switches(view)) {}

bool ReachableParts::usable(PortId end_port) const {
  const auto link = view_.topology().link(end_port);
  return link && view_.topology().switch_of(view_.topology().peer(end_port)) && view_.carries_transit(link);
}

std::uint32_t ReachableParts::part(PortId end_port) const {
  return joined_.find(view_.topology().switch_of(view_.topology().peer(end_port)).index());
}

std::vector<PortId> find_cut_off(const fabric::FabricView& before, const fabric::FabricView& after) {
  const auto& topology = before.topology();
  const ReachableParts was(before);
  const ReachableParts is(after);
  std::vector<PortId> ends;
  std::map<std::uint32_t, std::uint64_t> size_before;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> size_after;  // (part before, part after)
  for (const PortId port : topology.hca_ports()) {
    // A SHARP aggregation node is part of its switch and is drained with it.
    if (topology.kind(topology.hca_of(port)) == fabric::HcaKind::aggregation || !was.usable(port)) continue;
    ends.push_back(port);
    ++size_before[was.part(port)];
    if (is.usable(port)) ++size_after[{was.part(port), is.part(port)}];
  }
  std::map<std::uint32_t, std::uint32_t> largest;  // part before -> its largest part after
  for (const auto& [parts, size] : size_after) {
    const auto [present, fresh] = largest.try_emplace(parts.first, parts.second);
    if (!fresh && size > size_after.at({parts.first, present->second})) present->second = parts.second;
  }
  std::vector<PortId> cut_off;
  for (const PortId port : ends) {
    if (size_before.at(was.part(port)) < 2) continue;
    if (!is.usable(port) || is.part(port) != largest.at(was.part(port))) cut_off.push_back(port);
  }
  return cut_off;
}

}  // namespace railweave::control
