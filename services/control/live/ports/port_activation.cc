#include "services/control/live/ports/port_activation.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace railweave::control {
namespace {

using namespace fabric;  // NOLINT: this file is about its types

constexpr std::size_t kMaxPortAlarms = 64;

// Only devices that are there get one.
std::vector<LidAssignment> lids_of(const RoutingScope& scope, const SubnetLinks& links, const FabricDriver& driver) {
  const Topology& t = *links.topology();
  std::vector<LidAssignment> lids;
  for (const SwitchId sw : links.switches()) {
    if (driver.is_present(t.guid(sw))) lids.push_back({t.guid(sw), 0, scope.lid(sw), t.lmc(sw)});
  }
  for (const PortId port : t.hca_ports()) {
    const DestinationId id = scope.find(port);
    if (!id || t.subnet(scope.destination(id).home) != links.subnet()) continue;
    if (!driver.is_present(t.guid(t.hca_of(port)))) continue;
    lids.push_back({t.guid(t.hca_of(port)), static_cast<std::uint8_t>(t.number(port)), scope.lid(id), t.lmc(port)});
  }
  return lids;
}

}  // namespace

Result<void> PortActivation::bring_up(const RoutingScope& scope) {
  if (context_.mode() == SubnetMode::opensm) {
    phase_ = Phase::active;
    return {};
  }
  const auto report =
      context_.driver().bring_up(lids_of(scope, links_, context_.driver()), 0, links_.unused_ports(context_.driver()));
  if (!report) return context_.not_written(report.error());
  context_.alarms().set_subnet("subnet.notWritable", AlarmSeverity::critical, "");
  phase_ = report->failed.empty() ? Phase::active : Phase::partial;
  std::vector<Alarm> alarms;
  for (std::size_t i = 0; i < std::min(report->failed.size(), kMaxPortAlarms); ++i) {
    const std::string& text = report->failed[i];
    alarms.push_back({.subject_kind = "port", .subject_id = text.substr(0, text.find(':')), .text = "port " + text});
  }
  context_.alarms().set("port.notActive", std::move(alarms));
  return {};
}

}  // namespace railweave::control
