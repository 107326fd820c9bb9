// Which tables a port can take. Checked before anything is sent: firmware and simulators do not all survive what they
// cannot hold.
#pragma once

#include <string>

#include "fabric/drivers/port_reports.h"

namespace railweave::fabric {

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
