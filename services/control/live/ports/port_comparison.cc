#include "services/control/live/ports/port_comparison.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/core.h>

#include "fabric/drivers/port_table_rules.h"

namespace railweave::control {
namespace {

using namespace fabric;  // NOLINT: this file is about its types

std::string map_difference(const PortTables& wanted, const PortTablesReading& read) {
  if (read.lane_maps.empty()) return "has no SL to VL";
  for (const auto& [in, map] : read.lane_maps) {
    const auto other = wanted.sl_to_vl_from(in);
    for (unsigned level = 0; level < map.size(); ++level) {
      if (map[level] == other[level]) continue;
      return fmt::format("level {} from port {} leads to VL {}, not {}", level, in, map[level], other[level]);
    }
  }
  return {};
}

std::vector<VlWeight> without_end(std::vector<VlWeight> table) {
  while (!table.empty() && table.back().weight == 0) table.pop_back();
  return table;
}

std::string text_of(const std::vector<VlWeight>& table) {
  std::string text;
  for (const VlWeight entry : table) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", entry.vl, entry.weight);
  }
  return text.empty() ? "no entry" : text;
}

std::string arbitration_difference(const VlArbitration& wanted, const PortTablesReading& read) {
  const VlArbitration has = read.tables.arbitration.value_or(VlArbitration());
  for (const auto& [name, is, other] : {std::tuple("high", without_end(has.high), without_end(wanted.high)),
                                        std::tuple("low", without_end(has.low), without_end(wanted.low))}) {
    if (is != other) return fmt::format("{} arbitration is {}, not {}", name, text_of(is), text_of(other));
  }
  return {};
}

std::string limit_difference(const VlArbitration& wanted, const PortTablesReading& read) {
  const auto has = read.tables.arbitration ? read.tables.arbitration->high_limit : std::nullopt;
  if (!wanted.high_limit || has == wanted.high_limit) return {};
  return fmt::format("the limit of high priority is {}, not {}", has ? std::to_string(*has) : std::string("not there"),
                     *wanted.high_limit);
}

std::string pkey_text(std::uint16_t key) {
  char text[8];
  std::snprintf(text, sizeof text, "0x%04x", static_cast<unsigned>(key));
  return text;
}

std::string pkey_difference(const std::vector<std::uint16_t>& wanted, const PortTablesReading& read) {
  const std::vector<std::uint16_t> has = read.tables.pkeys.value_or(std::vector<std::uint16_t>());
  for (std::size_t i = 0; i < std::max(has.size(), wanted.size()); ++i) {
    const std::uint16_t is = i < has.size() ? has[i] : 0, other = i < wanted.size() ? wanted[i] : 0;
    if (is != other) return fmt::format("partition key {} is {}, not {}", i, pkey_text(is), pkey_text(other));
  }
  return {};
}

}  // namespace

Result<PortTablesReport> compare_ports(FabricDriver& driver, std::span<const PortTables> wanted) {
  std::vector<PortRef> ports;
  for (const PortTables& one : wanted) ports.push_back(one.port);
  const auto readings = driver.read_port_tables(ports);
  if (!readings) return std::unexpected(readings.error());
  PortTablesReport report;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    PortTablesOutcome& outcome = report.ports.emplace_back(PortTablesOutcome{.port = wanted[i].port, .reason = {}});
    const PortTablesReading& read = (*readings)[i];
    const auto note = [&](TableKind kind, const std::string& difference) {
      note_outcome(outcome, kind, difference.empty() ? TableOutcome::unchanged : TableOutcome::mismatch, difference);
    };
    if (!read.answered) {
      note_all(outcome, wanted[i], TableOutcome::silent, read.reason);
      continue;
    }
    constexpr std::size_t kKeysInBlock = 32;
    report.asked += 5 + read.lane_maps.size() + (read.tables.pkeys ? read.tables.pkeys->size() / kKeysInBlock : 0);
    if (wanted[i].sl_to_vl) note(TableKind::slToVl, map_difference(wanted[i], read));
    if (wanted[i].arbitration) note(TableKind::arbitrationLow, arbitration_difference(*wanted[i].arbitration, read));
    if (wanted[i].arbitration) note(TableKind::highLimit, limit_difference(*wanted[i].arbitration, read));
    if (wanted[i].pkeys) note(TableKind::pkeys, pkey_difference(*wanted[i].pkeys, read));
  }
  return report;
}

}  // namespace railweave::control
