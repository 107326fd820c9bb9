// Forwarding tables and links as OpenSM dumps them (`opensm -D 0x43`): opensm.fdbs and opensm-subnet.lst, which ibdmchk
// reads too, and opensm-lfts.dump. Written for other tools to check our tables with, read to compare tables with
// OpenSM's.
//
// opensm.fdbs, per switch:
//   dump_ucast_routes: Switch 0x0000000000200000
//   LID    : Port : Hops : Optimal
//   0x0001 : 001  : 02   : yes
//   0x0002 : UNREACHABLE
// opensm-lfts.dump, per switch; names the ports, so it needs no LIDs from elsewhere:
//   Unicast lids [0-24] of switch Lid 2 guid 0x0000000000200000 ('SW-0-0'):
//   0x0001 001 # Channel Adapter portguid 0x0000000000100001: 'H-1'
// opensm-subnet.lst, per link:
//   { CA Ports:02 SystemGUID:... NodeGUID:... PortGUID:... VenID:... DevID:... Rev:... {H-1} LID:0001 PN:01 } { SW ...
//   } PHY=4x LOG=ACT SPD=25
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "fabric/base/error.h"
#include "fabric/routing/plane/forwarding_tables.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::fabric {

// Hops are links to the destination, as OpenSM counts them, by the route that the tables give.
std::string write_fdbs(const ForwardingTables& tables);
// Links that are up. LIDs are those of the tables' scope.
std::string write_subnet_list(const FabricView& view, const RoutingScope& scope);

struct ReadTables {
  ForwardingTables tables;
  std::size_t entries = 0;           // that were read
  std::size_t unknown_switches = 0;  // sections for switches that this fabric does not have
  std::size_t unknown_lids = 0;      // entries for LIDs that nothing here has, and that are not used
};

// Reads opensm.fdbs or opensm-lfts.dump (told apart by their content). LIDs mean what `subnet_list` (an
// opensm-subnet.lst) or the lfts dump itself says of GUIDs; where neither speaks, what the scope says. Switches and
// ports are found by GUID, else by name where only one has it (ibsim makes GUIDs up). Errors: a line that is neither,
// with its number; nothing of the fabric in it.
Result<ReadTables> read_tables(const RoutingScopePtr& scope, std::string_view text, std::string_view subnet_list = {});

}  // namespace railweave::fabric
