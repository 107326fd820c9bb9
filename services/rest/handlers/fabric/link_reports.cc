#include "services/rest/handlers/fabric/link_reports.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/text/time_text.h"
#include "fabric/topology/site_link_name.h"
#include "services/control/state/link_state.h"
#include "services/json/strict_json.h"
#include "services/rest/handlers/fabric/drain_state.h"
#include "services/rest/handlers/reply.h"

namespace railweave::api {
namespace {

using fabric::LinkState;

constexpr std::size_t kMaxReportReasonBytes = 500;

struct LinkReportRequest {
  LinkState state = LinkState::up;
  std::uint32_t links_up = 0;
  std::string reason;
};

Result<LinkReportRequest> read_link_report(std::string_view body, std::uint32_t parallel) {
  auto value = parse_json(body);
  if (!value) return std::unexpected(value.error());
  LinkReportRequest request;
  std::string state;
  std::optional<std::uint32_t> links_up;
  ObjectReader reader(*value, "");
  reader.require("state");
  reader.read("state", state);
  reader.read("linksUp", links_up);
  reader.read("reason", request.reason);
  const auto parsed = control::parse_link_state(state);
  if (!parsed && !reader.failed()) {
    reader.set_error("state", "there is no state of a link " + shown(state), "up, degraded or down");
  }
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  request.state = *parsed;
  if (request.reason.size() > kMaxReportReasonBytes) {
    return fail(ErrorKind::invalid, "body.invalidField", "the reason is longer than 500 bytes", "/reason");
  }
  if (!links_up) return request;
  if (request.state != LinkState::degraded || *links_up < 1 || *links_up >= parallel) {
    return fail(
        ErrorKind::invalid, "body.invalidField",
        fmt::format("linksUp says how many parallel links of a degraded one are up: at least 1 and fewer than its {}",
                    parallel),
        "/linksUp");
  }
  request.links_up = *links_up;
  return request;
}

}  // namespace

Error no_link(const std::string& text) {
  return {ErrorKind::notFound,
          "links.notFound",
          "there is no link '" + text + "'",
          {},
          "<guid>/<port>--<guid>/<port>, or <site>--<site>; GET /v1/links lists them"};
}

Result<Response> post_link_report(const Call& call) {
  const auto state = call.plane.loop.state();
  const auto& topology = state->topology();
  const std::string& text = call.request.param("id");
  if (topology.find_link(text)) {
    return fail(ErrorKind::invalid, "links.notReportable",
                shown(text) + " is a cable: its state is what its subnet is seen to have", {},
                "drain it to take it out of use; links between sites alone are reported");
  }
  const auto link = fabric::find_site_link(topology, text);
  if (!link) return std::unexpected(no_link(text));
  auto request = read_link_report(call.request.body, topology.site_links()[link.index()].links);
  if (!request) return std::unexpected(request.error());
  const std::string id = fabric::site_link_text(topology, link);
  const auto result = decide_now(
      call, control::ReportLinks{"", {{id, request->state, false, request->links_up}}, std::move(request->reason)});
  if (!result) return rejected(call, result.error());
  const auto& after = *result->state;
  const auto now = fabric::find_site_link(after.topology(), id);
  if (!now) return std::unexpected(no_link(text));  // an import took it away meanwhile
  return Response::json(write_link(after, now, link_details(call.plane, after, id)));
}

Result<Submission> post_link_release(const Call& call) {
  const auto request = read_release_request(call.request.body);
  if (!request) return std::unexpected(request.error());
  const auto state = call.plane.loop.state();
  const auto& topology = state->topology();
  const auto link = topology.find_link(call.request.param("id"));
  if (!link) return std::unexpected(no_link(call.request.param("id")));
  const std::string id = topology.link_text(link);
  const bool is_flapping = LinkSightings(call.plane.live, *state).flapping(link) != nullptr;
  std::string subnet;
  for (const auto port : {topology.a(link), topology.b(link)}) {
    const auto sw = topology.switch_of(port);
    if (sw && topology.subnet(sw)) subnet = topology.name(topology.subnet(sw));
  }
  return Submission{control::ReleaseLink{subnet, id, request->reason, is_flapping},
                    [&live = call.plane.live, subnet, id](const control::Accepted&) {
                      live.release(subnet, id);
                      return Response::empty();
                    }};
}

LinkDetails link_details(const ControlPlane& plane, const control::ClusterState& state, const std::string& id) {
  LinkDetails details;
  details.drain = shown_drain(plane, state, control::DrainKind::link, id);
  for (const auto& [key, alarm] : *state.alarms) {
    if (alarm.subject_kind == "link" && alarm.subject_id == id) details.alarms.push_back(&alarm);
  }
  return details;
}

std::string why_unread(const ControlPlane& plane, const fabric::Topology& topology, fabric::PortId port) {
  const auto sw = topology.switch_of(port);
  const auto hca = sw ? fabric::HcaId() : topology.hca_of(port);
  if (!sw && !hca) return {};
  const Guid device = sw ? topology.guid(sw) : topology.guid(hca);
  for (const auto& status : plane.live.subnets()) {
    for (const auto& unread : status->discovery.counters_unread) {
      if (unread.guid == device) return unread.reason + ", since " + time_text(unread.since_us);
    }
  }
  return {};
}

}  // namespace railweave::api
