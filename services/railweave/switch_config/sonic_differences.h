// What a SONiC switch has in CONFIG_DB (`sonic-cfggen -d --print-data`) beside the tables that sonic_lane_tables() and sonic_routes()
// make. Compared is what tables mean for each port, as maps and schedulers of other names may say the same. Pure.
#pragma once

#include <string>
#include <vector>

#include "services/railweave/terminal/json.h"

namespace railweave::cli {

struct SonicDifference {
  std::string port;     // "Ethernet0"; of a route "-"
  std::string setting;  // "DSCP 3, 7-9", "queue 4", "route 10.0.0.4/32"
  std::string wanted;   // "traffic class 3", "10.9.0.1 Ethernet32"
  std::string has;      // "-": nothing
};

// In the order of the wanted ports, then of the wanted routes. Not compared: queues that no DSCP leads to once the port's maps
// are as wanted.
std::vector<SonicDifference> sonic_differences(const Json& wanted, const Json& config_db);

}  // namespace railweave::cli
