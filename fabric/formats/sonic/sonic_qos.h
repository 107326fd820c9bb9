// QoS of an Ethernet switch as SONiC's config_db has it: DSCP -> traffic class -> queue, weights, PFC, ECN thresholds.
// Table and field names are those of SONiC's own templates. Buffers are written where the ASIC is known
// (sonic_buffers.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/formats/sonic/sonic_buffers.h"

namespace railweave::fabric {

struct SonicClass {
  std::uint8_t dscp = 0;           // 0 to 63, its own
  std::uint8_t traffic_class = 0;  // 0 to 7, its own; its queue, priority group and PFC priority are the same number
  unsigned weight = 0;             // 1 to 100, of DWRR; in sum at most 100. Strict: not used
  bool strict = false;  // served before all others: congestion notification, which must not wait for what it is about
  std::uint64_t most_bytes_per_s = 0;                  // of a strict class, so that it starves none; 0: no limit
  bool lossless = false;                               // at most two: what switches' buffers hold
  std::uint64_t ecn_min_bytes = 0, ecn_max_bytes = 0;  // marks from min on; 0: no ECN
  unsigned ecn_percent = 5;                            // marked at max
};

struct SonicQos {
  std::vector<std::string> ports;  // "Ethernet0"
  std::vector<SonicClass> classes;
  std::uint8_t other_class = 0;  // traffic class of all other DSCPs: one of the classes'
  std::optional<SonicBuffers> buffers;
};

// Canonical, one table a line. Errors, kind invalid, code "sonic.invalid": what SONiC's YANG models refuse (sonic-
// scheduler, -dscp-tc-map, -tc-queue-map, -port-qos-map, -wred-profile) or what would not be a class of its own.
Result<std::string> write_sonic_qos(const SonicQos& qos);

}  // namespace railweave::fabric
