#include "services/control/live/routes/opensm_match.h"

#include <array>
#include <memory>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "services/control/live/routes/table_reading.h"

namespace railweave::control {

using namespace fabric;  // NOLINT: this file is about its types

// LIDs are OpenSM's. Where they are not those of the accepted topology, tables cannot be compared, let alone written.
std::string OpensmMatch::find_other_lid(const RoutingScope& scope) const {
  const Topology& t = scope.topology();
  for (const DestinationId id : scope.destinations()) {
    const Destination& destination = scope.destination(id);
    if (!destination.port || destination.lid_offset != 0) continue;
    if (t.subnet(destination.home) != links_.subnet()) continue;
    const Lid lid = context_.driver().read_lid(t.guid(t.hca_of(destination.port)), t.number(destination.port));
    if (lid == 0 || lid == scope.lid(id)) continue;
    return fmt::format(
        "port {} has LID {}, not {} as in the accepted topology: accept what was discovered (railweave fabric discover "
        "--accept)",
        t.port_text(destination.port), lid, scope.lid(id));
  }
  return {};
}

bool OpensmMatch::compare(const Routing& applied, const Routing& wanted) {
  std::string problem = find_other_lid(wanted.tables.scope());
  const std::uint64_t differing =
      problem.empty() ? differing_blocks(applied.tables, wanted.tables, links_.switches()) : 0;
  if (differing != 0) {
    problem = fmt::format(
        "OpenSM's tables differ from Railweave's in {} blocks and are not changed: check that its routing engine is "
        "railweave and that it knows the same drains",
        differing);
  }
  matches_ = problem.empty();
  SubnetStatus& status = context_.status();
  status.blocks_differing = differing;
  status.problem = problem;
  status.applied_digest = digest_of(applied, links_.switches());
  status.applied = std::make_shared<const Routing>(applied);
  context_.alarms().set_subnet("sync.mismatch", AlarmSeverity::critical,
                               matches_ ? "" : context_.name() + ": " + problem);
  return matches_;
}

void OpensmMatch::keep(std::vector<TableReading> readings) {
  for (TableReading& reading : readings) {
    if (!reading.answered || read_[reading.sw] == reading.ports) continue;
    read_[reading.sw] = std::move(reading.ports);
    ++version_;
  }
}

std::vector<TableReading> OpensmMatch::readings() const {
  std::vector<TableReading> readings;
  for (const auto& [sw, ports] : read_) readings.push_back({sw, true, ports});
  return readings;
}

void OpensmMatch::guard(ForwardingDelta& delta, const RoutingScope& scope) const {
  std::vector<bool> ours;
  for (const DestinationId id : scope.destinations()) {
    const Lid lid = scope.lid(id);
    if (lid >= ours.size()) ours.resize(lid + std::size_t{1}, false);
    ours[lid] = true;
  }
  std::erase_if(delta.blocks, [&](const LftBlock& block) { return !read_.contains(block.sw); });
  std::map<std::pair<SwitchId, std::uint16_t>, std::array<std::uint16_t, kLidsPerBlock>> present;
  for (LftBlock& block : delta.blocks) {
    const std::vector<std::uint16_t>& read = read_.at(block.sw);
    const auto [has, is_new] = present.try_emplace({block.sw, block.number});
    for (std::size_t i = 0; i < kLidsPerBlock; ++i) {
      const std::size_t lid = block.number * kLidsPerBlock + i;
      const std::uint16_t port = lid < read.size() ? read[lid] : kNoPort;
      if (is_new) has->second[i] = port;
      if (lid >= ours.size() || !ours[lid]) block.ports[i] = port;
    }
    delta.expected.push_back(has->second);
    has->second = block.ports;
  }
}

std::vector<TableReading> OpensmMatch::written(const ForwardingDelta& delta, const ProgramReport& report) {
  ++version_;
  std::map<SwitchId, bool> are_known;
  for (std::size_t i = 0; i < delta.blocks.size(); ++i) {
    bool& is_known = are_known.try_emplace(delta.blocks[i].sw, true).first->second;
    is_known = is_known && report.blocks[i] == WriteOutcome::applied;
  }
  for (const LftBlock& block : delta.blocks) {
    if (!are_known[block.sw]) continue;
    std::vector<std::uint16_t>& ports = read_.at(block.sw);
    const std::size_t first = block.number * kLidsPerBlock;
    for (std::size_t i = 0; i < kLidsPerBlock && first + i < ports.size(); ++i) ports[first + i] = block.ports[i];
  }
  std::vector<TableReading> readings;
  for (const auto& [sw, is_known] : are_known) {
    if (is_known) readings.push_back({sw, true, read_.at(sw)});
  }
  return readings;
}

void OpensmMatch::raise_alarms(const SubnetInbox::OpensmNews& news) const {
  const std::string plugin = "OpenSM's plugin of " + context_.name();
  context_.alarms().set_subnet("opensm.absent", AlarmSeverity::critical,
                               news.is_connected ? "" : plugin + " is not connected");
  context_.alarms().set_subnet("opensm.refused", AlarmSeverity::critical,
                               news.refusal.empty() ? "" : plugin + " refused: " + news.refusal);
}

}  // namespace railweave::control
