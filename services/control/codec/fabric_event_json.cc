#include "services/control/codec/fabric_event_json.h"

#include <utility>

#include "fabric/topology/site_link_name.h"
#include "services/control/codec/event_body.h"
#include "services/control/codec/message_json.h"
#include "services/control/state/cluster_state.h"
#include "services/control/state/link_state.h"
#include "services/json/record.h"

namespace railweave::api {
namespace {

using namespace control;  // NOLINT: this file is about its types

std::unexpected<Error> unreadable_part(std::string_view what) {
  return fail(ErrorKind::internal, "journal.unreadable", std::string(what));
}

// --- values

constexpr ByText kDrainKind{[](DrainKind kind) { return to_string(kind); },
                            [](std::string_view text) { return parse_enum<DrainKind>(text); }, "kind of drain"};
constexpr ByText kDrainState{[](DrainState state) { return to_string(state); },
                             [](std::string_view text) { return parse_enum<DrainState>(text); }, "state of a drain"};
constexpr ByText kMode{[](SubnetMode mode) { return to_string(mode); },
                       [](std::string_view text) { return parse_enum<SubnetMode>(text); }, "mode"};
constexpr ByText kSpread{[](fabric::PathSpread spread) { return to_text(spread); },
                         [](std::string_view text) { return parse_enum<fabric::PathSpread>(text); }, "spread"};
constexpr ByText kLinkState{[](fabric::LinkState state) { return control::to_string(state); },
                            [](std::string_view text) { return parse_link_state(text); }, "state of a link"};
constexpr ByText kTablesSource{[](TablesSource source) { return control::to_string(source); },
                               [](std::string_view text) { return parse_enum<TablesSource>(text); },
                               "source of tables"};
constexpr Names<AlarmSeverity, 2> kSeverities{
    {{"warning", AlarmSeverity::warning}, {"critical", AlarmSeverity::critical}}};
constexpr Names<QosProgrammed::Where, 2> kPlaces{
    {{"ports", QosProgrammed::Where::ports}, {"opensmFiles", QosProgrammed::Where::opensmFiles}}};

// Costs by link, as a list.
struct CostList {
  using Costs = std::map<std::string, double>;

