#include "services/rest/json/live/subnet.h"

#include <algorithm>
#include <optional>
#include <span>

#include "fabric/base/text/time_text.h"
#include "services/json/contract_object.h"
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
    list.push_back(object<"FabricDifference">(with<"kind">(difference.kind), with<"subject">(difference.subject),
                                              with<"text">(difference.text)));
  }
  return list;
}

Out repairs_json(const SubnetStatus& status) {
  Out list = Out::array();
  for (auto repair = status.repairs.rbegin(); repair != status.repairs.rend(); ++repair) {
    list.push_back(object<"Repair">(
        with<"cause">(repair->cause), with<"at">(time_text(repair->at_us)), with<"noticedUs">(repair->noticed_us),
        with<"sweptUs">(repair->swept_us), with<"computedUs">(repair->computed_us),
        with<"programmedUs">(repair->programmed_us), with<"changedEntries">(repair->changed_entries),
        with<"blocks">(repair->blocks), with<"mads">(repair->mads), with<"isolated">(repair->isolated),
        with<"unreachablePairs">(repair->unreachable_pairs ? Out(*repair->unreachable_pairs) : Out(nullptr))));
  }
  return list;
}

Out qos_json(const std::optional<control::QosStatus>& qos) {
  if (!qos) return nullptr;
  return object<"LiveQos">(with<"classes">(qos->classes), with<"partitions">(qos->partitions),
                           with<"portsProgrammed">(qos->ports_programmed), with<"portsPending">(qos->ports_pending),
                           with<"portsChanged">(qos->ports_changed), with<"byOpensm">(qos->by_opensm),
                           with<"ingressFilter">(qos->is_filtered),
                           with<"filesWrittenAt">(time_or_null(qos->files_written_us)), with<"problem">(qos->problem));
}

Out keys_json(const std::optional<control::KeysStatus>& keys) {
  if (!keys) return nullptr;
  return object<"LiveSubnet.managementKeys">(with<"generation">(keys->generation), with<"ports">(keys->ports),
                                             with<"held">(keys->held), with<"locked">(keys->locked),
                                             with<"without">(keys->without), with<"silent">(keys->silent),
                                             with<"seenAt">(time_or_null(keys->seen_us)));
}

Out administration_json(const std::optional<control::AdministrationStatus>& administration) {
  if (!administration) return nullptr;
  Out asked = Out::array();
  for (const auto& one : administration->asked) {
    asked.push_back(object<"SubnetAdministration.asked">(with<"attribute">(std::string(one.attribute)),
                                                         with<"answered">(one.answered), with<"refused">(one.refused),
                                                         with<"unsupported">(one.unsupported)));
  }
  return object<"SubnetAdministration">(
      with<"devices">(administration->devices), with<"endPorts">(administration->end_ports),
      with<"requests">(administration->requests), with<"answered">(administration->answered),
      with<"refused">(administration->refused), with<"dropped">(administration->dropped),
      with<"wrongKeys">(administration->wrong_keys), with<"asked">(std::move(asked)),
      with<"subscriptions">(administration->subscriptions), with<"reports">(administration->reports),
      with<"reportsConfirmed">(administration->reports_confirmed),
      with<"reportsGivenUp">(administration->reports_given_up));
}

Out lanes_json(const std::optional<control::LanesStatus>& lanes) {
  if (!lanes) return nullptr;
  Out old_levels = nullptr;
  if (const auto& audited = lanes->old_levels) {
    old_levels = object<"OldLevels">(with<"auditedAt">(time_text(lanes->old_levels_audited_us)),
                                     with<"outcome">(audited->outcome), with<"loopLanes">(audited->loop_lanes),
                                     with<"text">(audited->text()));
  }
  return object<"LiveSubnet.lanes">(with<"used">(lanes->used), with<"needed">(lanes->needed),
                                    with<"problem">(lanes->problem), with<"oldLevels">(std::move(old_levels)));
}

