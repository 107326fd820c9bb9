#include "services/rest/json/fabric/link.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/text/time_text.h"
#include "fabric/topology/site_link_name.h"
#include "services/control/state/link_state.h"
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
  return {{"held", link.is_held},
          {"flaps", link.flaps},
          {"since", time_text(link.since_us)},
          {"until", time_text(link.until_us)},
          {"usedFor", why_used_json(link.why_used)}};
}

Out link_json(const control::ClusterState& state, LinkId link, const LinkSightings& seen) {
  const Topology& topology = state.topology();
  const LinkSpec spec = topology.spec(link);
  Out value{{"id", topology.link_text(link)},
            {"name", link_name(topology, link)},
            {"kind", fabric::to_string(spec.kind)},
            {"speed", fabric::to_string(spec.speed)},
            {"width", spec.width},
            {"rateGbps", spec.rate.gbps()}};
  if (state.view.rate_seen(link).value() != 0) value["seenGbps"] = state.view.rate_seen(link).gbps();
  if (spec.cable_length_m > 0) value["cableLengthM"] = spec.cable_length_m;
  value["state"] = seen.state_text(link);
  if (const auto unseen = seen.unseen_since(link)) {
    value["lastState"] = control::to_string(state.view.state(link));
    value["seenAt"] = time_or_null(*unseen);
  }
  if (const auto* flapping = seen.flapping(link)) value["flapping"] = flapping_json(*flapping);
  value["drained"] = state.view.drained(link);
  value["ends"] = Out::array({link_end_json(topology, topology.a(link)), link_end_json(topology, topology.b(link))});
  return value;
}

Out number_or_null(const std::optional<double>& number) { return number ? Out(*number) : Out(nullptr); }

Out errors_json(const std::optional<PortCounters::Errors>& per_hour) {
  if (!per_hour) return nullptr;
  const auto rate = [&](ErrorCounter kind) {
    return std::round((*per_hour)[static_cast<std::size_t>(kind)] * 100.0) / 100;
  };
  return {{"symbolErrors", rate(ErrorCounter::symbol_errors)},
          {"linkRecoveries", rate(ErrorCounter::link_recoveries)},
          {"linkDowned", rate(ErrorCounter::link_downed)},
          {"receiveErrors", rate(ErrorCounter::receive_errors)},
          {"discards", rate(ErrorCounter::transmit_discards)}};
}

Out counters_json(const std::optional<PortCounters>& read) {
  if (!read) return nullptr;
  const PortCounters& counters = *read;
  return {{"readAt", time_text(counters.read_us)},
          {"sentBytes", counters.sent_bytes},
          {"receivedBytes", counters.received_bytes},
          {"sentPackets", counters.sent_packets},
          {"receivedPackets", counters.received_packets},
          {"symbolErrors", counters.symbol_errors},
          {"linkRecoveries", counters.link_recoveries},
          {"linkDowned", counters.link_downed},
          {"receiveErrors", counters.receive_errors},
          {"discards", counters.discards},
          {"waitTicks", counters.wait_ticks},
          {"sentGbps", number_or_null(counters.sent_gbps)},
          {"receivedGbps", number_or_null(counters.received_gbps)},
          {"utilisation", number_or_null(counters.utilisation)},
          {"averageUtilisation", number_or_null(counters.average_utilisation)},
          {"peakUtilisation", number_or_null(counters.peak_utilisation)},
          {"errorsPerHour", errors_json(counters.errors_per_hour)}};
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
  Out value{{"id", id}, {"name", id}, {"kind", "wan"}, {"speed", ""}, {"width", 0}};
  value["rateGbps"] = RateMbps(joins.rate.value() * joins.links).gbps();
  value["links"] = joins.links;
  value["linksInUse"] = state.view.links_in_use(link);
  value["latencyUs"] = joins.latency_us;
  if (joins.length_km > 0) value["lengthKm"] = joins.length_km;
  value["state"] = control::to_string(state.view.state(link));
  value["drained"] = state.view.drained(link);
  value["ends"] = Out::array({{{"site", topology.name(joins.a)}}, {{"site", topology.name(joins.b)}}});
  return value;
}

std::string with_details(const control::ClusterState& state, Out value, const LinkDetails& details) {
  Out alarms = Out::array();
  for (const auto* alarm : details.alarms)
    alarms.push_back(shown_alarm_json(state.topology(), *alarm, state.mute(alarm->id()), MessageReader::all()));
  std::optional<double> fuller;
  for (const auto& counters : details.counters) {
    if (counters && counters->utilisation) fuller = std::max(fuller.value_or(0), *counters->utilisation);
  }
  value["drain"] = drain_json(details.drain);
  value["utilisation"] = number_or_null(fuller);
  value["counters"] = Out::array({counters_json(details.counters[0]), counters_json(details.counters[1])});
  const auto why = [](const std::string& text) { return text.empty() ? Out(nullptr) : Out(text); };
  value["countersUnread"] = Out::array({why(details.unread[0]), why(details.unread[1])});
  value["alarms"] = std::move(alarms);
  return dump(value);
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
