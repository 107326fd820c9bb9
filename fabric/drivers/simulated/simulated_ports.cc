// The ports of the SimulatedDriver: their tables and counters.
#include <algorithm>

#include "fabric/drivers/port_table_rules.h"
#include "fabric/drivers/simulated/simulated_driver.h"

namespace railweave::fabric {

namespace {

constexpr PortTableLimits kLimits{.data_vls = 8, .possible_vls = 8, .high_entries = 8, .low_entries = 8, .pkeys = 32};

// The filter where only what these input ports may send has been written.
IngressFilter changed(const IngressFilter& from, const IngressFilter& to, std::span<const std::uint8_t> in_ports) {
  std::vector<std::uint16_t> levels(std::max(from.ports(), to.ports()), IngressFilter::kAll);
  for (unsigned in = 0; in < levels.size(); ++in) {
    levels[in] = std::ranges::find(in_ports, in) != in_ports.end() ? to.from(in) : from.from(in);
  }
  return IngressFilter(std::move(levels));
}

}  // namespace

std::string SimulatedDriver::absence(PortRef port) const {
  if (silent_.contains(port.device)) return "does not answer";
  std::size_t ports = 0;
  if (const SwitchId sw = topology_->find_switch(port.device); sw.valid()) {
    ports = topology_->ports(sw).size() + 1;
  } else if (const HcaId hca = topology_->find_hca(port.device); hca.valid()) {
    ports = port.port == 0 ? 0 : topology_->ports(hca).size() + 1;
  } else {
    return "is not in the subnet";
  }
  return port.port < ports ? "" : "has no such port";
}

PortTables& SimulatedDriver::present_tables(PortRef port) {
  const auto [found, is_new] = port_tables_.try_emplace(port);
  PortTables& tables = found->second;
  if (!is_new) return tables;
  tables.port = port;
  for (std::uint8_t sl = 0; sl < 16; ++sl) {
    if (!tables.sl_to_vl) tables.sl_to_vl.emplace();
    (*tables.sl_to_vl)[sl] = static_cast<std::uint8_t>(sl % kLimits.data_vls);
  }
  tables.arbitration = VlArbitration{.high = {}, .low = {{0, 1}}, .high_limit = 0};
  tables.pkeys = std::vector<std::uint16_t>{0xffff};
  return tables;
}

void SimulatedDriver::lose_port_tables(Guid device) {
  std::erase_if(port_tables_, [device](const auto& entry) { return entry.first.device == device; });
}

std::uint64_t SimulatedDriver::key_of(Guid device) const {
  const auto found = key_of_.find(device);
  return found == key_of_.end() ? 0 : found->second;
}

// A device without a key takes everything; one with a key only from who shows it.
bool SimulatedDriver::takes(Guid device) const {
  const std::uint64_t key = key_of(device);
  const auto shown = shown_.find(device);
  return key == 0 || (shown != shown_.end() && shown->second == key);
}

Result<ManagementKeysReport> SimulatedDriver::keep_keys(std::uint64_t generation, bool releases) {
  ManagementKeysReport report;
  if (!keys_.are_on()) return report;
  if (auto allowed = may_write(); !allowed) return std::unexpected(allowed.error());
  for (const SwitchId sw : topology_->switches()) {
    const Guid guid = topology_->guid(sw);
    if (!is_present(guid)) continue;
    ++report.ports;
    if (silent_.contains(guid)) {
      report.silent.push_back({guid, 0});
      continue;
    }
    const std::uint64_t held = key_of(guid);
    const auto known = keys_.candidates(guid, generation);
    if (held != 0 && std::ranges::find(known, held) == known.end()) {
      report.locked.push_back({guid, 0});
      continue;
    }
    const std::uint64_t wanted = releases ? 0 : known.front();
    ++report.held;
    report.changed += held == wanted ? 0 : 1;
    key_of_[guid] = shown_[guid] = wanted;
  }
  return report;
}

std::optional<PortTableLimits> SimulatedDriver::read_limits(PortRef port) const {
  if (!absence(port).empty()) return std::nullopt;
  PortTableLimits limits = kLimits;
  limits.data_vls = limits.possible_vls = data_lanes_;
  limits.full_default_pkey = port == own_port_;
  return limits;
}

void SimulatedDriver::write_tables(const PortTables& wanted, PortTablesReport& report) {
  PortTablesOutcome& outcome = report.ports.emplace_back();
  outcome.port = wanted.port;
  const std::string absent = absence(wanted.port);
  if (const auto reason = absent.empty() && !takes(wanted.port.device) ? "does not answer" : absent; !reason.empty()) {
    note_all(outcome, wanted, TableOutcome::silent, reason);
    const bool named =
        std::ranges::any_of(report.isolated, [&](const auto& i) { return i.device == wanted.port.device; });
    if (!named && silent_.contains(wanted.port.device)) report.isolated.push_back({wanted.port.device, reason});
    return;
  }
  const PortTableLimits limits = *read_limits(wanted.port);
  if (const auto fault = pkey_fault(wanted, limits); !fault.empty()) {
    note_outcome(outcome, TableKind::pkeys, TableOutcome::invalid, fault);
  }
  PortTables lanes = wanted;
  lanes.pkeys.reset();
  if (const auto fault = lane_fault(lanes, limits); !fault.empty()) {
    note_all(outcome, lanes, TableOutcome::invalid, fault);
  }
  PortTables& present = present_tables(wanted.port);
  const auto write = [&](TableKind kind, auto& to, const auto& from) {
    if (outcome_of(outcome, kind) == TableOutcome::invalid) return;
    ++report.asked;
    if (to == from) return note_outcome(outcome, kind, TableOutcome::unchanged);
    if (refusing_.contains(wanted.port.device)) return note_outcome(outcome, kind, TableOutcome::refused, "refused");
    ++report.written;
    if (auto& garbled = garbled_[wanted.port.device]; garbled > 0) {
      --garbled;
      return note_outcome(outcome, kind, TableOutcome::mismatch, "reads back differently");
    }
    to = from;
    note_outcome(outcome, kind, TableOutcome::applied);
  };
  if (wanted.pkeys) write(TableKind::pkeys, *present.pkeys, *wanted.pkeys);
  if (wanted.sl_to_vl) {
    struct Maps {
      LaneMap map;
      IngressFilter ingress;
      std::vector<MapFromPort> from_ports;
      bool operator==(const Maps&) const = default;
    };
    Maps has{*present.sl_to_vl, present.ingress, present.from_ports};
    Maps wants{*wanted.sl_to_vl, wanted.ingress, wanted.from_ports};
    if (wanted.changed_in_ports) wants.ingress = changed(has.ingress, wanted.ingress, *wanted.changed_in_ports);
    if (wanted.changed_in_ports && (has.map != wants.map || has.from_ports != wants.from_ports)) {
      note_outcome(outcome, TableKind::slToVl, TableOutcome::mismatch, "other input ports have another map");
    } else {
      write(TableKind::slToVl, has, wants);
      present.sl_to_vl = has.map;
      present.ingress = has.ingress;
      present.from_ports = has.from_ports;
    }
  }
  if (!wanted.arbitration) return;
  write(TableKind::arbitrationHigh, present.arbitration->high, wanted.arbitration->high);
  write(TableKind::arbitrationLow, present.arbitration->low, wanted.arbitration->low);
  if (!wanted.arbitration->high_limit) return;
  if (keeps_high_limits_ || present.arbitration->high_limit == wanted.arbitration->high_limit) {
    write(TableKind::highLimit, present.arbitration->high_limit, wanted.arbitration->high_limit);
  } else {
    note_outcome(outcome, TableKind::highLimit, TableOutcome::notKept, "VLHighLimit is accepted and not kept");
  }
}

Result<PortTablesReport> SimulatedDriver::program_ports(std::span<const PortTables> wanted) {
  if (failure_) return std::unexpected(*failure_);
  PortTablesReport report;
  std::set<PortRef> seen;
  for (const PortTables& tables : wanted) {
    if (seen.insert(tables.port).second) {
      const auto before = report.written;
      write_tables(tables, report);
      if (report.written != before) table_writes_.push_back(tables);
      continue;
    }
    report.ports.emplace_back().port = tables.port;
    note_all(report.ports.back(), tables, TableOutcome::invalid, "is given twice");
  }
  return report;
}

Result<std::vector<PortTablesReading>> SimulatedDriver::read_port_tables(std::span<const PortRef> ports) {
  if (failure_) return std::unexpected(*failure_);
  std::vector<PortTablesReading> readings;
  for (const PortRef port : ports) {
    PortTablesReading& reading = readings.emplace_back();
    reading.tables.port = port;
    reading.reason = absence(port);
    reading.answered = reading.reason.empty();
    if (!reading.answered) continue;
    reading.tables = present_tables(port);
    const SwitchId sw = topology_->find_switch(port.device);
    const std::size_t in_ports = sw ? topology_->ports(sw).size() + 1 : 1;
    for (std::size_t in = 0; in < in_ports; ++in) {
      reading.lane_maps[static_cast<std::uint8_t>(in)] = reading.tables.sl_to_vl_from(static_cast<unsigned>(in));
    }
  }
  return readings;
}

Result<std::vector<CounterReading>> SimulatedDriver::read_counters(std::span<const PortRef> ports) {
  if (failure_) return std::unexpected(*failure_);
  std::vector<CounterReading> readings;
  for (const PortRef port : ports) {
    CounterReading& reading = readings.emplace_back();
    reading.port = port;
    reading.at_us = now_us_;
    reading.reason = absence(port);
    reading.answered = reading.reason.empty();
    const auto found = counts_.find(port);
    if (reading.answered && found != counts_.end()) reading.counts = found->second;
  }
  return readings;
}

}  // namespace railweave::fabric
