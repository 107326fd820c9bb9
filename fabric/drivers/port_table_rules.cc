#include "fabric/drivers/port_table_rules.h"

#include <algorithm>
#include <set>

#include <fmt/core.h>

namespace railweave::fabric {

namespace {

constexpr std::uint16_t kBase = 0x7fff, kFullMember = 0x8000;
constexpr unsigned kDropVl = 15;

std::string arbitration_fault(const std::vector<VlWeight>& entries, std::size_t capacity, unsigned data_vls,
                              const char* name) {
  if (entries.size() > capacity) {
    return fmt::format("{} {} arbitration entries, the port has {}", entries.size(), name, capacity);
  }
  for (const VlWeight entry : entries) {
    if (entry.vl >= data_vls) {
      return fmt::format("{} arbitration names VL {}, the port has {}", name, entry.vl, data_vls);
    }
  }
  return {};
}

// By the maps from all input ports.
std::set<std::uint8_t> lanes_named(const PortTables& tables) {
  std::set<std::uint8_t> lanes;
  if (!tables.sl_to_vl) return lanes;
  lanes.insert(tables.sl_to_vl->begin(), tables.sl_to_vl->end());
  for (const MapFromPort& from : tables.from_ports) lanes.insert(from.map.begin(), from.map.end());
  return lanes;
}

}  // namespace

std::string pkey_fault(const PortTables& tables, const PortTableLimits& limits) {
  if (!tables.pkeys) return {};
  const auto& pkeys = *tables.pkeys;
  if (pkeys.size() > limits.pkeys) {
    return fmt::format("{} PKeys, the port holds {}", pkeys.size(), limits.pkeys);
  }
  if (!tables.may_remove_default_pkey) {
    if (pkeys.empty() || (pkeys[0] & kBase) != kBase) return "the default PKey would go from index 0";
    if (limits.full_default_pkey && pkeys[0] != (kBase | kFullMember)) {
      return "the managing port would be a limited member of the default partition";
    }
  }
  std::set<std::uint16_t> seen;
  for (const std::uint16_t pkey : pkeys) {
    if (pkey == 0) continue;
    if ((pkey & kBase) == 0) return "PKey 0x8000 is no partition";
    if (!seen.insert(pkey).second) return fmt::format("PKey {} is there twice", pkey);
  }
  return {};
}

std::string lane_fault(const PortTables& tables, const PortTableLimits& limits) {
  if ((tables.sl_to_vl || tables.arbitration) && limits.data_vls <= 1) return "the port has one data VL";
  for (const std::uint8_t vl : lanes_named(tables)) {
    if (vl >= limits.data_vls && vl != kDropVl) {
      return fmt::format("SL to VL names VL {}, the port has {}", vl, limits.data_vls);
    }
  }
  if (!tables.arbitration) return {};
  const VlArbitration& arbitration = *tables.arbitration;
  for (const auto& fault : {arbitration_fault(arbitration.high, limits.high_entries, limits.data_vls, "high"),
                            arbitration_fault(arbitration.low, limits.low_entries, limits.data_vls, "low")}) {
    if (!fault.empty()) return fault;
  }
  const auto served = [&](unsigned vl) {
    const auto has = [vl](const std::vector<VlWeight>& entries) {
      return std::ranges::any_of(entries, [vl](VlWeight entry) { return entry.vl == vl && entry.weight != 0; });
    };
    return has(arbitration.high) || has(arbitration.low);
  };
  bool any = false;
  for (unsigned vl = 0; vl < limits.data_vls; ++vl) any = any || served(vl);
  if (!any) return "arbitration without any weight sends nothing";
  for (const std::uint8_t vl : lanes_named(tables)) {
    if (vl != kDropVl && !served(vl)) return fmt::format("VL {} is used and has no weight in arbitration", vl);
  }
  return {};
}

TableOutcome& outcome_of(PortTablesOutcome& outcome, TableKind kind) {
  switch (kind) {
    case TableKind::slToVl:
      return outcome.sl_to_vl;
    case TableKind::highLimit:
      return outcome.high_limit;
    case TableKind::pkeys:
      return outcome.pkeys;
    case TableKind::arbitrationHigh:
    case TableKind::arbitrationLow:
      break;
  }
  return outcome.arbitration;
}

void note_outcome(PortTablesOutcome& outcome, TableKind kind, TableOutcome result, const std::string& reason) {
  TableOutcome& had = outcome_of(outcome, kind);
  had = std::max(had, result);
  if (outcome.reason.empty()) outcome.reason = reason;
}

void note_all(PortTablesOutcome& outcome, const PortTables& asked, TableOutcome result, const std::string& reason) {
  if (asked.sl_to_vl) note_outcome(outcome, TableKind::slToVl, result, reason);
  if (asked.arbitration) note_outcome(outcome, TableKind::arbitrationLow, result, reason);
  if (asked.arbitration && asked.arbitration->high_limit) {
    note_outcome(outcome, TableKind::highLimit, result, reason);
  }
  if (asked.pkeys) note_outcome(outcome, TableKind::pkeys, result, reason);
}

}  // namespace railweave::fabric
