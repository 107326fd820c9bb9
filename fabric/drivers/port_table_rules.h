// Which tables a port can hold. Checked before anything is sent: some firmware and simulators fail on tables that are
// larger than theirs.
#pragma once

#include <string>

#include "fabric/drivers/port_reports.h"

namespace railweave::fabric {

enum class TableKind : std::uint8_t { slToVl, arbitrationHigh, arbitrationLow, highLimit, pkeys };

// Why the port cannot hold the PKeys, or the lanes (SL to VL and arbitration); empty: it can.
std::string pkey_fault(const PortTables& tables, const PortTableLimits& limits);
std::string lane_fault(const PortTables& tables, const PortTableLimits& limits);

TableOutcome& outcome_of(PortTablesOutcome& outcome, TableKind kind);
// Keeps the worse of the table's outcome and this one, and the first reason.
void note_outcome(PortTablesOutcome& outcome, TableKind kind, TableOutcome result, const std::string& reason = {});
// The same for every table that was asked for.
void note_all(PortTablesOutcome& outcome, const PortTables& asked, TableOutcome result, const std::string& reason);

}  // namespace railweave::fabric
