// What drivers report about ports: what their tables can take, what became of tables written, what was read. Plain
// values.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fabric/base/guid.h"
#include "fabric/qos/port_tables.h"
#include "fabric/topology/port_counts.h"

namespace railweave::fabric {

struct PortTableLimits {
  unsigned data_vls = 1;                          // VL0 to VL(n-1), as the port is set up
  unsigned possible_vls = 1;                      // as it could be
  std::size_t high_entries = 0, low_entries = 0;  // of VL arbitration
  std::size_t pkeys = 0;
  unsigned mtu_bytes = 4096;       // that packets through the port can have
  bool full_default_pkey = false;  // the subnet is managed through it: limited members reach full ones only
};

enum class TableOutcome : std::uint8_t {
  notAsked,
  unchanged,  // already as wanted
  applied,    // written, and read back as written
  notKept,    // accepted, but reads back as before: the device does not implement it (VLHighLimit only)
  mismatch,   // reads back differently
  refused,    // the device answered with an error
  invalid,    // breaks a rule or a limit of the port; nothing was sent
  silent,     // the device does not answer, or is not in the subnet
};

struct PortTablesOutcome {
  PortRef port;
  TableOutcome sl_to_vl = TableOutcome::notAsked, arbitration = TableOutcome::notAsked,
               high_limit = TableOutcome::notAsked, pkeys = TableOutcome::notAsked;
  std::string reason;  // of the first that is neither unchanged nor applied

  [[nodiscard]] bool complete() const {
    for (const TableOutcome outcome : {sl_to_vl, arbitration, high_limit, pkeys}) {
      if (outcome >= TableOutcome::mismatch) return false;
    }
    return true;
  }
};

struct IsolatedDevice {
  Guid device;
  std::string reason;  // "does not answer"
};

struct PortTablesReport {
  std::vector<PortTablesOutcome> ports;  // as given
  std::vector<IsolatedDevice> isolated;  // each named once
  std::size_t written = 0;               // blocks that differed
  std::uint64_t asked = 0;
  [[nodiscard]] bool complete() const {
    for (const auto& port : ports) {
      if (!port.complete()) return false;
    }
    return true;
  }
};

struct PortTablesReading {
  PortTables tables;      // what the port has; without trailing PKeys of 0 and entries of weight 0
  bool answered = false;  // everything was
  // VL by SL for packets that come in by each port; of adapters 0 alone. sl_to_vl is that of the lowest.
  std::map<std::uint8_t, std::array<std::uint8_t, 16>> lane_maps;
  std::string reason;  // why not everything was answered
};

struct CounterReading {
  PortRef port;
  bool answered = false;
  PortCounts counts;
  std::int64_t at_us = 0;  // on the driver's own clock: only differences between readings mean something
  std::string reason;      // why it was not answered
};

}  // namespace railweave::fabric
