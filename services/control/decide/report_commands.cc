#include <algorithm>
#include <utility>

#include "fabric/topology/site_link_name.h"
#include "services/control/decide/commands.h"
#include "services/control/decide/refusal.h"
#include "services/control/events/apply.h"
#include "services/control/guarantees/recheck.h"
#include "services/control/views/changed_paths.h"
#include "services/control/views/subnet_costs.h"

namespace railweave::control {

DecisionResult decide_command(const DecisionInput& in, const ReportLinks& command) {
  const ClusterState& state = in.state;
  std::vector<EventBody> events;
  LinksChanged changed{command.subnet, {}, command.reason};
  const auto is_new = [&](const LinkReport& report) {
    if (const auto link = state.topology().find_link(report.link)) {
      return state.view.state(link) != report.state || state.view.rate_seen(link) != report.rate;
    }
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

namespace {

DecisionResult no_such_alarm(const std::string& id) {
  return refuse(ErrorKind::notFound, "alarms.notFound", "there is no alarm '" + id + "'",
                "it may be over: GET /v1/alarms lists present alarms, GET /v1/events past ones");
}

}  // namespace

DecisionResult decide_command(const DecisionInput& in, const AcknowledgeAlarm& command) {
  const auto present = in.state.alarms->find(command.id);
  if (present == in.state.alarms->end()) return no_such_alarm(command.id);
  const Alarm& alarm = present->second;
  const bool same = alarm.acknowledged() == command.acknowledged &&
                    (!command.acknowledged || alarm.acknowledged_note == command.note);
  if (same) return Decision{};
  return Decision{{AlarmAcknowledged{command.id, command.acknowledged, command.note}}, {}, false};
}

DecisionResult decide_command(const DecisionInput& in, const MuteAlarm& command) {
  if (!in.state.alarms->contains(command.id)) return no_such_alarm(command.id);
  if (command.for_us == 0) {
    if (in.state.mute(command.id) == nullptr) return Decision{};
    return Decision{{AlarmMuted{command.id, 0, command.note}}, {}, false};
  }
  std::vector<EventBody> events;
  // Bounded: where no more have room, the one that ends first is over now.
  if (in.state.mutes->size() >= kMaxAlarms && in.state.mute(command.id) == nullptr) {
    const auto first =
        std::ranges::min_element(*in.state.mutes, {}, [](const auto& one) { return one.second.until_us; });
    events.emplace_back(AlarmMuted{first->first, 0, "too many are muted"});
  }
  events.emplace_back(AlarmMuted{command.id, in.now_us + command.for_us, command.note});
  return Decision{std::move(events), {}, false};
}

DecisionResult decide_command(const DecisionInput& /*in*/, const ReportProgramming& command) {
  return Decision{{command.report}, {}, false};
}

DecisionResult decide_command(const DecisionInput& in, const ReportPortLimits& command) {
  const auto present = in.state.port_limits->find(command.report.subnet);
  if (present != in.state.port_limits->end() && present->second == command.report.limits) return Decision{};
  return Decision{{command.report}, {}, false};
}

DecisionResult decide_command(const DecisionInput& in, const ReportTables& command) {
  const SubnetTables* present = in.state.tables(command.report.subnet);
  if (present != nullptr && present->says_the_same_as(command.report.tables)) return Decision{};
  return Decision{{command.report}, {}, false};
}

// What is promised to running jobs rests on the routes that they have: none of theirs may move, nor any promise be lost for a
// failure to come. The book is left at either state.
bool keeps_guarantees(const DecisionInput& in, const RoutesRebalanced& report) {
  if (in.state.guaranteed->empty()) return true;
  GuaranteeBook& book = in.placers.guarantees();
  if (!book.bring_to(in.state)) return false;
  const FabricRoutesPtr before = book.routes();
  ClusterState after = in.state;
  apply(after, Event{after.seq + 1, after.term, in.now_us, {}, report});
  for (const EventBody& body : guarantee_changes(in.state, after, book, in.now_us)) {
    if (std::holds_alternative<GuaranteeChanged>(body)) return false;
  }
  const FabricRoutesPtr routes = book.routes();
  const ChangedPaths changed(before->routing.tables, routes->routing.tables);
  return std::ranges::none_of(*in.state.guaranteed, [&](JobId id) {
    return changed.concern(hosts_of(in.state.topology(), *in.state.jobs.find(id)));
  });
}

// Costs say by themselves who uses which link: routes are spread again with them, and all else waits until they are gone. An engine
// that is given up routes no more, whatever was promised.
DecisionResult decide_command(const DecisionInput& in, const ReportBalance& command) {
  const ClusterState& state = in.state;
  RoutesRebalanced report = command.report;
  if (command.view_version != state.view_version || state.mode(report.subnet) != SubnetMode::direct) return Decision{};
  const auto present = state.route_bases->find(report.subnet);
  const TakenEngine taken = present == state.route_bases->end() ? TakenEngine() : present->second.taken;
  const bool is_other = report.taken.engine != taken.engine || report.taken.lanes != taken.lanes;
  report.taken.since_us = is_other ? in.now_us : taken.since_us;
  const bool is_given_up = is_other && report.taken.engine.empty();
  const bool are_hops_same =
      present == state.route_bases->end() ? report.hops.empty() : report.hops == present->second.hops;
  const bool waits_for_costs = (is_other || !are_hops_same) && costs_in(state, report.subnet) > 0;
  if (!is_given_up && (waits_for_costs || !keeps_guarantees(in, report))) return Decision{};
  return Decision{{std::move(report)}, {}, false};
}

DecisionResult decide_command(const DecisionInput& in, const TakeJobRoutes& command) {
  const ClusterState& state = in.state;
  RoutesRebalanced report = command.report;
  if (command.view_version != state.view_version) {
    return refuse(ErrorKind::conflict, "routes.viewChanged",
                  "the fabric changed while routes of subnet " + report.subnet + " were looked for",
                  "repeat the request");
  }
  const auto present = state.route_bases->find(report.subnet);
  if (present == state.route_bases->end() ? report.hops.empty() : report.hops == present->second.hops) {
    return Decision{};
  }
  if (present != state.route_bases->end()) {
    report.links = present->second.links;
    report.switches = present->second.switches;
    report.taken = present->second.taken;
  }
  if (!report.hops.empty() && !keeps_guarantees(in, report)) return Decision{};
  return Decision{{std::move(report)}, {}, false};
}

DecisionResult decide_command(const DecisionInput& /*in*/, const ReportQos& command) {
  return Decision{{command.report}, {}, false};
}

}  // namespace railweave::control
