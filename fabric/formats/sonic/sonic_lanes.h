// The QoS of an Ethernet switch with lanes of jobs' own as SONiC's config_db has it, all of it: queues and their weights on every
// port, maps, PFC with its watchdog and headroom, ECN, and the DSCPs that each port trusts. A host's port has a DSCP_TO_TC_MAP of
// its own where it is not trusted with every lane: packets with the DSCP of a lane that no job on that host has are in the lowest
// class's queue, and as ports write DSCPs by traffic class (TC_TO_DSCP_MAP), they leave the switch with its DSCP: no switch behind
// it is deceived. By port and not by destination: a job's host is trusted with its job's lane wherever it sends to.
//
// A lane has a queue, a PFC priority and a priority group of its own: pausing one that shared them would pause others with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/formats/sonic/sonic_buffers.h"

namespace railweave::fabric {

struct SonicQueue {
  std::uint8_t traffic_class = 0;  // 0 to 7, its own; its queue is the same number
  unsigned weight = 1;  // 1 to 100, of DWRR; those of a port sum to at most 100, so that none has less than its weight
  // Above 0: served before all others, up to this rate, so that it starves none: of congestion notifications.
  std::uint64_t strict_bytes_per_s = 0;
};

struct SonicMark {
  std::uint8_t dscp = 0, traffic_class = 0;
  bool lossless = false;                               // on ports that say so, too
  std::uint64_t ecn_min_bytes = 0, ecn_max_bytes = 0;  // of its queues; 0: no marks
};

struct SonicLanePort {
  std::string name;  // "Ethernet0"
  std::vector<SonicQueue> queues;
  std::vector<std::uint8_t> distrusted;  // DSCPs of marks that no packet may come in with
  std::vector<std::uint8_t> lossless;    // traffic classes of lossless marks whose packets come in or go out here
  RateMbps rate;
  double cable_m = 0;
};

struct SonicLanes {
  std::vector<SonicMark> marks;   // of classes and lanes; each DSCP and traffic class once
  std::uint8_t lowest_class = 0;  // traffic class of all other DSCPs: one of the marks', and lossy
  std::vector<SonicLanePort> ports;
  SonicAsic asic;
};

// Canonical, one table a line. Errors, kind invalid, code "sonic.invalid"; those of sonic_buffer_tables().
Result<std::string> write_sonic_lanes(const SonicLanes& lanes);

}  // namespace railweave::fabric
