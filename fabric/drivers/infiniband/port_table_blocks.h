// A port's tables as blocks on the wire: which blocks there are, how each is requested, and its wanted content.
#pragma once

#include <array>
#include <expected>
#include <string>
#include <vector>

#include "fabric/drivers/infiniband/mad/smp.h"
#include "fabric/drivers/infiniband/mad/table_blocks.h"
#include "fabric/drivers/infiniband/subnet_map.h"
#include "fabric/drivers/port_table_rules.h"

namespace railweave::fabric::infiniband {

// A port and the route to it.
struct PortPlace {
  std::uint32_t node = kNoNode;
  std::uint8_t port = 0;
  bool is_switch = false;
  DirectedRoute route;
};

// Error: why the port cannot be asked, "is not in the subnet".
std::expected<PortPlace, std::string> find_port(const SubnetMap& map, PortRef port);

// info: as read from the port just now. Until it is given, limits of lanes are unknown and only the PKeys' count.
PortTableLimits limits_of(const SubnetMap& map, const PortPlace& place);
void add_lane_limits(PortTableLimits& limits, const SubnetMap& map, const PortPlace& place, const PortInfo& info);

struct TableBlock {
  TableKind kind = TableKind::slToVl;
  std::uint16_t number = 0;  // SL to VL: the input port; else the block's
};
std::string to_string(const TableBlock& block);  // "SLtoVL from port 3"

// The blocks of what is asked for; every input port of a switch has an SL to VL of its own (no use is made of the wildcards that
// some switches offer).
std::vector<TableBlock> blocks_of(const PortTables& tables, const PortTableLimits& limits, const SubnetMap& map,
                                  const PortPlace& place);

using BlockBytes = std::array<std::uint8_t, 64>;
// What counts of a block as it was read: reserved bits and entries beyond the port's tables are 0.
BlockBytes normal_form(const TableBlock& block, const PortTableLimits& limits, AttributeBytes data);
BlockBytes wanted_form(const TableBlock& block, const PortTableLimits& limits, const PortTables& tables);

Mad get_block(const PortPlace& place, const TableBlock& block);
// present: as just read; PortInfo, of which the high limit is a part, is written as a whole.
Mad set_block(const PortPlace& place, const TableBlock& block, const PortTableLimits& limits, const PortTables& tables,
              AttributeBytes present);

}  // namespace railweave::fabric::infiniband
