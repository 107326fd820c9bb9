// Which tables a port can take. Checked before anything is sent: firmware and simulators do not all survive what they
// cannot hold.
#pragma once

#include <string>

#include "fabric/drivers/port_tables.h"

namespace railweave::fabric {

struct PortTableLimits {
  unsigned data_vls = 1;                          // VL0 to VL(n-1)
  std::size_t high_entries = 0, low_entries = 0;  // of VL arbitration
  std::size_t pkeys = 0;
  bool full_default_pkey = false;  // through which we manage the subnet: limited members reach full ones only
};

enum class TableKind : std::uint8_t { slToVl, arbitrationHigh, arbitrationLow, highLimit, pkeys };

// Empty: nothing wrong. Of the PKeys; of the lanes: SL to VL and arbitration.
std::string pkey_fault(const PortTables& tables, const PortTableLimits& limits);
std::string lane_fault(const PortTables& tables, const PortTableLimits& limits);

TableOutcome& outcome_of(PortTablesOutcome& outcome, TableKind kind);
// The worse of what the table had and this; the reason is kept where it is the first.
void note_outcome(PortTablesOutcome& outcome, TableKind kind, TableOutcome result, const std::string& reason = {});
// The same for every table that was asked for.
void note_all(PortTablesOutcome& outcome, const PortTables& asked, TableOutcome result, const std::string& reason);

}  // namespace railweave::fabric
