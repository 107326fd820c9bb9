#include "services/control/codec/fabric_event_json.h"

#include <utility>

#include "services/control/codec/event_body.h"
#include "services/control/state/link_state.h"

namespace railweave::api {
namespace {

using namespace control;  // NOLINT: this file is about its types

constexpr std::string_view to_text(AlarmSeverity severity) {
  return severity == AlarmSeverity::critical ? "critical" : "warning";
}

std::unexpected<Error> wrong(std::string_view what, const std::string& text) {
  return fail(ErrorKind::internal, "journal.unreadable", "no " + std::string(what) + " '" + text + "'");
}

DrainTarget read_target(ObjectReader& reader) {
  DrainTarget target;
  std::string kind;
  reader.read("kind", kind);
  reader.read("id", target.id);
  if (const auto parsed = parse_enum<DrainKind>(kind)) {
    target.kind = *parsed;
  } else {
    reader.set_error("kind", "no kind of drain '" + kind + "'");
  }
  return target;
}

DrainState read_state(ObjectReader& reader) {
  std::string text;
  reader.read("state", text);
  const auto state = parse_enum<DrainState>(text);
  if (!state) reader.set_error("state", "no state of a drain '" + text + "'");
  return state.value_or(DrainState::requested);
}

SubnetMode read_mode(ObjectReader& reader) {
  std::string text;
  reader.read("mode", text);
  const auto mode = parse_enum<SubnetMode>(text);
  if (!mode) reader.set_error("mode", "no mode '" + text + "'");
  return mode.value_or(SubnetMode::observe);
}

Alarm read_alarm(ObjectReader& reader) {
  Alarm alarm;
  std::string severity;
  reader.read("kind", alarm.kind);
  reader.read("subjectKind", alarm.subject_kind);
  reader.read("subject", alarm.subject_id);
  reader.read("subnet", alarm.subnet);
  reader.read("severity", severity);
  reader.read("text", alarm.text);
  reader.read("jobs", alarm.jobs, Alarm::kMaxJobs);
  alarm.severity = severity == "critical" ? AlarmSeverity::critical : AlarmSeverity::warning;
  return alarm;
}

Result<EventBody> read_links(const Json& data) {
  LinksChanged body;
  ObjectReader reader(data, "/data");
  reader.read("subnet", body.subnet);
  const Json* links = reader.take("links");
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  if (links == nullptr) return wrong("list of", "links");
  for (const auto& item : *links) {
    ObjectReader fields(item, "/data/links");
    LinkReport report;
    std::string state;
    fields.read("link", report.link);
    fields.read("state", state);
    fields.read("damped", report.damped);
    if (auto done = fields.finish(); !done) return std::unexpected(done.error());
    const auto parsed = parse_link_state(state);
    if (!parsed) return wrong("state of a link", state);
    report.state = *parsed;
    body.links.push_back(std::move(report));
  }
  return EventBody{std::move(body)};
}

Result<EventBody> read_qos(ObjectReader& reader) {
  QosProgrammed body;
  std::string where;
  reader.read("subnet", body.subnet);
  reader.read("where", where);
  reader.read("classes", body.classes);
  reader.read("partitions", body.partitions);
  reader.read("ports", body.ports);
  reader.read("blocks", body.blocks);
  for (const auto one : {QosProgrammed::Where::ports, QosProgrammed::Where::opensmFiles}) {
    if (where == to_string(one)) body.where = one;
  }
  return finished(reader, std::move(body));
}

std::map<std::string, double> read_costs(ObjectReader& reader) {
  std::map<std::string, double> by_link;
  const Json* list = reader.take("costs");
  if (list == nullptr) return by_link;
  for (const auto& item : *list) {
    ObjectReader one(item, reader.pointer("costs"));
    std::string link;
    double cost = 1;
    one.read("link", link);
    one.read("cost", cost);
    if (auto done = one.finish(); !done) reader.set_error(done.error());
    by_link.emplace(std::move(link), cost);
  }
  return by_link;
}

Result<EventBody> read_programmed(ObjectReader& reader) {
  RoutesProgrammed body;
  std::uint64_t compute_us = 0;
  std::uint64_t total_us = 0;
  reader.read("subnet", body.subnet);
  reader.read("cause", body.cause);
  reader.read("entries", body.entries);
  reader.read("blocks", body.blocks);
  reader.read("mads", body.mads);
  reader.read("isolated", body.isolated);
  (void)reader.take("unreachablePairs");  // older records have it: always 0, as nobody had counted
  reader.read("computeUs", compute_us);
  reader.read("totalUs", total_us);
  body.compute_us = static_cast<std::int64_t>(compute_us);
  body.total_us = static_cast<std::int64_t>(total_us);
  return finished(reader, std::move(body));
}

}  // namespace

Out costs_to_json(const std::map<std::string, double>& by_link) {
  Out costs = Out::array();
  for (const auto& [link, cost] : by_link) costs.push_back({{"link", link}, {"cost", cost}});
  return costs;
}

Out to_json(const DrainTarget& target) { return {{"kind", to_string(target.kind)}, {"id", target.id}}; }

Out to_json(const SubnetModeSet& event) {
  return {{"subnet", event.subnet}, {"mode", to_string(event.mode)}, {"reason", event.reason}};
}

Out to_json(const DrainRequested& event) {
  Out data = to_json(event.target);
  data["reason"] = event.reason;
  data["forced"] = event.forced;
  return data;
}

Out to_json(const DrainAdvanced& event) {
  Out data = to_json(event.target);
  data["state"] = to_string(event.state);
  return data;
}

Out to_json(const DrainCleared& event) {
  Out data = to_json(event.target);
  data["reason"] = event.reason;
  return data;
}

Out to_json(const LinkCostsSet& event) { return {{"costs", costs_to_json(event.by_link)}, {"reason", event.reason}}; }

Out to_json(const LinksChanged& event) {
  Out links = Out::array();
  for (const auto& report : event.links) {
    Out item{{"link", report.link}, {"state", control::to_string(report.state)}};
    if (report.damped) item["damped"] = true;
    links.push_back(std::move(item));
  }
  return {{"subnet", event.subnet}, {"links", std::move(links)}};
}

Out to_json(const Alarm& alarm) {
  return {{"kind", alarm.kind},     {"subjectKind", alarm.subject_kind},   {"subject", alarm.subject_id},
          {"subnet", alarm.subnet}, {"severity", to_text(alarm.severity)}, {"text", alarm.text},
          {"jobs", alarm.jobs}};
}

Out to_json(const AlarmRaised& event) { return to_json(event.alarm); }

Out to_json(const AlarmCleared& event) { return {{"alarm", event.id}}; }

Out to_json(const QosProgrammed& event) {
  return {{"subnet", event.subnet},   {"where", to_string(event.where)},
          {"classes", event.classes}, {"partitions", event.partitions},
          {"ports", event.ports},     {"blocks", event.blocks}};
}

Out to_json(const RoutesProgrammed& event) {
  return {{"subnet", event.subnet},        {"cause", event.cause},     {"entries", event.entries},
          {"blocks", event.blocks},        {"mads", event.mads},       {"isolated", event.isolated},
          {"computeUs", event.compute_us}, {"totalUs", event.total_us}};
}

std::optional<Result<EventBody>> fabric_event_from_json(std::string_view kind, const Json& data) {
  if (kind == "link.down" || kind == "link.up" || kind == "link.changed") return read_links(data);
  ObjectReader reader(data, "/data");
  if (kind == "subnet.modeSet") {
    SubnetModeSet body;
    reader.read("subnet", body.subnet);
    body.mode = read_mode(reader);
    reader.read("reason", body.reason);
    return finished(reader, std::move(body));
  }
  if (kind == "drain.requested") {
    DrainRequested body{.target = read_target(reader)};
    reader.read("reason", body.reason);
    reader.read("forced", body.forced);
    return finished(reader, std::move(body));
  }
  if (kind == "drain.advanced" || kind == "drain.completed") {
    DrainAdvanced body{.target = read_target(reader)};
    body.state = read_state(reader);
    return finished(reader, std::move(body));
  }
  if (kind == "drain.cleared") {
    DrainCleared body{.target = read_target(reader)};
    reader.read("reason", body.reason);
    return finished(reader, std::move(body));
  }
  if (kind == "route.costsSet") {
    LinkCostsSet body{.by_link = read_costs(reader)};
    reader.read("reason", body.reason);
    return finished(reader, std::move(body));
  }
  if (kind == "alarm.raised") return finished(reader, AlarmRaised{read_alarm(reader)});
  if (kind == "alarm.cleared") {
    AlarmCleared body;
    reader.read("alarm", body.id);
    return finished(reader, std::move(body));
  }
  if (kind == "route.programmed") return read_programmed(reader);
  if (kind == "qos.programmed") return read_qos(reader);
  return std::nullopt;
}

Out fabric_state_to_json(const ClusterState& state) {
  Out policies = Out::array();
  for (const auto& [subnet, policy] : *state.subnet_policies) {
    policies.push_back(
        {{"subnet", subnet}, {"mode", to_string(policy.mode)}, {"reason", policy.reason}, {"version", policy.version}});
  }
  Out drains = Out::array();
  for (const auto& [target, drain] : *state.drains) {
    Out item = to_json(target);
    item.update({{"state", to_string(drain.state)},
                 {"reason", drain.reason},
                 {"actor", drain.actor},
                 {"forced", drain.forced},
                 {"requestedUs", drain.requested_us},
                 {"changedUs", drain.changed_us},
                 {"version", drain.version}});
    drains.push_back(std::move(item));
  }
  Out alarms = Out::array();
  for (const auto& [id, alarm] : *state.alarms) {
    Out item = to_json(alarm);
    item["raisedUs"] = alarm.raised_us;
    item["version"] = alarm.version;
    alarms.push_back(std::move(item));
  }
  Out links = Out::array();
  for (const auto link : state.topology().links()) {
    if (state.view.state(link) == fabric::LinkState::up) continue;
    links.push_back(Out::array({state.topology().link_text(link), control::to_string(state.view.state(link))}));
  }
  return {{"viewVersion", state.view_version},
          {"subnetPolicies", std::move(policies)},
          {"drains", std::move(drains)},
          {"alarms", std::move(alarms)},
          {"links", std::move(links)},
          {"linkCosts",
           {{"costs", costs_to_json(state.link_costs->by_link)},
            {"reason", state.link_costs->reason},
            {"actor", state.link_costs->actor},
            {"sinceUs", state.link_costs->since_us},
            {"version", state.link_costs->version}}}};
}

Result<void> read_fabric_state(const Json& value, ClusterState& state) {
  ObjectReader parts(value, "/fabric");
  parts.read("viewVersion", state.view_version);
  const Json none = Json::array();
  const auto part = [&](std::string_view name) {
    const Json* list = parts.take(name);
    return list == nullptr ? &none : list;
  };
  const Json* policies = part("subnetPolicies");
  const Json* drains = part("drains");
  const Json* alarms = part("alarms");
  const Json* links = part("links");
  const Json* costs = parts.take("linkCosts");  // older snapshots have none
  if (auto done = parts.finish(); !done) return done;

  SubnetPolicyTable policy_table;
  for (const auto& item : *policies) {
    ObjectReader reader(item, "/fabric/subnetPolicies");
    SubnetPolicy policy;
    std::string subnet;
    reader.read("subnet", subnet);
    policy.mode = read_mode(reader);
    reader.read("reason", policy.reason);
    reader.read("version", policy.version);
    if (auto done = reader.finish(); !done) return done;
    policy_table.emplace(std::move(subnet), std::move(policy));
  }
  state.subnet_policies = std::make_shared<const SubnetPolicyTable>(std::move(policy_table));

  DrainTable drain_table;
  for (const auto& item : *drains) {
    ObjectReader reader(item, "/fabric/drains");
    Drain drain{.target = read_target(reader), .state = read_state(reader)};
    std::uint64_t requested_us = 0;
    std::uint64_t changed_us = 0;
    reader.read("reason", drain.reason);
    reader.read("actor", drain.actor);
    reader.read("forced", drain.forced);
    reader.read("requestedUs", requested_us);
    reader.read("changedUs", changed_us);
    reader.read("version", drain.version);
    if (auto done = reader.finish(); !done) return done;
    drain.requested_us = static_cast<std::int64_t>(requested_us);
    drain.changed_us = static_cast<std::int64_t>(changed_us);
    state.mark(drain.target, true);
    drain_table.emplace(drain.target, std::move(drain));
  }
  state.drains = std::make_shared<const DrainTable>(std::move(drain_table));

  AlarmTable alarm_table;
  for (const auto& item : *alarms) {
    ObjectReader reader(item, "/fabric/alarms");
    Alarm alarm = read_alarm(reader);
    std::uint64_t raised_us = 0;
    reader.read("raisedUs", raised_us);
    reader.read("version", alarm.version);
    if (auto done = reader.finish(); !done) return done;
    alarm.raised_us = static_cast<std::int64_t>(raised_us);
    alarm_table.emplace(alarm.id(), std::move(alarm));
  }
  state.alarms = std::make_shared<const AlarmTable>(std::move(alarm_table));

  for (const auto& item : *links) {
    if (!item.is_array() || item.size() != 2 || !item[0].is_string() || !item[1].is_string()) {
      return wrong("link in", "the snapshot");
    }
    const auto link = state.topology().find_link(item[0].get<std::string>());
    const auto link_state = parse_link_state(item[1].get<std::string>());
    if (link && link_state) state.set_link(link, *link_state);
  }
  if (costs != nullptr) {
    ObjectReader reader(*costs, "/fabric/linkCosts");
    LinkCosts read{.by_link = read_costs(reader)};
    reader.read("reason", read.reason);
    reader.read("actor", read.actor);
    std::uint64_t since_us = 0;
    reader.read("sinceUs", since_us);
    reader.read("version", read.version);
    if (auto done = reader.finish(); !done) return done;
    read.since_us = static_cast<std::int64_t>(since_us);
    state.put_costs(std::move(read));
  }
  return {};
}

}  // namespace railweave::api
