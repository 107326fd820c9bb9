#include "fabric/drivers/simulated/simulated_driver.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "fabric/drivers/staged_writes.h"
#include "fabric/routing/plane/plane_tables.h"

namespace railweave::fabric {

SimulatedDriver::SimulatedDriver(TopologyPtr topology) : topology_(std::move(topology)) {}

Result<DiscoveredFabric> SimulatedDriver::discover(bool everything) {
  if (failure_) return std::unexpected(*failure_);
  if (blind_) return DiscoveredFabric{.topology = topology_, .changed = false, .asked = 1, .silent = {}, .blind = true};
  DiscoveredFabric found{.topology = topology_,
                         .changed = everything || std::exchange(changed_, false),
                         .asked = topology_->switches().size()};
  changed_ = false;
  for (const SwitchId sw : topology_->switches()) {
    if (silent_.contains(topology_->guid(sw))) found.silent.push_back(topology_->guid(sw));
  }
  return found;
}

Result<Sweep> SimulatedDriver::sweep(bool everything) {
  auto found = discover(everything);
  if (!found) return std::unexpected(found.error());
  return Sweep{found->changed, found->asked, std::move(found->silent), found->blind};
}

Result<std::optional<Sweep>> SimulatedDriver::recheck(std::span<const Guid> switches, std::span<const Guid> gone) {
  if (failure_) return std::unexpected(*failure_);
  if (blind_) return std::nullopt;
  return Sweep{.changed = std::exchange(changed_, false), .asked = switches.size() + gone.size()};
}

PortId SimulatedDriver::find_port(Guid device, unsigned port) const {
  const SwitchId sw = topology_->find_switch(device);
  const HcaId hca = sw ? HcaId() : topology_->find_hca(device);
  if (!sw && !hca) return {};
  const auto ports = sw ? topology_->ports(sw) : topology_->ports(hca);
  return port == 0 || port > ports.size() ? PortId() : ports[port - 1U];
}

// A switch without a cable is gone.
bool SimulatedDriver::is_present(Guid device) const {
  if (topology_->find_hca(device)) return true;
  const SwitchId sw = topology_->find_switch(device);
  if (!sw) return false;
  return std::ranges::any_of(topology_->ports(sw), [this](PortId port) {
    return topology_->peer(port) && !cut_.contains(topology_->link(port));
  });
}

LinkReading SimulatedDriver::read_link(Guid device, unsigned port) const {
  const PortId at = find_port(device, port);
  const PortId peer = at ? topology_->peer(at) : PortId();
  if (!peer || cut_.contains(topology_->link(at))) return {.known = true};
  const SwitchId peer_switch = topology_->switch_of(peer);
  return {.known = true,
          .up = true,
          .active = true,
          .peer = peer_switch ? topology_->guid(peer_switch) : topology_->guid(topology_->hca_of(peer)),
          .peer_port = topology_->number(peer),
          .spec = topology_->spec(topology_->link(at))};
}

void SimulatedDriver::set_cut(Guid sw, unsigned port, bool cut, bool reports) {
  const PortId at = find_port(sw, port);
  const LinkId link = topology_->link(at);
  cut ? (void)cut_.insert(link) : (void)cut_.erase(link);
  changed_ = true;
  for (const PortId end : {at, topology_->peer(at)}) {
    const SwitchId reporter = topology_->switch_of(end);
    if (reports && reporter) observed_.push_back({Observation::Kind::linkStateChange, topology_->guid(reporter)});
  }
}
void SimulatedDriver::cut(Guid sw, unsigned port, bool reports) { set_cut(sw, port, true, reports); }
void SimulatedDriver::join(Guid sw, unsigned port, bool reports) { set_cut(sw, port, false, reports); }

Result<std::vector<Observation>> SimulatedDriver::observe(std::chrono::milliseconds) {
  if (failure_) return std::unexpected(*failure_);
  return std::exchange(observed_, {});
}

Result<std::vector<TableReading>> SimulatedDriver::read_tables(const Topology& topology,
                                                               std::span<const SwitchId> switches, Lid top) {
  if (failure_) return std::unexpected(*failure_);
  std::vector<TableReading> readings;
  for (const SwitchId sw : switches) {
    const Guid guid = topology.guid(sw);
    TableReading reading{sw, is_present(guid) && !silent_.contains(guid), {}};
    reading.ports.assign(top + std::size_t{1}, kNoPort);
    for (std::size_t lid = 0; reading.answered && lid <= top; ++lid) {
      reading.ports[lid] = out_port(guid, static_cast<Lid>(lid));
    }
    readings.push_back(std::move(reading));
  }
  return readings;
}

SwitchSight::Port SimulatedDriver::sight_of(Guid sw, unsigned port) const {
  const LinkReading reading = read_link(sw, port);
  SwitchSight::Port sight{.up = reading.up, .active = reading.active, .peer = {}, .peer_port = 0};
  if (!reading.up || silent_.contains(reading.peer)) return sight;
  sight.peer = reading.peer;
  sight.peer_port = reading.peer_port;
  if (topology_->find_hca(reading.peer)) sight.peer_lid = lid(reading.peer, static_cast<std::uint8_t>(sight.peer_port));
  return sight;
}

Result<std::vector<SwitchSight>> SimulatedDriver::look(const Topology& topology, std::span<const SwitchId> switches,
                                                       Lid top) {
  auto readings = read_tables(topology, switches, top);
  if (!readings) return std::unexpected(readings.error());
  std::vector<SwitchSight> sights;
  for (TableReading& reading : *readings) {
    const Guid guid = topology.guid(reading.sw);
    SwitchSight sight{.table = std::move(reading), .ports = {}};
    sight.table.answered = sight.table.answered && !blind_ && !hiding_.contains(guid);
    sight.ports.resize(topology.ports(sight.table.sw).size() + 1);
    for (unsigned port = 1; port < sight.ports.size(); ++port) sight.ports[port] = sight_of(guid, port);
    sights.push_back(std::move(sight));
  }
  return sights;
}

WriteOutcome SimulatedDriver::write(Guid sw, const LftBlock& block) {
  if (!is_present(sw) || silent_.contains(sw) || !takes(sw)) return WriteOutcome::silent;
  if (refusing_.contains(sw)) return WriteOutcome::refused;
  if (auto& garbled = garbled_[sw]; garbled > 0) {
    --garbled;
    return WriteOutcome::mismatch;
  }
  auto& table = tables_[sw];
  const std::size_t first = block.number * kLidsPerBlock;
  if (table.size() < first + kLidsPerBlock) table.resize(first + kLidsPerBlock, kNoPort);
  std::ranges::copy(block.ports, table.begin() + static_cast<std::ptrdiff_t>(first));
  return WriteOutcome::applied;
}

Result<ProgramReport> SimulatedDriver::program(const Topology& topology, const ForwardingDelta& delta) {
  if (auto allowed = may_write(); !allowed) return std::unexpected(allowed.error());
  ProgramReport report;
  report.blocks.assign(delta.blocks.size(), WriteOutcome::held);
  StagedWrites stages(delta);
  std::set<SwitchId> isolated;
  for (;;) {
    const auto ready = stages.take_ready();
    if (ready.empty()) {
      if (!stages.waits_for_packets()) break;
      stages.packets_gone();
      ++written_.waits;
      continue;
    }
    for (const std::size_t i : ready) {
      const LftBlock& block = delta.blocks[i];
      report.yielded = report.yielded || (another_writes_ && another_writes_());
      if (!report.yielded && !delta.expected.empty() && !has(topology.guid(block.sw), block, delta.expected[i])) {
        report.blocks[i] = WriteOutcome::changed;
        report.yielded = true;
      }
      if (report.yielded) {
        stages.failed(i);
        continue;
      }
      const Guid guid = topology.guid(block.sw);
      // A switch that failed once is left out of the rest.
      const WriteOutcome outcome = isolated.contains(block.sw) ? WriteOutcome::silent : write(guid, block);
      report.blocks[i] = outcome;
      ++report.asked;
      written_.blocks.push_back({guid, block.number, block.stage, outcome});
      if (outcome == WriteOutcome::applied) {
        stages.applied(i);
        continue;
      }
      stages.failed(i);
      if (!isolated.insert(block.sw).second) continue;
      const std::string name = fmt::format("LinearForwardingTable {}", block.number);
      report.isolated.push_back({block.sw, outcome == WriteOutcome::silent    ? "does not answer"
                                           : outcome == WriteOutcome::refused ? "refused " + name
                                                                              : name + " reads back differently"});
    }
  }
  return report;
}

Result<void> SimulatedDriver::may_write() {
  if (failure_) return std::unexpected(*failure_);
  if (!other_master_) return {};
  return fail(ErrorKind::conflict, "ib.otherMaster", "another subnet manager is master of this subnet");
}

Result<BringUpReport> SimulatedDriver::bring_up(std::span<const LidAssignment> lids, Lid, std::span<const PortRef>) {
  if (auto allowed = may_write(); !allowed) return std::unexpected(allowed.error());
  BringUpReport report;
  for (const LidAssignment& wanted : lids) {
    if (silent_.contains(wanted.device) || !takes(wanted.device)) {
      report.failed.push_back(fmt::format("{}/{}: does not answer", to_string(wanted.device), wanted.port));
      continue;
    }
    Lid& lid = lids_[{wanted.device, wanted.port}];
    report.lids_set += lid != wanted.lid ? 1 : 0;
    lid = wanted.lid;
    ++report.asked;
  }
  return report;
}

void SimulatedDriver::become(TopologyPtr topology, std::span<const Guid> reporting) {
  topology_ = std::move(topology);
  cut_.clear();
  changed_ = true;
  for (const Guid guid : reporting) observed_.push_back({Observation::Kind::linkStateChange, guid});
}

void SimulatedDriver::silence(Guid sw, bool silent) { silent ? (void)silent_.insert(sw) : (void)silent_.erase(sw); }
void SimulatedDriver::refuse(Guid sw, bool refuses) {
  refuses ? (void)refusing_.insert(sw) : (void)refusing_.erase(sw);
}
void SimulatedDriver::garble(Guid sw, std::size_t writes) { garbled_[sw] = writes; }

void SimulatedDriver::set_entry(Guid sw, Lid lid, std::uint16_t port) {
  auto& table = tables_[sw];
  if (table.size() <= lid) table.resize((lid / kLidsPerBlock + 1U) * kLidsPerBlock, kNoPort);
  table[lid] = port;
}

bool SimulatedDriver::has(Guid sw, const LftBlock& block, const std::array<std::uint16_t, kLidsPerBlock>& ports) const {
  for (std::size_t i = 0; i < kLidsPerBlock; ++i) {
    if (out_port(sw, static_cast<Lid>(block.number * kLidsPerBlock + i)) != ports[i]) return false;
  }
  return true;
}

std::uint16_t SimulatedDriver::out_port(Guid sw, Lid lid) const {
  const auto table = tables_.find(sw);
  return table == tables_.end() || lid >= table->second.size() ? kNoPort : table->second[lid];
}

Lid SimulatedDriver::lid(Guid device, std::uint8_t port) const {
  const auto found = lids_.find({device, port});
  return found == lids_.end() ? Lid{0} : found->second;
}

}  // namespace railweave::fabric