Out engines_json(const control::EngineComparisonPtr& compared) {
  if (compared == nullptr) return nullptr;
  Out list = Out::array();
  for (std::size_t i = 0; i < compared->engines.size(); ++i) {
    const control::ComparedEngine& one = compared->engines[i];
    list.push_back(object<"EngineComparison.candidates">(
        with<"engine">(one.engine), with<"used">(one.is_used), with<"better">(compared->better == i),
        with<"maxLanes">(one.max_lanes), with<"lanes">(one.lanes), with<"maxLinkLoadHosts">(one.fullest),
        with<"nonminimalPairs">(one.detours), with<"tookUs">(one.took_us), with<"problem">(one.problem)));
  }
  return object<"EngineComparison">(with<"at">(time_text(compared->at_us)),
                                    with<"setting">(control::setting_of(*compared)),
                                    with<"notTaken">(compared->not_taken), with<"candidates">(std::move(list)));
}

Out walk_json(const control::Walk& walk) {
  if (walk.at_us == 0) return nullptr;
  return object<"Walk">(with<"at">(time_text(walk.at_us)), with<"seenSince">(time_or_null(walk.seen_since_us)),
                        with<"pairs">(walk.pairs), with<"lostPairs">(walk.lost_pairs));
}

Out flapping_links_json(const SubnetStatus& status) {
  Out list = Out::array();
  if (status.sights == nullptr) return list;
  const auto& topology = *status.sights->topology;
  for (const auto& one : status.sights->flapping) {
    if (list.size() == kFlappingShown) break;
    list.push_back(object<"LiveSubnet.flapping">(
        with<"link">(topology.link_text(one.link)), with<"name">(link_name(topology, one.link)), with<"up">(one.is_up),
        with<"held">(one.is_held), with<"flaps">(one.flaps), with<"since">(time_text(one.since_us)),
        with<"until">(time_text(one.until_us)),
        with<"usedFor">(one.why_used ? Out(railweave::to_text(*one.why_used)) : Out(nullptr))));
  }
  return list;
}

Out devices_json(const std::vector<control::IsolatedDevice>& devices) {
  Out list = Out::array();
  for (const auto& device : devices) {
    if (list.size() == kIsolatedShown) break;
    list.push_back(object<"DeviceTrouble">(with<"guid">(to_string(device.guid)), with<"name">(device.name),
                                           with<"reason">(device.reason), with<"since">(time_text(device.since_us))));
  }
  return list;
}

Out live_json(const SubnetStatus& status) {
  const auto links = status.links_now();
  return object<"LiveSubnet">(
      with<"phase">(status.phase), with<"problem">(status.problem), with<"port">(status.port),
      with<"switches">(status.switches), with<"adapters">(status.adapters), with<"linksUp">(links.up),
      with<"linksDown">(links.down), with<"linksDamped">(links.damped), with<"linksUnknown">(links.unknown),
      with<"flapping">(flapping_links_json(status)),
      with<"pairsLostByHeld">(status.sights == nullptr ? 0 : status.sights->pairs_lost_by_held),
      with<"unseen">(status.is_unseen()), with<"discoveredAt">(time_or_null(status.discovery.at_us)),
      with<"discoveryTookUs">(status.discovery.took_us), with<"discoveryMads">(status.discovery.mads),
      with<"sync">(object<"LiveSubnet.sync">(with<"blocksWanted">(status.blocks_wanted),
                                             with<"blocksDiffering">(status.blocks_differing),
                                             with<"wantedDigest">(digest_or_null(status.wanted_digest)),
                                             with<"appliedDigest">(digest_or_null(status.applied_digest)),
                                             with<"readBackAt">(time_or_null(status.tables_seen.read_back_us)))),
      with<"walk">(walk_json(status.discovery.walk)), with<"isolated">(devices_json(status.isolated)),
      with<"isolatedCount">(status.isolated.size()),
      with<"countersUnread">(devices_json(status.discovery.counters_unread)),
      with<"countersUnreadCount">(status.discovery.counters_unread.size()),
      with<"differences">(differences_json(status, kDifferencesShown)),
      with<"differenceCount">(status.difference_count),
      with<"changes">(status.discovery.changes == nullptr ? 0 : status.discovery.changes->items.size()),
      with<"repairs">(repairs_json(status)), with<"repairsTotal">(status.repairs_total),
      with<"lanes">(lanes_json(status.lanes)), with<"engines">(engines_json(status.engines)),
      with<"qos">(qos_json(status.qos)), with<"managementKeys">(keys_json(status.discovery.keys)),
      with<"administration">(administration_json(status.administration)));
}

