// The cables that packets take from port to port by what switches hold, hop by hop: cables and entries alone, no code of
// routing or capacity.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "fabric/routing/plane/forwarding_tables.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::fabric::testing {

using LinkWay = std::pair<std::uint32_t, bool>;  // link, out of its port a

// None: they do not arrive.
inline std::optional<std::vector<LinkWay>> walk(const FabricView& view, const ForwardingTables& tables, PortId from,
                                                PortId to) {
  const Topology& t = view.topology();
  const DestinationId destination = tables.scope().find(to);
  std::vector<LinkWay> path;
  if (!destination) return std::nullopt;
  PortId out = from;
  for (std::size_t hops = 0; hops <= t.switches().size() + 1; ++hops) {
    if (!t.peer(out) || view.state(t.link(out)) == LinkState::down) return std::nullopt;
    path.emplace_back(t.link(out).value(), t.a(t.link(out)) == out);
    const PortId in = t.peer(out);
    if (in == to) return path;
    if (!t.is_switch_port(in)) return std::nullopt;
    const SwitchId at = t.switch_of(in);
    const std::uint16_t number = tables.out_port(at, destination);
    if (number == 0 || number > t.ports(at).size()) return std::nullopt;
    out = t.ports(at)[number - 1];
  }
  return std::nullopt;
}

}  // namespace railweave::fabric::testing
