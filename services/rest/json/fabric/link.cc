#include "services/rest/json/fabric/link.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/text/time_text.h"
#include "fabric/topology/site_link_name.h"
#include "services/control/state/link_state.h"
#include "services/json/contract_object.h"
#include "services/json/strict_json.h"
#include "services/rest/json/fabric/alarm_value.h"
#include "services/rest/json/fabric/drain_value.h"
#include "services/rest/json/link_value.h"
#include "services/rest/json/time_value.h"

namespace railweave::api {

using namespace fabric;  // NOLINT: every name here is the fabric's
using control::PortCounters;

namespace {

// Why a link that flaps is used all the same.
Out why_used_json(const std::optional<health::WhyUsed>& why) {
  return why ? Out(railweave::to_text(*why)) : Out(nullptr);
}

Out flapping_json(const control::FlappingCable& link) {
  return object<"LinkFields.flapping">(with<"held">(link.is_held), with<"flaps">(link.flaps),
                                       with<"since">(time_text(link.since_us)), with<"until">(time_text(link.until_us)),
                                       with<"usedFor">(why_used_json(link.why_used)));
}

Out link_json(const control::ClusterState& state, LinkId link, const LinkSightings& seen) {
  const Topology& topology = state.topology();
  const LinkSpec spec = topology.spec(link);
  const RateMbps seen_rate = state.view.rate_seen(link);
  const auto unseen = seen.unseen_since(link);
  const auto* flapping = seen.flapping(link);
  return object<"LinkFields">(
      with<"id">(topology.link_text(link)), with<"name">(link_name(topology, link)),
      with<"kind">(fabric::to_string(spec.kind)), with<"speed">(spec.speed), with<"width">(spec.width),
      with<"rateGbps">(spec.rate.gbps()), maybe<"seenGbps">(seen_rate.value() != 0, seen_rate.gbps()),
      maybe<"cableLengthM">(spec.cable_length_m > 0, spec.cable_length_m), with<"state">(seen.state_text(link)),
      maybe<"lastState">(unseen.has_value(), control::to_string(state.view.state(link))),
      maybe<"seenAt">(unseen.has_value(), [&] { return time_or_null(*unseen); }),
      maybe<"flapping">(flapping != nullptr, [&] { return flapping_json(*flapping); }),
      with<"drained">(state.view.drained(link)),
      with<"ends">(Out::array({link_end_json(topology, topology.a(link)), link_end_json(topology, topology.b(link))})),
      without<"links", "linksInUse", "latencyUs", "lengthKm">());
}

Out number_or_null(const std::optional<double>& number) { return number ? Out(*number) : Out(nullptr); }

Out errors_json(const std::optional<PortCounters::Errors>& per_hour) {
  if (!per_hour) return nullptr;
  const auto rate = [&](ErrorCounter kind) {
    return std::round((*per_hour)[static_cast<std::size_t>(kind)] * 100.0) / 100;
  };
  return object<"PortCounters.errorsPerHour">(with<"symbolErrors">(rate(ErrorCounter::symbol_errors)),
                                              with<"linkRecoveries">(rate(ErrorCounter::link_recoveries)),
                                              with<"linkDowned">(rate(ErrorCounter::link_downed)),
                                              with<"receiveErrors">(rate(ErrorCounter::receive_errors)),
                                              with<"discards">(rate(ErrorCounter::transmit_discards)));
}

Out counters_json(const std::optional<PortCounters>& read) {
  if (!read) return nullptr;
  const PortCounters& counters = *read;
  return object<"PortCounters">(
      with<"readAt">(time_text(counters.read_us)), with<"sentBytes">(counters.sent_bytes),
      with<"receivedBytes">(counters.received_bytes), with<"sentPackets">(counters.sent_packets),
      with<"receivedPackets">(counters.received_packets), with<"symbolErrors">(counters.symbol_errors),
      with<"linkRecoveries">(counters.link_recoveries), with<"linkDowned">(counters.link_downed),
      with<"receiveErrors">(counters.receive_errors), with<"discards">(counters.discards),
      with<"waitTicks">(counters.wait_ticks), with<"sentGbps">(number_or_null(counters.sent_gbps)),
      with<"receivedGbps">(number_or_null(counters.received_gbps)),
      with<"utilisation">(number_or_null(counters.utilisation)),
      with<"averageUtilisation">(number_or_null(counters.average_utilisation)),
      with<"peakUtilisation">(number_or_null(counters.peak_utilisation)),
      with<"errorsPerHour">(errors_json(counters.errors_per_hour)));
}

}  // namespace

std::string write_link(const control::ClusterState& state, LinkId link, const LinkSightings& seen) {
  return dump(link_json(state, link, seen));
}

namespace {

Out link_json(const control::ClusterState& state, SiteLinkId link) {
  const Topology& topology = state.topology();
  const SiteLink& joins = topology.site_links()[link.index()];
  const std::string id = site_link_text(topology, link);
  const auto end = [&](SiteId site) {
    return object<"LinkEnd">(with<"site">(topology.name(site)),
                             without<"port", "portName", "switch", "node", "device", "gpu", "nvlinkDomain">());
  };
  return object<"LinkFields">(
      with<"id">(id), with<"name">(id), with<"kind">("wan"), with<"speed">(""), with<"width">(0),
      with<"rateGbps">(RateMbps(joins.rate.value() * joins.links).gbps()), with<"links">(joins.links),
      with<"linksInUse">(state.view.links_in_use(link)), with<"latencyUs">(joins.latency_us),
      maybe<"lengthKm">(joins.length_km > 0, joins.length_km),
      with<"state">(control::to_string(state.view.state(link))), with<"drained">(state.view.drained(link)),
      with<"ends">(Out::array({end(joins.a), end(joins.b)})),
      without<"seenGbps", "cableLengthM", "lastState", "seenAt", "flapping">());
}

std::string with_details(const control::ClusterState& state, Out value, const LinkDetails& details) {
  Out alarms = Out::array();
  for (const auto* alarm : details.alarms)
    alarms.push_back(shown_alarm_json(state.topology(), *alarm, state.mute(alarm->id()), MessageReader::all()));
  std::optional<double> fuller;
  for (const auto& counters : details.counters) {
    if (counters && counters->utilisation) fuller = std::max(fuller.value_or(0), *counters->utilisation);
  }
  const auto why = [](const std::string& text) { return text.empty() ? Out(nullptr) : Out(text); };
  return dump(object<"Link">(
      part<"LinkFields">(std::move(value)), with<"drain">(drain_json(details.drain)),
      with<"utilisation">(number_or_null(fuller)),
      with<"counters">(Out::array({counters_json(details.counters[0]), counters_json(details.counters[1])})),
      with<"countersUnread">(Out::array({why(details.unread[0]), why(details.unread[1])})),
      with<"alarms">(std::move(alarms))));
}

}  // namespace

std::string write_link(const control::ClusterState& state, LinkId link, const LinkSightings& seen,
                       const LinkDetails& details) {
  return with_details(state, link_json(state, link, seen), details);
}

Result<ReleaseRequest> read_release_request(std::string_view body) {
  auto value = parse_json(body.empty() ? std::string_view("{}") : body);
  if (!value) return std::unexpected(value.error());
  ReleaseRequest request;
  ObjectReader reader(*value, "");
  reader.read("reason", request.reason);
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  constexpr std::size_t kMaxReasonBytesOfRelease = 500;
  if (request.reason.size() > kMaxReasonBytesOfRelease) {
    return fail(ErrorKind::invalid, "body.invalidField", "the reason is longer than 500 bytes", "/reason");
  }
  return request;
}

std::string write_link(const control::ClusterState& state, SiteLinkId link) { return dump(link_json(state, link)); }
std::string write_link(const control::ClusterState& state, SiteLinkId link, const LinkDetails& details) {
  return with_details(state, link_json(state, link), details);
}

}  // namespace railweave::api
