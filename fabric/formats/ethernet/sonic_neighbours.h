// Reads the LLDP tables of a SONiC switch, as `sonic-db-dump -n APPL_DB -y` prints its application database (whole, or with
// -k 'LLDP_*'): a cable to each neighbour, and rates from PORT_TABLE where it is there.
//
//   {"LLDP_ENTRY_TABLE:Ethernet0": {"type": "hash", "value": {"lldp_rem_sys_name": "dgx-1", "lldp_rem_port_id": "b8:3f:...",
//      "lldp_rem_port_id_subtype": "3", "lldp_rem_port_desc": "eth2", "lldp_rem_sys_cap_enabled": "01 00"}},
//    "LLDP_LOC_CHASSIS": {"value": {"lldp_loc_sys_name": "leaf-1"}}, "PORT_TABLE:Ethernet0": {"value": {"speed": "400000"}}}
//
// Rows without "value" are taken as they are, and tables as objects of rows. eth0, the management port, is left out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/formats/ethernet/ethernet_cables.h"
#include "fabric/formats/text/read_options.h"
#include "fabric/formats/text/row_left_out.h"

namespace railweave::fabric {

// `file_name` stands for the switch where the table does not name it. Returns rows that were left out. Errors: no such
// JSON (with line and column), no row with a neighbour, tooLarge.
Result<std::vector<RowLeftOut>> read_sonic_neighbours(std::string_view text, const std::string& file_name,
                                                      const ReadOptions& options, EthernetCables& cables);

}  // namespace railweave::fabric
