#include <utility>

#include "fabric/topology/site_link_name.h"
#include "services/control/decide/commands.h"
#include "services/control/decide/refusal.h"

namespace railweave::control {

DecisionResult decide_command(const DecisionInput& in, const ReportLinks& command) {
  const ClusterState& state = in.state;
  std::vector<EventBody> events;
  LinksChanged changed{command.subnet, {}, command.reason};
  const auto is_new = [&](const LinkReport& report) {
    if (const auto link = state.topology().find_link(report.link)) return state.view.state(link) != report.state;
    const auto far = fabric::find_site_link(state.topology(), report.link);
    return far && (state.view.state(far) != report.state || state.view.links_up(far) != report.links_up);
  };
  for (const auto& report : command.links) {
    if (!is_new(report)) continue;
    changed.links.push_back(report);
    if (changed.links.size() < LinksChanged::kMaxLinks) continue;
    events.emplace_back(std::exchange(changed, {command.subnet, {}, command.reason}));
  }
  if (!changed.links.empty()) events.emplace_back(std::move(changed));
  return Decision{std::move(events), {}, false};
}

DecisionResult decide_command(const DecisionInput& in, const ReportDrains& command) {
  const ClusterState& state = in.state;
  std::vector<EventBody> events;
  for (const auto& report : command.drains) {
    const auto drain = state.drains->find(report.target);
    if (drain != state.drains->end() && drain->second.state != report.state) events.emplace_back(report);
  }
  return Decision{std::move(events), {}, false};
}

DecisionResult decide_command(const DecisionInput& in, const ReportAlarms& command) {
  const ClusterState& state = in.state;
  std::vector<EventBody> events;
  for (const auto& alarm : command.raised) {
    const auto present = state.alarms->find(alarm.id());
    const bool same = present != state.alarms->end() && present->second.severity == alarm.severity &&
                      present->second.text == alarm.text;
    if (!same) events.emplace_back(AlarmRaised{alarm});
  }
  for (const auto& id : command.cleared) {
    if (state.alarms->contains(id)) events.emplace_back(AlarmCleared{id});
  }
  return Decision{std::move(events), {}, false};
}

DecisionResult decide_command(const DecisionInput& in, const AcknowledgeAlarm& command) {
  const auto present = in.state.alarms->find(command.id);
  if (present == in.state.alarms->end()) {
    return refuse(ErrorKind::notFound, "alarms.notFound", "there is no alarm '" + command.id + "'",
                  "it may be over: GET /v1/alarms lists present alarms, GET /v1/events past ones");
  }
  const Alarm& alarm = present->second;
  const bool same = alarm.acknowledged() == command.acknowledged &&
                    (!command.acknowledged || alarm.acknowledged_note == command.note);
  if (same) return Decision{};
  return Decision{{AlarmAcknowledged{command.id, command.acknowledged, command.note}}, {}, false};
}

DecisionResult decide_command(const DecisionInput& /*in*/, const ReportProgramming& command) {
  return Decision{{command.report}, {}, false};
}

DecisionResult decide_command(const DecisionInput& in, const ReportPortLimits& command) {
  const auto present = in.state.port_limits->find(command.report.subnet);
  if (present != in.state.port_limits->end() && present->second == command.report.limits) return Decision{};
  return Decision{{command.report}, {}, false};
}

DecisionResult decide_command(const DecisionInput& /*in*/, const ReportQos& command) {
  return Decision{{command.report}, {}, false};
}

}  // namespace railweave::control
