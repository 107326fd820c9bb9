// What a SONiC switch has in CONFIG_DB (`sonic-cfggen -d --print-data`) beside the tables that sonic_lane_tables() and sonic_routes()
// make. Compared is what tables mean for each port, as maps, schedulers and profiles of other names may say the same. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "services/railweave/terminal/json.h"

namespace railweave::cli {

struct SonicDifference {
  std::string port;     // "Ethernet0"; of a route "-"
  std::string setting;  // "speed", "DSCP 3, 7-9", "queue 4", "priority group 4", "PFC", "route 10.0.0.4/32"
  std::string wanted;   // "traffic class 3", "10.9.0.1 Ethernet32"
  std::string has;      // "-": nothing
};

// In the order of the wanted ports, then of the wanted routes. speeds_mbps: of the ports, where config_db has the table PORT. Not
// compared: queues that no DSCP leads to once the port's maps are as wanted, and by how much headroom is more than wanted.
std::vector<SonicDifference> sonic_differences(const Json& wanted, const Json& config_db,
                                               const std::map<std::string, std::uint64_t>& speeds_mbps);

}  // namespace railweave::cli