auto mode_of(const control::ClusterState& state, const std::string& subnet) {
  const auto policy = state.subnet_policies->find(subnet);
  const bool known = policy != state.subnet_policies->end();
  return several(with<"mode">(state.mode(subnet)), with<"modeReason">(known ? policy->second.reason : std::string()),
                 with<"modeVersion">(known ? policy->second.version : 0));
}

auto spread_of(const control::ClusterState& state, const std::string& subnet) {
  const auto set = state.subnet_spreads->find(subnet);
  const control::SubnetSpread of = set == state.subnet_spreads->end() ? control::SubnetSpread() : set->second;
  return several(with<"spread">(of.spread), with<"reason">(of.reason), with<"version">(of.version));
}

// null: routes are as cabled.
Out basis_json(const control::ClusterState& state, const std::string& subnet) {
  const auto basis = state.route_bases->find(subnet);
  if (basis == state.route_bases->end() || basis->second.is_as_cabled()) return nullptr;
  return object<"RouteBasis">(
      with<"linksLeftOut">(basis->second.links.size()), with<"switchesLeftOut">(basis->second.switches.size()),
      with<"hops">(basis->second.hops.size()), with<"since">(time_text(basis->second.since_us)));
}

// null: none was taken.
Out engine_json(const control::ClusterState& state, const std::string& subnet) {
  const auto basis = state.route_bases->find(subnet);
  if (basis == state.route_bases->end() || basis->second.taken.engine.empty()) return nullptr;
  const control::TakenEngine& taken = basis->second.taken;
  return object<"RouteEngine">(with<"engine">(taken.engine), with<"lanes">(taken.lanes),
                               with<"since">(time_text(taken.since_us)));
}

Result<void> check_reason(const std::string& reason) {
  if (reason.size() <= kMaxModeReasonBytes) return {};
  return fail(ErrorKind::invalid, "body.invalidField", "the reason is longer than 500 bytes", "/reason");
}

constexpr auto kModeFields = request_fields<"putSubnetMode.body">(
    required_field<"mode">(&ModeRequest::mode, EnumText{"mode"}), field<"reason">(&ModeRequest::reason));
constexpr auto kSpreadFields = request_fields<"putSubnetRouting.body">(
    required_field<"spread">(&SpreadRequest::spread, EnumText{"spread", "packets are not"}),
    field<"reason">(&SpreadRequest::reason));

struct Rotation {
  std::string reason;
};
constexpr auto kRotationFields = request_fields<"rotateSubnetKey.body">(field<"reason">(&Rotation::reason));

template <class Request, class Fields>
Result<Request> read_with_reason(std::string_view body, const Fields& fields) {
  auto request = read_request<Request>(body, fields);
  if (!request) return request;
  if (auto checked = check_reason(request->reason); !checked) return std::unexpected(checked.error());
  return request;
}

struct AcceptedChanges {
  std::vector<std::string> ids;
};
constexpr auto kAcceptedFields = request_fields<"acceptSubnetChanges.body">(
    field<"changes">(&AcceptedChanges::ids, Strings{SubnetStatus::kMaxDifferences}));

