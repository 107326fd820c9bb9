// Lanes of jobs' own on an Ethernet switch as SONiC's config_db has them, beside what write_sonic_qos() writes: weights of the
// queues of every port, and the DSCPs that each port trusts. A host's port has a DSCP_TO_TC_MAP of its own where it is not
// trusted with every lane: packets with the DSCP of a lane that no job on that host has are in the lowest class's queue, and
// as ports write DSCPs by traffic class (TC_TO_DSCP_MAP), they leave the switch with its DSCP: no switch behind it is deceived.
// By port and not by destination: a job's host is trusted with its job's lane wherever it sends to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabric/base/error.h"

namespace railweave::fabric {

struct SonicQueue {
  std::uint8_t traffic_class = 0;  // 0 to 7, its own; its queue is the same number
  unsigned weight = 1;  // 1 to 100, of DWRR; those of a port sum to at most 100, so that none has less than its weight
};

struct SonicMark {
  std::uint8_t dscp = 0, traffic_class = 0;
};

struct SonicLanePort {
  std::string name;  // "Ethernet0"
  std::vector<SonicQueue> queues;
  std::vector<std::uint8_t> distrusted;  // DSCPs of marks that no packet may come in with
};

struct SonicLanes {
  std::vector<SonicMark> marks;   // of classes and lanes; each DSCP and traffic class once
  std::uint8_t lowest_class = 0;  // traffic class of all other DSCPs: one of the marks'
  std::vector<SonicLanePort> ports;
};

// Canonical, one table a line. Errors, kind invalid, code "sonic.invalid".
Result<std::string> write_sonic_lanes(const SonicLanes& lanes);

}  // namespace railweave::fabric
