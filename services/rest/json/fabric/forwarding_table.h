// A switch's forwarding table as JSON: its wanted entries beside the applied ones.
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
  std::optional<std::uint16_t> applied;  // nullopt: unknown
};

// Sorted by LID, all LIDs that are routed in the switch's subnet. `sw` is an id of wanted's topology. `applied` may be
// of another scope, in which the switch is found by its GUID or name; null: the applied table is unknown.
std::vector<TableEntry> table_of(fabric::SwitchId sw, const fabric::Routing& wanted, const fabric::Routing* applied);

// seen_us: unix, when the switch was last asked for its tables; 0: never.
std::string write_table_entry(const fabric::RoutingScope& scope, fabric::SwitchId sw, const TableEntry& entry,
                              std::int64_t seen_us);

}  // namespace railweave::api
