// What SONiC's YANG models ask of the QoS and buffer tables of a config_db (sonic-buildimage, src/sonic-yang-models:
// sonic-dscp-tc-map, -tc-dscp-map, -tc-queue-map, -tc-priority-group-map, -pfc-priority-queue-map, -scheduler, -wred-profile, -queue,
// -port-qos-map, -buffer-pool, -buffer-profile, -buffer-pg, -buffer-queue): fields that exist, mandatory ones, ranges,
// rules between fields, and references that lead somewhere. Other tables are not looked at.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"

namespace railweave::fabric {

struct SonicProblem {
  std::string entry;  // "QUEUE|Ethernet0|3 scheduler"
  std::string message;
};

// Ports are held against the table PORT where there is one. Errors: text that is no config_db (malformed). None found:
// an empty list.
Result<std::vector<SonicProblem>> check_sonic_config(std::string_view config_db);

}  // namespace railweave::fabric
