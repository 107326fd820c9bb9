// Forwarding tables and links in the formats that OpenSM dumps (`opensm -D 0x43`): opensm.fdbs and opensm-subnet.lst,
// which ibdmchk reads too, and opensm-lfts.dump. Written so that other tools can check Railweave's tables, read to
// compare them with OpenSM's. Pure.
//
// opensm.fdbs, per switch:
//   dump_ucast_routes: Switch 0x0000000000200000
//   LID    : Port : Hops : Optimal
//   0x0001 : 001  : 02   : yes
//   0x0002 : UNREACHABLE
// opensm-lfts.dump, per switch; it names the ports, so no LIDs from elsewhere are needed:
//   Unicast lids [0-24] of switch Lid 2 guid 0x0000000000200000 ('SW-0-0'):
//   0x0001 001 # Channel Adapter portguid 0x0000000000100001: 'H-1'
// opensm-subnet.lst, one line per link, END as follows:
//   { END } { END } PHY=4x LOG=ACT SPD=25
//   CA Ports:02 SystemGUID:... NodeGUID:... PortGUID:... VenID:... DevID:... Rev:... {H-1} LID:0001 PN:01
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/routing/plane/forwarding_tables.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::fabric {

// An opensm.fdbs. Hops are the links of the route to the destination, counted as OpenSM does.
std::string write_fdbs(const ForwardingTables& tables);
// An opensm-subnet.lst of the links that are up, with the LIDs of the scope.
std::string write_subnet_list(const FabricView& view, const RoutingScope& scope);

struct ReadTables {
  ForwardingTables tables;
  std::size_t entries = 0;                    // entries read
  std::vector<std::size_t> entries_of_plane;  // of these, by PlaneId
  std::size_t unknown_switches = 0;           // sections for switches that this fabric does not have; skipped
  std::size_t unknown_lids = 0;               // entries for LIDs that no port of this fabric has; skipped
};

// Reads an opensm.fdbs or opensm-lfts.dump, told apart by their content. What a LID belongs to is taken from
// `subnet_list` (an opensm-subnet.lst) or from the lfts dump itself, else from the scope (dumped_ports.h). Errors:
// malformed, with the line's number; invalid, where no entry is for this fabric.
Result<ReadTables> read_tables(const RoutingScopePtr& scope, std::string_view text, std::string_view subnet_list = {});

}  // namespace railweave::fabric