constexpr auto kDiscoverFields = request_fields<"discoverFabric.body">(
    field<"subnet">(&DiscoverRequest::subnet), field<"accept">(&DiscoverRequest::accept),
    field<"force">(&DiscoverRequest::force), field<"gpusPerNode">(&DiscoverRequest::gpus_per_node, UpTo{100'000}),
    field<"nvlinkDomain">(&DiscoverRequest::nvlink_domain, UpTo{100'000}));

}  // namespace

std::string write_subnet(const control::ClusterState& state, const ShownSubnet& subnet) {
  control::TablesUsed tables = control::tables_used(subnet.name, state.tables(subnet.name));
  if (subnet.live != nullptr) tables.seen_us = subnet.live->tables_seen.oldest_us;
  return dump(object<"Subnet">(
      with<"id">(subnet.name), with<"accepted">(subnet.accepted), with<"kind">(subnet.kind),
      with<"switches">(subnet.switches), with<"hostPorts">(subnet.host_ports), mode_of(state, subnet.name),
      with<"routing">(object<"Subnet.routing">(spread_of(state, subnet.name))),
      with<"routeBasis">(basis_json(state, subnet.name)), with<"routeEngine">(engine_json(state, subnet.name)),
      with<"live">(subnet.live == nullptr ? Out(nullptr) : live_json(*subnet.live)),
      with<"tables">(tables.is_live ? tables_json(std::span(&tables, 1)).front() : Out(nullptr))));
}

Result<ModeRequest> read_mode_request(std::string_view body) {
  return read_with_reason<ModeRequest>(body, kModeFields);
}

Result<SpreadRequest> read_spread_request(std::string_view body) {
  return read_with_reason<SpreadRequest>(body, kSpreadFields);
}

Result<std::string> read_rotation_request(std::string_view body) {
  auto rotation = read_with_reason<Rotation>(or_none(body), kRotationFields);
  if (!rotation) return std::unexpected(rotation.error());
  return std::move(rotation->reason);
}

std::string write_rotation(const control::ClusterState& state, const std::string& subnet) {
  return dump(
      object<"rotateSubnetKey.answer">(with<"subnet">(subnet), with<"generation">(state.key_generation(subnet))));
}

std::string write_spread(const control::ClusterState& state, const std::string& subnet) {
  return dump(object<"putSubnetRouting.answer">(with<"subnet">(subnet), spread_of(state, subnet)));
}

std::string write_mode(std::string_view subnet, const control::SubnetPolicy& policy) {
  return dump(object<"putSubnetMode.answer">(with<"subnet">(subnet), with<"mode">(policy.mode),
                                             with<"reason">(policy.reason), with<"version">(policy.version)));
}

namespace {

Out changes_json(const std::vector<control::FoundChange>& changes) {
  Out items = Out::array();
  for (const auto& change : changes) {
    items.push_back(object<"FoundChange">(with<"id">(change.id), with<"kind">(change.kind),
                                          with<"subjectKind">(change.subject_kind), with<"subject">(change.subject_id),
                                          with<"describedAlike">(change.is_described_alike),
                                          with<"text">(change.text)));
  }
  return items;
}

}  // namespace

std::string write_found_changes(const control::ClusterState& state, const std::string& subnet,
                                const control::FoundChanges* changes) {
  return dump(object<"getSubnetChanges.answer">(
      with<"subnet">(subnet), with<"items">(changes == nullptr ? Out::array() : changes_json(changes->items)),
      with<"version">(state.accepted.version), with<"seq">(state.seq)));
}

Result<std::vector<std::string>> read_accepted_changes(std::string_view body) {
  auto changes = read_request<AcceptedChanges>(or_none(body), kAcceptedFields);
  if (!changes) return std::unexpected(changes.error());
  return std::move(changes->ids);
}

std::string write_accepted_changes(const control::ClusterState& state, const std::string& subnet,
                                   const std::vector<control::FoundChange>& changes) {
  return dump(object<"acceptSubnetChanges.answer">(with<"subnet">(subnet), with<"accepted">(changes_json(changes)),
                                                   with<"version">(state.accepted.version), with<"seq">(state.seq)));
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
    list.push_back(object<"Sync.subnets">(
        with<"subnet">(status->subnet), with<"mode">(control::to_string(state.mode(status->subnet))),
        with<"phase">(status->phase), with<"synced">(is_synced(*status)), with<"blocksWanted">(status->blocks_wanted),
        with<"blocksDiffering">(status->blocks_differing), with<"isolated">(status->isolated.size()),
        with<"readBackAt">(time_or_null(status->tables_seen.read_back_us)), with<"problem">(status->problem)));
  }
  const bool synced = std::ranges::all_of(subnets, [](const auto& status) { return is_synced(*status); });
  return dump(object<"Sync">(with<"synced">(synced), with<"subnets">(std::move(list)), with<"seq">(state.seq)));
}

std::string write_discovery(const control::ClusterState& state, const SubnetStatus& status,
                            const std::string& fabric_json) {
  return dump(object<"Discovery">(
      with<"subnet">(status.subnet), with<"mode">(control::to_string(state.mode(status.subnet))),
      with<"live">(live_json(status)), with<"differences">(differences_json(status, SubnetStatus::kMaxDifferences)),
      with<"differenceCount">(status.difference_count), with<"accepted">(!fabric_json.empty()),
      with<"fabric">(fabric_json.empty() ? Out(nullptr) : Out::parse(fabric_json))));
}

Result<DiscoverRequest> read_discover_request(std::string_view body) {
  return read_request<DiscoverRequest>(or_none(body), kDiscoverFields);
}

}  // namespace railweave::api
