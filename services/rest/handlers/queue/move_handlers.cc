// Moves of running jobs: what is planned, asked for and under way.
#include <utility>

#include "services/control/views/placer_cache.h"
#include "services/rest/access/viewer.h"
#include "services/rest/handlers/queue/planned_moves.h"
#include "services/rest/handlers/reply.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/handlers/worker_placers.h"
#include "services/rest/json/queue/move.h"

namespace railweave::api {
namespace {

Result<Response> get_moves(const Call& call) {
  const auto state = call.plane.loop.state();
  const Viewer viewer(call.request);
  return Response::json(write_moves(*state, call.plane.loop.now_us(), viewer.reader(*state)));
}

Result<Submission> post_moves(const Call& call) {
  auto target = read_move_target(call.request.body);
  if (!target) return std::unexpected(target.error());
  const std::int64_t now_us = call.plane.loop.now_us();
  return Submission{control::OfferMoves{*target}, [now_us](const control::Accepted& accepted) {
                      return Response::json(write_moves(*accepted.state, now_us, MessageReader::all()));
                    }};
}

}  // namespace

Result<Response> planned_moves(const Call& call, const std::string& text) {
  const auto target = move_target(text);
  if (!target) return std::unexpected(target.error());
  const auto state = call.plane.loop.state();
  const auto planned = control::plan_moves(*state, *call.plane.loop.queue(), worker_placers(call.plane), *target,
                                           call.plane.loop.now_us());
  if (!planned) return std::unexpected(planned.error());
  return Response::json(write_planned_moves(*state, *planned));
}

void add_move_routes(RouteTable& routes) {
  routes.get("/v1/queue/moves", {.access = kViewers, .by = AnsweredBy::leader}, get_moves);
  routes.post("/v1/queue/moves", {.access = kOperators, .http = {.consumes = {"application/json"}}}, post_moves);
}

}  // namespace railweave::api