  static void read(ObjectReader& reader, std::string_view name, Costs& into) {
    const Json* list = reader.take(name);
    if (list == nullptr) return;
    for (const auto& item : *list) {
      ObjectReader one(item, reader.pointer(name));
      std::string link;
      double cost = 1;
      one.read("link", link);
      one.read("cost", cost);
      if (auto done = one.finish(); !done) reader.set_error(done.error());
      into.emplace(std::move(link), cost);
    }
  }
  static Out write(const Costs& by_link) {
    Out list = Out::array();
    for (const auto& [link, cost] : by_link) list.push_back({{"link", link}, {"cost", cost}});
    return list;
  }
};

// --- records

// For records that have a drain's target.
constexpr auto kTargetKind = [](auto& record) -> auto& { return record.target.kind; };
constexpr auto kTargetId = [](auto& record) -> auto& { return record.target.id; };

constexpr std::tuple kDiffersFields{field("subjectKind", &TopologyDiffers::subject_kind),
                                    field("subject", &TopologyDiffers::subject_id),
                                    field("text", &TopologyDiffers::text)};
constexpr std::tuple kModeFields{field("subnet", &SubnetModeSet::subnet),
                                 required_field("mode", &SubnetModeSet::mode, kMode),
                                 field("reason", &SubnetModeSet::reason)};
constexpr std::tuple kKeyFields{field("subnet", &SubnetKeyRotated::subnet),
                                field("generation", &SubnetKeyRotated::generation),
                                field("reason", &SubnetKeyRotated::reason)};
constexpr std::tuple kSpreadFields{field("subnet", &SubnetSpreadSet::subnet),
                                   required_field("spread", &SubnetSpreadSet::spread, kSpread),
                                   field("reason", &SubnetSpreadSet::reason)};
constexpr std::tuple kRequestedFields{
    required_field("kind", kTargetKind, kDrainKind), field("id", kTargetId), field("reason", &DrainRequested::reason),
    field("forced", &DrainRequested::forced), optional_field("follows", &DrainRequested::follows)};
constexpr std::tuple kAdvancedFields{required_field("kind", kTargetKind, kDrainKind), field("id", kTargetId),
                                     required_field("state", &DrainAdvanced::state, kDrainState)};
constexpr std::tuple kClearedFields{required_field("kind", kTargetKind, kDrainKind), field("id", kTargetId),
                                    field("reason", &DrainCleared::reason)};
constexpr std::tuple kReleasedFields{field("subnet", &LinkReleased::subnet), field("link", &LinkReleased::link),
                                     field("reason", &LinkReleased::reason)};
constexpr std::tuple kCostsFields{field("costs", &LinkCostsSet::by_link, CostList{}),
                                  field("reason", &LinkCostsSet::reason)};
constexpr std::tuple kHopFields{required_field("switch", &RouteHop::sw), required_field("to", &RouteHop::to),
                                required_field("port", &RouteHop::port)};
constexpr auto kTakenEngine = [](auto& basis) -> auto& { return basis.taken.engine; };
constexpr auto kTakenLanes = [](auto& basis) -> auto& { return basis.taken.lanes; };
constexpr auto kTakenSince = [](auto& basis) -> auto& { return basis.taken.since_us; };
constexpr std::tuple kTakenFields{optional_field("engine", kTakenEngine), optional_field("engineLanes", kTakenLanes),
                                  optional_field("engineSinceUs", kTakenSince)};
constexpr auto kRebalancedFields = std::tuple_cat(
    std::tuple{field("subnet", &RoutesRebalanced::subnet), field("links", &RoutesRebalanced::links, Strings{}),
               field("switches", &RoutesRebalanced::switches, Strings{}), field("fullest", &RoutesRebalanced::fullest),
               field("fullestBefore", &RoutesRebalanced::fullest_before),
               optional_field("hops", &RoutesRebalanced::hops, list_of<RouteHop>(kHopFields)),
               optional_field("jobs", &RoutesRebalanced::jobs),
               optional_field("askedPermille", &RoutesRebalanced::asked_permille),
               optional_field("askedPermilleBefore", &RoutesRebalanced::asked_permille_before),
               optional_field("engineBefore", &RoutesRebalanced::engine_before),
               optional_field("engineReason", &RoutesRebalanced::engine_reason)},
    kTakenFields);
constexpr std::tuple kReportFields{
    field("link", &LinkReport::link), required_field("state", &LinkReport::state, kLinkState),
    optional_field("damped", &LinkReport::damped), optional_field("linksUp", &LinkReport::links_up),
    optional_field("seenMbps", &LinkReport::rate)};
constexpr std::tuple kLinksFields{field("subnet", &LinksChanged::subnet),
                                  required_field("links", &LinksChanged::links, list_of<LinkReport>(kReportFields)),
                                  optional_field("reason", &LinksChanged::reason)};
constexpr std::tuple kAlarmFields{field("kind", &Alarm::kind),
                                  field("subjectKind", &Alarm::subject_kind),
                                  field("subject", &Alarm::subject_id),
                                  field("subnet", &Alarm::subnet),
                                  field("severity", &Alarm::severity, OneOf{kSeverities, "severity"}),
                                  field("text", &Alarm::text, Said{}),
                                  field("jobs", &Alarm::jobs, Strings{Alarm::kMaxJobs})};
constexpr std::tuple kAlarmClearedFields{field("alarm", &AlarmCleared::id)};
constexpr std::tuple kAcknowledgedFields{field("alarm", &AlarmAcknowledged::id),
                                         field("acknowledged", &AlarmAcknowledged::acknowledged),
                                         optional_field("note", &AlarmAcknowledged::note)};
constexpr std::tuple kMutedFields{field("alarm", &AlarmMuted::id), optional_field("untilUs", &AlarmMuted::until_us),
                                  optional_field("note", &AlarmMuted::note)};
constexpr std::tuple kQosFields{
    field("subnet", &QosProgrammed::subnet),   field("where", &QosProgrammed::where, OneOf{kPlaces, "place"}),
    field("classes", &QosProgrammed::classes), field("partitions", &QosProgrammed::partitions),
    field("ports", &QosProgrammed::ports),     field("blocks", &QosProgrammed::blocks)};
constexpr std::tuple kProgrammedFields{field("subnet", &RoutesProgrammed::subnet),
                                       field("cause", &RoutesProgrammed::cause),
                                       field("entries", &RoutesProgrammed::entries),
                                       field("blocks", &RoutesProgrammed::blocks),
                                       field("mads", &RoutesProgrammed::mads),
                                       field("isolated", &RoutesProgrammed::isolated),
                                       field("computeUs", &RoutesProgrammed::compute_us),
                                       field("totalUs", &RoutesProgrammed::total_us)};
constexpr std::tuple kLimitsFields{
    field("dataLanes", &PortLimits::data_lanes), field("arbitrationEntries", &PortLimits::arbitration_entries),
    field("mtuBytes", &PortLimits::mtu_bytes), optional_field("byOpensm", &PortLimits::by_opensm)};
constexpr std::tuple kTablesFields{required_field("source", &SubnetTables::source, kTablesSource),
                                   optional_field("digest", &SubnetTables::digest),
                                   optional_field("reader", &SubnetTables::reader),
                                   optional_field("reason", &SubnetTables::reason),
                                   optional_field("levels", &SubnetTables::levels),
                                   optional_field("unread", &SubnetTables::unread),
                                   optional_field("lostPairs", &SubnetTables::lost_pairs)};
// In snapshots.
constexpr std::tuple kKeptTablesFields = std::tuple_cat(
    kTablesFields, std::tuple{optional_field("levelsSinceUs", &SubnetTables::levels_since_us),
                              field("sinceUs", &SubnetTables::since_us), field("version", &SubnetTables::version)});
constexpr std::tuple kPolicyParts{required_field("mode", &SubnetPolicy::mode, kMode),
                                  field("reason", &SubnetPolicy::reason), field("version", &SubnetPolicy::version),
                                  optional_field("keyRotations", &SubnetPolicy::key_rotations)};
constexpr std::tuple kSpreadParts{required_field("spread", &SubnetSpread::spread, kSpread),
                                  field("reason", &SubnetSpread::reason), field("version", &SubnetSpread::version)};
constexpr std::tuple kDrainFields{required_field("kind", kTargetKind, kDrainKind),
                                  field("id", kTargetId),
                                  required_field("state", &Drain::state, kDrainState),
                                  field("reason", &Drain::reason),
                                  field("actor", &Drain::actor),
                                  field("forced", &Drain::forced),
                                  field("requestedUs", &Drain::requested_us),
                                  field("changedUs", &Drain::changed_us),
                                  field("version", &Drain::version),
                                  optional_field("follows", &Drain::follows)};
constexpr std::tuple kKeptAlarmFields =
    std::tuple_cat(kAlarmFields, std::tuple{field("raisedUs", &Alarm::raised_us), field("version", &Alarm::version),
                                            optional_field("acknowledgedUs", &Alarm::acknowledged_us),
                                            optional_field("acknowledgedBy", &Alarm::acknowledged_by),
                                            optional_field("acknowledgedNote", &Alarm::acknowledged_note)});
constexpr std::tuple kKeptMuteFields{
    field("by", &AlarmMute::by), optional_field("note", &AlarmMute::note), field("atUs", &AlarmMute::at_us),
    field("severity", &AlarmMute::severity, OneOf{kSeverities, "severity"}), field("untilUs", &AlarmMute::until_us)};
constexpr auto kKeptBasisFields = std::tuple_cat(
    std::tuple{field("links", &RouteBasis::links, Strings{}), field("switches", &RouteBasis::switches, Strings{}),
               optional_field("hops", &RouteBasis::hops, list_of<RouteHop>(kHopFields)),
               field("sinceUs", &RouteBasis::since_us), field("version", &RouteBasis::version)},
    kTakenFields);
constexpr std::tuple kKeptCostsFields{field("costs", &LinkCosts::by_link, CostList{}),
                                      field("reason", &LinkCosts::reason), field("actor", &LinkCosts::actor),
                                      field("sinceUs", &LinkCosts::since_us), field("version", &LinkCosts::version)};

Result<EventBody> read_programmed(const Json& data) {
  RoutesProgrammed body;
  ObjectReader reader(data, "/data");
  read_fields(reader, body, kProgrammedFields);
  (void)reader.take("unreachablePairs");  // older records have it, always 0: it was never counted
  return finished(reader, std::move(body));
}

// --- parts of a snapshot

// What is kept of each subnet; put(subnet, value).
template <class Value, class Parts, class Put>
Result<void> read_of_subnets(const Json& list, std::string_view where, const Parts& value_parts, const Put& put) {
  for (const auto& item : list) {
    ObjectReader reader(item, std::string(where));
    Value value;
    std::string subnet;
    reader.read("subnet", subnet);
    read_fields(reader, value, value_parts);
    if (auto done = reader.finish(); !done) return done;
    put(std::move(subnet), std::move(value));
  }
  return {};
}

Result<void> read_policies(const Json& list, ClusterState& state) {
  SubnetPolicyTable table;
  auto done = read_of_subnets<SubnetPolicy>(
      list, "/fabric/subnetPolicies", kPolicyParts,
      [&](std::string subnet, SubnetPolicy policy) { table.emplace(std::move(subnet), std::move(policy)); });
  state.subnet_policies = std::make_shared<const SubnetPolicyTable>(std::move(table));
  return done;
}

Result<void> read_spreads(const Json& list, ClusterState& state) {
  return read_of_subnets<SubnetSpread>(
      list, "/fabric/subnetSpreads", kSpreadParts,
      [&](const std::string& subnet, SubnetSpread spread) { state.put_spread(subnet, std::move(spread)); });
}

Result<void> read_tables_in_force(const Json& list, ClusterState& state) {
  SubnetTablesTable table;
  auto done = read_of_subnets<SubnetTables>(
      list, "/fabric/subnetTables", kKeptTablesFields,
      [&](std::string subnet, SubnetTables tables) { table.insert_or_assign(std::move(subnet), std::move(tables)); });
  state.subnet_tables = std::make_shared<const SubnetTablesTable>(std::move(table));
  return done;
}

Result<EventBody> read_tables_report(const Json& data) {
  SubnetTablesReported body;
  ObjectReader reader(data, "/data");
  reader.read("subnet", body.subnet);
  read_fields(reader, body.tables, kTablesFields);
  return finished(reader, std::move(body));
}

Result<void> read_drains(const Json& list, ClusterState& state) {
  DrainTable table;
  for (const auto& item : list) {
    auto drain = record_from_json<Drain>(item, "/fabric/drains", kDrainFields);
    if (!drain) return std::unexpected(drain.error());
    state.mark(drain->target, true);
    table.emplace(drain->target, std::move(*drain));
  }
  state.drains = std::make_shared<const DrainTable>(std::move(table));
  state.refresh_cut_off();
  return {};
}

Result<void> read_alarms(const Json& list, ClusterState& state) {
  AlarmTable table;
  for (const auto& item : list) {
    auto alarm = record_from_json<Alarm>(item, "/fabric/alarms", kKeptAlarmFields);
    if (!alarm) return std::unexpected(alarm.error());
    table.emplace(alarm->id(), std::move(*alarm));
  }
  state.alarms = std::make_shared<const AlarmTable>(std::move(table));
  return {};
}

Result<void> read_mutes(const Json& list, ClusterState& state) {
  MuteTable table;
  for (const auto& item : list) {
    ObjectReader reader(item, "/fabric/mutes");
    AlarmMute mute;
    std::string alarm;
    reader.read("alarm", alarm);
    read_fields(reader, mute, kKeptMuteFields);
    if (auto done = reader.finish(); !done) return done;
    table.emplace(std::move(alarm), std::move(mute));
  }
  state.mutes = std::make_shared<const MuteTable>(std::move(table));
  return {};
}

// Links that are not up, as [link, state]. A link that the topology does not have is ignored.
Result<PortLimitsRead> limits_of_subnet(const Json& value, const std::string& pointer) {
  PortLimitsRead body;
  ObjectReader reader(value, pointer);
  reader.read("subnet", body.subnet);
  read_fields(reader, body.limits, kLimitsFields);
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return body;
}

Result<EventBody> read_limits(const Json& data) {
  auto body = limits_of_subnet(data, "/data");
  if (!body) return std::unexpected(body.error());
  return EventBody(std::move(*body));
}

Result<void> read_limits_of_subnets(const Json& list, ClusterState& state) {
  control::PortLimitsTable table;
  for (const auto& item : list) {
    auto read = limits_of_subnet(item, "/fabric/portLimits");
    if (!read) return std::unexpected(read.error());
    table.insert_or_assign(std::move(read->subnet), read->limits);
  }
  state.port_limits = std::make_shared<const control::PortLimitsTable>(std::move(table));
  return {};
}

Result<void> read_link_states(const Json& list, ClusterState& state) {
  for (const auto& item : list) {
    const bool counted = item.is_array() && item.size() == 3 && item[2].is_number_unsigned();
    if (!item.is_array() || (item.size() != 2 && !counted) || !item[0].is_string() || !item[1].is_string()) {
      return unreadable_part(
          "a link of the snapshot is not [link, state], or [link, state, parallel links up or Mb/s]");
    }
    const auto name = item[0].get<std::string>();
    const auto link_state = parse_link_state(item[1].get<std::string>());
    if (!link_state) continue;
    if (const auto link = state.topology().find_link(name)) {
      state.set_link(link, *link_state, RateMbps(counted ? item[2].get<std::int64_t>() : 0));
    } else if (const auto far = fabric::find_site_link(state.topology(), name)) {
      state.view.set_state(far, *link_state, counted ? item[2].get<std::uint32_t>() : 0);
    }
  }
  state.rejoin_sites();
  state.refresh_cut_off();
  return {};
}

}  // namespace

Out to_json(const TopologyDiffers& event) { return fields_json(event, kDiffersFields); }
Out to_json(const SubnetModeSet& event) { return fields_json(event, kModeFields); }
Out to_json(const SubnetKeyRotated& event) { return fields_json(event, kKeyFields); }
Out to_json(const SubnetSpreadSet& event) { return fields_json(event, kSpreadFields); }
Out to_json(const DrainRequested& event) { return fields_json(event, kRequestedFields); }
Out to_json(const DrainAdvanced& event) { return fields_json(event, kAdvancedFields); }
Out to_json(const DrainCleared& event) { return fields_json(event, kClearedFields); }
Out to_json(const RoutesRebalanced& event) { return fields_json(event, kRebalancedFields); }
Out to_json(const LinkCostsSet& event) { return fields_json(event, kCostsFields); }
Out to_json(const LinksChanged& event) { return fields_json(event, kLinksFields); }
Out to_json(const AlarmRaised& event) { return fields_json(event.alarm, kAlarmFields); }
Out to_json(const AlarmCleared& event) { return fields_json(event, kAlarmClearedFields); }
Out to_json(const AlarmAcknowledged& event) { return fields_json(event, kAcknowledgedFields); }
Out to_json(const AlarmMuted& event) { return fields_json(event, kMutedFields); }
Out to_json(const QosProgrammed& event) { return fields_json(event, kQosFields); }
Out to_json(const PortLimitsRead& event) {
  Out value{{"subnet", event.subnet}};
  write_fields(value, event.limits, kLimitsFields);
  return value;
}
Out to_json(const SubnetTablesReported& event) {
  Out value{{"subnet", event.subnet}};
  write_fields(value, event.tables, kTablesFields);
  return value;
}
Out to_json(const LinkReleased& event) { return fields_json(event, kReleasedFields); }
Out to_json(const RoutesProgrammed& event) { return fields_json(event, kProgrammedFields); }

Out costs_to_json(const std::map<std::string, double>& by_link) { return CostList::write(by_link); }

std::optional<Result<EventBody>> fabric_event_from_json(std::string_view kind, const Json& data) {
  if (kind == "link.down" || kind == "link.up" || kind == "link.changed") {
    return body_of<LinksChanged>(data, kLinksFields);
  }
  if (kind == "topology.differs") return body_of<TopologyDiffers>(data, kDiffersFields);
  if (kind == "subnet.modeSet") return body_of<SubnetModeSet>(data, kModeFields);
  if (kind == "subnet.keyRotated") return body_of<SubnetKeyRotated>(data, kKeyFields);
  if (kind == "subnet.spreadSet") return body_of<SubnetSpreadSet>(data, kSpreadFields);
  if (kind == "drain.requested") return body_of<DrainRequested>(data, kRequestedFields);
  if (kind == "drain.advanced" || kind == "drain.completed") return body_of<DrainAdvanced>(data, kAdvancedFields);
  if (kind == "drain.cleared") return body_of<DrainCleared>(data, kClearedFields);
  if (kind == "link.released") return body_of<LinkReleased>(data, kReleasedFields);
  if (kind == "route.rebalanced") return body_of<RoutesRebalanced>(data, kRebalancedFields);
  if (kind == "route.costsSet") return body_of<LinkCostsSet>(data, kCostsFields);
  if (kind == "alarm.raised") {
    auto alarm = record_from_json<Alarm>(data, "/data", kAlarmFields);
    if (!alarm) return std::unexpected(alarm.error());
    return AlarmRaised{std::move(*alarm)};
  }
  if (kind == "alarm.cleared") return body_of<AlarmCleared>(data, kAlarmClearedFields);
  if (kind == "alarm.acknowledged" || kind == "alarm.reopened") {
    return body_of<AlarmAcknowledged>(data, kAcknowledgedFields);
  }
  if (kind == "alarm.muted" || kind == "alarm.unmuted") return body_of<AlarmMuted>(data, kMutedFields);
  if (kind == "route.programmed") return read_programmed(data);
  if (kind == "route.inForce") return read_tables_report(data);
  if (kind == "qos.limits") return read_limits(data);
  if (kind == "qos.programmed" || kind == "qos.offered") return body_of<QosProgrammed>(data, kQosFields);
  return std::nullopt;
}

Out fabric_state_to_json(const ClusterState& state) {
  Out policies = Out::array();
  for (const auto& [subnet, policy] : *state.subnet_policies) {
    Out item{{"subnet", subnet}};
    write_fields(item, policy, kPolicyParts);
    policies.push_back(std::move(item));
  }
  Out spreads = Out::array();
  for (const auto& [subnet, spread] : *state.subnet_spreads) {
    Out item{{"subnet", subnet}};
    write_fields(item, spread, kSpreadParts);
    spreads.push_back(std::move(item));
  }
  Out drains = Out::array();
  for (const auto& [target, drain] : *state.drains) drains.push_back(fields_json(drain, kDrainFields));
  Out alarms = Out::array();
  for (const auto& [id, alarm] : *state.alarms) alarms.push_back(fields_json(alarm, kKeptAlarmFields));
  Out mutes = Out::array();
  for (const auto& [alarm, mute] : *state.mutes) {
    Out item{{"alarm", alarm}};
    write_fields(item, mute, kKeptMuteFields);
    mutes.push_back(std::move(item));
  }
  Out links = Out::array();
  for (const auto link : state.topology().links()) {
    const auto seen = state.view.rate_seen(link).value();
    if (state.view.state(link) == fabric::LinkState::up && seen == 0) continue;
    Out item = Out::array({state.topology().link_text(link), control::to_string(state.view.state(link))});
    if (seen != 0) item.push_back(seen);
    links.push_back(std::move(item));
  }
  for (const auto link : fabric::site_link_ids(state.topology())) {
    if (state.view.state(link) == fabric::LinkState::up) continue;
    Out item = Out::array({fabric::site_link_text(state.topology(), link), control::to_string(state.view.state(link))});
    if (state.view.links_up(link) != 0) item.push_back(state.view.links_up(link));
    links.push_back(std::move(item));
  }
  Out limits = Out::array();
  for (const auto& [subnet, of_ports] : *state.port_limits) {
    Out item{{"subnet", subnet}};
    write_fields(item, of_ports, kLimitsFields);
    limits.push_back(std::move(item));
  }
  Out tables = Out::array();
  for (const auto& [subnet, in_force] : *state.subnet_tables) {
    Out item{{"subnet", subnet}};
    write_fields(item, in_force, kKeptTablesFields);
    tables.push_back(std::move(item));
  }
  Out value{{"viewVersion", state.view_version}, {"subnetPolicies", std::move(policies)},
            {"drains", std::move(drains)},       {"alarms", std::move(alarms)},
            {"links", std::move(links)},         {"linkCosts", fields_json(*state.link_costs, kKeptCostsFields)},
            {"portLimits", std::move(limits)},   {"subnetSpreads", std::move(spreads)},
            {"subnetTables", std::move(tables)}};
  Out bases = Out::array();
  for (const auto& [subnet, basis] : *state.route_bases) {
    Out item{{"subnet", subnet}};
    write_fields(item, basis, kKeptBasisFields);
    bases.push_back(std::move(item));
  }
  if (!bases.empty()) value["routeBases"] = std::move(bases);  // the same as of mutes
  if (!mutes.empty()) value["mutes"] = std::move(mutes);       // without, older versions read it too
  return value;
}

Result<void> read_fabric_state(const Json& value, ClusterState& state) {
  ObjectReader parts(value, "/fabric");
  parts.read("viewVersion", state.view_version);
  const Json none = Json::array();
  const auto part = [&](std::string_view name) -> const Json& {
    const Json* list = parts.take(name);
    return list == nullptr ? none : *list;
  };
  const Json& policies = part("subnetPolicies");
  const Json& drains = part("drains");
  const Json& alarms = part("alarms");
  const Json& links = part("links");
  const Json& limits = part("portLimits");
  const Json& spreads = part("subnetSpreads");  // older snapshots have none
  const Json& tables = part("subnetTables");    // the same
  const Json& mutes = part("mutes");            // the same
  const Json& bases = part("routeBases");       // the same
  const Json* costs = parts.take("linkCosts");  // older snapshots have none
  if (auto done = parts.finish(); !done) return done;
  if (auto done = read_policies(policies, state); !done) return done;
  if (auto done = read_drains(drains, state); !done) return done;
  if (auto done = read_alarms(alarms, state); !done) return done;
  if (auto done = read_mutes(mutes, state); !done) return done;
  if (auto done = read_link_states(links, state); !done) return done;
  if (auto done = read_limits_of_subnets(limits, state); !done) return done;
  if (auto done = read_spreads(spreads, state); !done) return done;
  if (auto done = read_tables_in_force(tables, state); !done) return done;
  auto read = read_of_subnets<RouteBasis>(
      bases, "/fabric/routeBases", kKeptBasisFields,
      [&](const std::string& subnet, RouteBasis basis) { state.put_route_basis(subnet, std::move(basis)); });
  if (!read || costs == nullptr) return read;
  auto kept = record_from_json<LinkCosts>(*costs, "/fabric/linkCosts", kKeptCostsFields);
  if (!kept) return std::unexpected(kept.error());
  state.put_costs(std::move(*kept));
  return {};
}

}  // namespace railweave::api
