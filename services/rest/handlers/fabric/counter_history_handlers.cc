#include <string>
#include <vector>

#include "services/rest/handlers/fabric/fabric_lists.h"
#include "services/rest/handlers/fabric/link_reports.h"
#include "services/rest/handlers/reply.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/json/fabric/counter_history.h"

namespace railweave::api {
namespace {

using fabric::health::ArchiveRing;

Result<Response> history_of(const Call& call, const fabric::Topology& topology,
                            const std::vector<fabric::PortId>& ports) {
  std::string detail = "fine";
  if (const auto* given = call.request.query("detail")) detail = *given;
  if (detail != "fine" && detail != "coarse") {
    return fail(ErrorKind::invalid, "query.invalidDetail", "there is no detail '" + detail + "'", {}, "fine or coarse");
  }
  const auto ring = detail == "fine" ? ArchiveRing::fine : ArchiveRing::coarse;
  std::vector<std::string> unread;
  for (const auto port : ports) unread.push_back(why_unread(call.plane, topology, port));
  const auto ranges = call.plane.live.archive(topology, ports, ring);
  return Response::json(write_counter_history(topology, detail, ports, ranges, unread));
}

Result<Response> get_link_history(const Call& call) {
  const auto state = call.plane.loop.state();
  const auto& topology = state->topology();
  const auto link = topology.find_link(call.request.param("id"));
  if (!link) return std::unexpected(no_link(call.request.param("id")));
  return history_of(call, topology, {topology.a(link), topology.b(link)});
}

Result<Response> get_switch_history(const Call& call) {
  const auto state = call.plane.loop.state();
  const auto& topology = state->topology();
  const auto sw = find_switch(topology, call.request.param("id"));
  if (!sw) return std::unexpected(no_switch(call.request.param("id")));
  std::vector<fabric::PortId> ports;
  for (const auto port : topology.ports(sw)) {
    if (topology.link(port)) ports.push_back(port);
  }
  return history_of(call, topology, ports);
}

}  // namespace

void add_counter_history_routes(RouteTable& routes) {
  const RouteRules rules{.access = kViewers, .query = {"detail"}, .by = AnsweredBy::leader, .http = {.compute = true}};
  routes.get("/v1/links/{id...}/history", rules, get_link_history);
  routes.get("/v1/switches/{id}/history", rules, get_switch_history);
}

}  // namespace railweave::api
