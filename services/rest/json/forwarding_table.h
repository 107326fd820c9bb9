// A switch's forwarding table as JSON: what is wanted of it beside what it holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabric/routing/plane/routing_engine.h"

namespace railweave::api {

// One LID of a switch's table. Ports: kNoPort where packets are dropped.
struct TableEntry {
  fabric::Lid lid = 0;
  fabric::DestinationId destination;  // of the wanted routing's scope
  std::uint16_t wanted = fabric::kNoPort;
  std::optional<std::uint16_t> applied;  // none: not known
};

// By LID, all LIDs that are routed in the switch's network. `applied` null: what it holds is not known. The switch is
// wanted's; applied may be of another scope, whose switch is then found by its GUID or name.
std::vector<TableEntry> table_of(fabric::SwitchId sw, const fabric::Routing& wanted, const fabric::Routing* applied);

std::string write_table_entry(const fabric::RoutingScope& scope, fabric::SwitchId sw, const TableEntry& entry);

}  // namespace railweave::api
