#include "services/rest/json/live/subnet.h"

#include <algorithm>
#include <optional>
#include <span>

#include "fabric/base/text/time_text.h"
#include "services/json/json_out.h"
#include "services/json/strict_json.h"
#include "services/rest/json/fabric/fabric.h"
#include "services/rest/json/link_value.h"
#include "services/rest/json/routing_value.h"
#include "services/rest/json/tables_value.h"
#include "services/rest/json/time_value.h"

namespace railweave::api {
namespace {

using control::SubnetStatus;

constexpr std::size_t kDifferencesShown = 100;  // of a subnet; a discovery's result has all that are known
constexpr std::size_t kIsolatedShown = 100, kFlappingShown = 100;
constexpr std::size_t kMaxModeReasonBytes = 500;

Out digest_or_null(const std::optional<std::uint64_t>& digest) {
  return digest ? Out(digest_text(*digest)) : Out(nullptr);
}

Out differences_json(const SubnetStatus& status, std::size_t most) {
  Out list = Out::array();
  for (const auto& difference : status.differences) {
    if (list.size() == most) break;
    list.push_back({{"kind", to_string(difference.kind)}, {"subject", difference.subject}, {"text", difference.text}});
  }
  return list;
}

Out repairs_json(const SubnetStatus& status) {
  Out list = Out::array();
  for (auto repair = status.repairs.rbegin(); repair != status.repairs.rend(); ++repair) {
    list.push_back({{"cause", repair->cause},
                    {"at", time_text(repair->at_us)},
                    {"noticedUs", repair->noticed_us},
                    {"sweptUs", repair->swept_us},
                    {"computedUs", repair->computed_us},
                    {"programmedUs", repair->programmed_us},
                    {"changedEntries", repair->changed_entries},
                    {"blocks", repair->blocks},
                    {"mads", repair->mads},
                    {"isolated", repair->isolated},
                    {"unreachablePairs", repair->unreachable_pairs ? Out(*repair->unreachable_pairs) : Out(nullptr)}});
  }
  return list;
}

Out qos_json(const std::optional<control::QosStatus>& qos) {
  if (!qos) return nullptr;
  return {{"classes", qos->classes},
          {"partitions", qos->partitions},
          {"portsProgrammed", qos->ports_programmed},
          {"portsPending", qos->ports_pending},
          {"portsChanged", qos->ports_changed},
          {"byOpensm", qos->by_opensm},
          {"ingressFilter", qos->is_filtered},
          {"filesWrittenAt", time_or_null(qos->files_written_us)},
          {"problem", qos->problem}};
}

Out keys_json(const std::optional<control::KeysStatus>& keys) {
  if (!keys) return nullptr;
  return {{"generation", keys->generation},
          {"ports", keys->ports},
          {"held", keys->held},
          {"locked", keys->locked},
          {"without", keys->without},
          {"silent", keys->silent},
          {"seenAt", time_or_null(keys->seen_us)}};
}

Out administration_json(const std::optional<control::AdministrationStatus>& administration) {
  if (!administration) return nullptr;
  Out asked = Out::array();
  for (const auto& one : administration->asked) {
    asked.push_back({{"attribute", std::string(one.attribute)},
                     {"answered", one.answered},
                     {"refused", one.refused},
                     {"unsupported", one.unsupported}});
  }
  return {{"devices", administration->devices},
          {"endPorts", administration->end_ports},
          {"requests", administration->requests},
          {"answered", administration->answered},
          {"refused", administration->refused},
          {"dropped", administration->dropped},
          {"wrongKeys", administration->wrong_keys},
          {"asked", std::move(asked)},
          {"subscriptions", administration->subscriptions},
          {"reports", administration->reports},
          {"reportsConfirmed", administration->reports_confirmed},
          {"reportsGivenUp", administration->reports_given_up}};
}

Out lanes_json(const std::optional<control::LanesStatus>& lanes) {
  if (!lanes) return nullptr;
  Out old_levels = nullptr;
  if (const auto& audited = lanes->old_levels) {
    old_levels = {{"auditedAt", time_text(lanes->old_levels_audited_us)},
                  {"outcome", railweave::to_text(audited->outcome)},
                  {"loopLanes", audited->loop_lanes},
                  {"text", audited->text()}};
  }
  return {{"used", lanes->used},
          {"needed", lanes->needed},
          {"problem", lanes->problem},
          {"oldLevels", std::move(old_levels)}};
}

Out engines_json(const control::EngineComparisonPtr& compared) {
  if (compared == nullptr) return nullptr;
  Out list = Out::array();
  for (std::size_t i = 0; i < compared->engines.size(); ++i) {
    const control::ComparedEngine& one = compared->engines[i];
    list.push_back({{"engine", one.engine},
                    {"used", one.is_used},
                    {"better", compared->better == i},
                    {"maxLanes", one.max_lanes},
                    {"lanes", one.lanes},
                    {"maxLinkLoadHosts", one.fullest},
                    {"nonminimalPairs", one.detours},
                    {"tookUs", one.took_us},
                    {"problem", one.problem}});
  }
  return {{"at", time_text(compared->at_us)},
          {"setting", control::setting_of(*compared)},
          {"notTaken", compared->not_taken},
          {"candidates", std::move(list)}};
}

Out walk_json(const control::Walk& walk) {
  if (walk.at_us == 0) return nullptr;
  return {{"at", time_text(walk.at_us)},
          {"seenSince", time_or_null(walk.seen_since_us)},
          {"pairs", walk.pairs},
          {"lostPairs", walk.lost_pairs}};
}

Out flapping_links_json(const SubnetStatus& status) {
  Out list = Out::array();
  if (status.sights == nullptr) return list;
  const auto& topology = *status.sights->topology;
  for (const auto& one : status.sights->flapping) {
    if (list.size() == kFlappingShown) break;
    list.push_back({{"link", topology.link_text(one.link)},
                    {"name", link_name(topology, one.link)},
                    {"up", one.is_up},
                    {"held", one.is_held},
                    {"flaps", one.flaps},
                    {"since", time_text(one.since_us)},
                    {"until", time_text(one.until_us)},
                    {"usedFor", one.why_used ? Out(railweave::to_text(*one.why_used)) : Out(nullptr)}});
  }
  return list;
}

Out devices_json(const std::vector<control::IsolatedDevice>& devices) {
  Out list = Out::array();
  for (const auto& device : devices) {
    if (list.size() == kIsolatedShown) break;
    list.push_back({{"guid", to_string(device.guid)},
                    {"name", device.name},
                    {"reason", device.reason},
                    {"since", time_text(device.since_us)}});
  }
  return list;
}

Out live_json(const SubnetStatus& status) {
  const auto links = status.links_now();
  return {{"phase", control::to_string(status.phase)},
          {"problem", status.problem},
          {"port", status.port},
          {"switches", status.switches},
          {"adapters", status.adapters},
          {"linksUp", links.up},
          {"linksDown", links.down},
          {"linksDamped", links.damped},
          {"linksUnknown", links.unknown},
          {"flapping", flapping_links_json(status)},
          {"pairsLostByHeld", status.sights == nullptr ? 0 : status.sights->pairs_lost_by_held},
          {"unseen", status.is_unseen()},
          {"discoveredAt", time_or_null(status.discovery.at_us)},
          {"discoveryTookUs", status.discovery.took_us},
          {"discoveryMads", status.discovery.mads},
          {"sync",
           {{"blocksWanted", status.blocks_wanted},
            {"blocksDiffering", status.blocks_differing},
            {"wantedDigest", digest_or_null(status.wanted_digest)},
            {"appliedDigest", digest_or_null(status.applied_digest)},
            {"readBackAt", time_or_null(status.tables_seen.read_back_us)}}},
          {"walk", walk_json(status.discovery.walk)},
          {"isolated", devices_json(status.isolated)},
          {"isolatedCount", status.isolated.size()},
          {"countersUnread", devices_json(status.discovery.counters_unread)},
          {"countersUnreadCount", status.discovery.counters_unread.size()},
          {"differences", differences_json(status, kDifferencesShown)},
          {"differenceCount", status.difference_count},
          {"changes", status.discovery.changes == nullptr ? 0 : status.discovery.changes->items.size()},
          {"repairs", repairs_json(status)},
          {"repairsTotal", status.repairs_total},
          {"lanes", lanes_json(status.lanes)},
          {"engines", engines_json(status.engines)},
          {"qos", qos_json(status.qos)},
          {"managementKeys", keys_json(status.discovery.keys)},
          {"administration", administration_json(status.administration)}};
}

Out mode_json(const control::ClusterState& state, const std::string& subnet) {
  const auto policy = state.subnet_policies->find(subnet);
  const bool known = policy != state.subnet_policies->end();
  return {{"mode", control::to_string(state.mode(subnet))},
          {"modeReason", known ? policy->second.reason : std::string()},
          {"modeVersion", known ? policy->second.version : 0}};
}

Out spread_json(const control::ClusterState& state, const std::string& subnet) {
  const auto set = state.subnet_spreads->find(subnet);
  const control::SubnetSpread of = set == state.subnet_spreads->end() ? control::SubnetSpread() : set->second;
  return {{"spread", to_text(of.spread)}, {"reason", of.reason}, {"version", of.version}};
}

// null: routes are as cabled.
Out basis_json(const control::ClusterState& state, const std::string& subnet) {
  const auto basis = state.route_bases->find(subnet);
  if (basis == state.route_bases->end() || basis->second.is_as_cabled()) return nullptr;
  return {{"linksLeftOut", basis->second.links.size()},
          {"switchesLeftOut", basis->second.switches.size()},
          {"hops", basis->second.hops.size()},
          {"since", time_text(basis->second.since_us)}};
}

// null: none was taken.
Out engine_json(const control::ClusterState& state, const std::string& subnet) {
  const auto basis = state.route_bases->find(subnet);
  if (basis == state.route_bases->end() || basis->second.taken.engine.empty()) return nullptr;
  const control::TakenEngine& taken = basis->second.taken;
  return {{"engine", taken.engine}, {"lanes", taken.lanes}, {"since", time_text(taken.since_us)}};
}

Result<void> check_reason(const std::string& reason) {
  if (reason.size() <= kMaxModeReasonBytes) return {};
  return fail(ErrorKind::invalid, "body.invalidField", "the reason is longer than 500 bytes", "/reason");
}

// One of the values of an enum, and a reason.
template <class Request, class Value>
Result<Request> read_setting(std::string_view body, std::string_view field, Value Request::* into,
                             const std::string& unknown, const std::string& known) {
  auto value = parse_json(body);
  if (!value) return std::unexpected(value.error());
  Request request;
  std::string text;
  ObjectReader reader(*value, "");
  reader.require(field);
  reader.read(field, text);
  reader.read("reason", request.reason);
  const auto parsed = parse_enum<Value>(text);
  if (!parsed && !reader.failed()) reader.set_error(field, unknown + shown(text), known);
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  if (auto checked = check_reason(request.reason); !checked) return std::unexpected(checked.error());
  request.*into = *parsed;
  return request;
}

}  // namespace

std::string write_subnet(const control::ClusterState& state, const ShownSubnet& subnet) {
  Out value{{"id", subnet.name},
            {"accepted", subnet.accepted},
            {"kind", railweave::to_text(subnet.kind)},
            {"switches", subnet.switches},
            {"hostPorts", subnet.host_ports}};
  value.update(mode_json(state, subnet.name));
  value["routing"] = spread_json(state, subnet.name);
  value["routeBasis"] = basis_json(state, subnet.name);
  value["routeEngine"] = engine_json(state, subnet.name);
  value["live"] = subnet.live == nullptr ? Out(nullptr) : live_json(*subnet.live);
  control::TablesUsed tables = control::tables_used(subnet.name, state.tables(subnet.name));
  if (subnet.live != nullptr) tables.seen_us = subnet.live->tables_seen.oldest_us;
  value["tables"] = tables.is_live ? tables_json(std::span(&tables, 1)).front() : Out(nullptr);
  return dump(value);
}

Result<ModeRequest> read_mode_request(std::string_view body) {
  return read_setting<ModeRequest>(body, "mode", &ModeRequest::mode, "there is no mode ", "observe, direct or opensm");
}

Result<SpreadRequest> read_spread_request(std::string_view body) {
  return read_setting<SpreadRequest>(body, "spread", &SpreadRequest::spread, "packets are not spread ",
                                     "single, lmc or adaptive");
}

Result<std::string> read_rotation_request(std::string_view body) {
  auto value = parse_json(body.empty() ? std::string_view("{}") : body);
  if (!value) return std::unexpected(value.error());
  std::string reason;
  ObjectReader reader(*value, "");
  reader.read("reason", reason);
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  if (auto checked = check_reason(reason); !checked) return std::unexpected(checked.error());
  return reason;
}

std::string write_rotation(const control::ClusterState& state, const std::string& subnet) {
  return dump(Out{{"subnet", subnet}, {"generation", state.key_generation(subnet)}});
}

std::string write_spread(const control::ClusterState& state, const std::string& subnet) {
  Out value{{"subnet", subnet}};
  value.update(spread_json(state, subnet));
  return dump(value);
}

std::string write_mode(std::string_view subnet, const control::SubnetPolicy& policy) {
  return dump(Out{{"subnet", subnet},
                  {"mode", control::to_string(policy.mode)},
                  {"reason", policy.reason},
                  {"version", policy.version}});
}

namespace {

Out changes_json(const std::vector<control::FoundChange>& changes) {
  Out items = Out::array();
  for (const auto& change : changes) {
    items.push_back({{"id", change.id},
                     {"kind", control::to_string(change.kind)},
                     {"subjectKind", change.subject_kind},
                     {"subject", change.subject_id},
                     {"describedAlike", change.is_described_alike},
                     {"text", change.text}});
  }
  return items;
}

}  // namespace

std::string write_found_changes(const control::ClusterState& state, const std::string& subnet,
                                const control::FoundChanges* changes) {
  return dump(Out{{"subnet", subnet},
                  {"items", changes == nullptr ? Out::array() : changes_json(changes->items)},
                  {"version", state.accepted.version},
                  {"seq", state.seq}});
}

Result<std::vector<std::string>> read_accepted_changes(std::string_view body) {
  auto value = parse_json(body.empty() ? std::string_view("{}") : body);
  if (!value) return std::unexpected(value.error());
  std::vector<std::string> ids;
  ObjectReader reader(*value, "");
  reader.read("changes", ids, control::SubnetStatus::kMaxDifferences);
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return ids;
}

std::string write_accepted_changes(const control::ClusterState& state, const std::string& subnet,
                                   const std::vector<control::FoundChange>& changes) {
  return dump(Out{{"subnet", subnet},
                  {"accepted", changes_json(changes)},
                  {"version", state.accepted.version},
                  {"seq", state.seq}});
}

// Observers write nothing: there it means that what another subnet manager wrote is what is wanted.
bool is_synced(const SubnetStatus& status) {
  const bool is_whole = status.phase == control::SubnetPhase::synced || status.phase == control::SubnetPhase::watching;
  return is_whole && status.blocks_differing == 0 && status.wanted_digest &&
         status.wanted_digest == status.applied_digest;
}

std::string write_sync(const control::ClusterState& state, const std::vector<control::SubnetStatusPtr>& subnets) {
  Out list = Out::array();
  for (const auto& status : subnets) {
    list.push_back({{"subnet", status->subnet},
                    {"mode", control::to_string(state.mode(status->subnet))},
                    {"phase", control::to_string(status->phase)},
                    {"synced", is_synced(*status)},
                    {"blocksWanted", status->blocks_wanted},
                    {"blocksDiffering", status->blocks_differing},
                    {"isolated", status->isolated.size()},
                    {"readBackAt", time_or_null(status->tables_seen.read_back_us)},
                    {"problem", status->problem}});
  }
  const bool synced = std::ranges::all_of(subnets, [](const auto& status) { return is_synced(*status); });
  return dump(Out{{"synced", synced}, {"subnets", std::move(list)}, {"seq", state.seq}});
}

std::string write_discovery(const control::ClusterState& state, const SubnetStatus& status,
                            const std::string& fabric_json) {
  return dump(Out{{"subnet", status.subnet},
                  {"mode", control::to_string(state.mode(status.subnet))},
                  {"live", live_json(status)},
                  {"differences", differences_json(status, SubnetStatus::kMaxDifferences)},
                  {"differenceCount", status.difference_count},
                  {"accepted", !fabric_json.empty()},
                  {"fabric", fabric_json.empty() ? Out(nullptr) : Out::parse(fabric_json)}});
}

Result<DiscoverRequest> read_discover_request(std::string_view body) {
  auto value = parse_json(body.empty() ? std::string_view("{}") : body);
  if (!value) return std::unexpected(value.error());
  DiscoverRequest request;
  std::uint64_t gpus = 0;
  std::uint64_t domain = 0;
  ObjectReader reader(*value, "");
  reader.read("subnet", request.subnet);
  reader.read("accept", request.accept);
  reader.read("force", request.force);
  reader.read("gpusPerNode", gpus, 100'000);
  reader.read("nvlinkDomain", domain, 100'000);
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  request.gpus_per_node = static_cast<std::uint32_t>(gpus);
  request.nvlink_domain = static_cast<std::uint32_t>(domain);
  return request;
}

}  // namespace railweave::api
