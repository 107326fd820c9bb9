#include <future>
#include <memory>
#include <utility>

#include "services/control/decide/drain_preview.h"
#include "services/rest/handlers/fabric/drain_state.h"
#include "services/rest/handlers/fabric/fabric_lists.h"
#include "services/rest/handlers/list_query.h"
#include "services/rest/handlers/reply.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/json/page.h"

namespace railweave::api {
namespace {

using control::ClusterState;
using control::CommandResult;
using control::DrainKind;
using control::DrainPreview;
using control::DrainTarget;

Result<DrainTarget> find_target(const ClusterState& state, DrainKind kind, const std::string& text) {
  if (kind == DrainKind::network_switch) {
    if (const auto sw = find_switch(state.topology(), text)) {
      return control::resolve(state.topology(), kind, std::string(state.topology().name(sw)));
    }
  }
  return control::resolve(state.topology(), kind, text);
}

Result<DrainPreview> preview_of(const ControlPlane& plane, const ClusterState& state, const DrainTarget& target) {
  if (target.kind == DrainKind::node || target.kind == DrainKind::gpu) {
    return control::preview_node_drain(state, target);
  }
  if (target.kind == DrainKind::site_link) {
    auto preview = control::preview_site_link_drain(state, target);
    const std::lock_guard lock(plane.guarantees->mutex);
    control::preview_guarantees(state, plane.guarantees->book, preview);
    return preview;
  }
  const auto routes = plane.routes->at(state);
  if (!routes) return std::unexpected(routes.error());
  auto preview = control::preview_drain(state, **routes, target);
  if (preview && !state.guaranteed->empty()) {
    const std::lock_guard lock(plane.guarantees->mutex);
    control::preview_guarantees(state, plane.guarantees->book, *preview);
  }
  return preview;
}

Result<Response> post_drain(DrainKind kind, const Call& call) {
  const auto dry_run = read_flag(call, "dryRun");
  if (!dry_run) return std::unexpected(dry_run.error());
  const auto request = read_drain_request(call.request.body, true, kind == DrainKind::node);
  if (!request) return std::unexpected(request.error());
  if (request->gpu) kind = DrainKind::gpu;
  for (int attempts = 1;; ++attempts) {
    const auto state = call.plane.loop.state();
    const auto target = find_target(*state, kind, request->target_text(call.request.param("id")));
    if (!target) return std::unexpected(target.error());
    const auto preview = preview_of(call.plane, *state, *target);
    if (!preview) return std::unexpected(preview.error());
    const auto answer = [&](const ClusterState& shown) {
      return Response::json(
          write_drain_preview(state->topology(), *preview, request->force, shown_drain(call.plane, shown, *target)));
    };
    if (*dry_run) return answer(*state);
    const auto result = decide_now(call, control::RequestDrain{*target, request->reason, request->force,
                                                               preview->objections, preview->view_version});
    if (result) return answer(*result->state);
    const auto& rejection = result.error();
    if (rejection.error.code != "drains.viewChanged" || attempts == kMaxAttempts) return rejected(call, rejection);
  }
}

Result<Submission> post_undrain(DrainKind kind, const Call& call) {
  const auto request = read_drain_request(call.request.body, false, kind == DrainKind::node);
  if (!request) return std::unexpected(request.error());
  if (request->gpu) kind = DrainKind::gpu;
  const auto state = call.plane.loop.state();
  const std::string text = request->target_text(call.request.param("id"));
  auto target = find_target(*state, kind, text);
  // A device that has left the topology may still be drained, under the name it had.
  for (const auto of : {kind, kind == DrainKind::link ? DrainKind::site_link : kind}) {
    if (!target && state->drains->contains({of, text})) target = DrainTarget{of, text};
  }
  if (!target) return std::unexpected(target.error());
  return Submission{control::ClearDrain{*target, request->reason},
                    [](const control::Accepted&) { return Response::empty(); }};
}

std::optional<DrainTarget> read_drain_cursor(const std::string& cursor) {
  const auto blank = cursor.find(' ');
  if (blank == std::string::npos) return std::nullopt;
  const auto kind = parse_enum<control::DrainKind>(std::string_view(cursor).substr(0, blank));
  if (!kind) return std::nullopt;
  return DrainTarget{*kind, cursor.substr(blank + 1)};
}

Result<Response> list_drains(const Call& call) {
  const auto query = read_list_query(call);
  if (!query) return std::unexpected(query.error());
  std::optional<DrainKind> kind;
  std::optional<control::DrainState> wanted;
  if (const auto* text = call.request.query("kind")) {
    kind = parse_enum<control::DrainKind>(*text);
    if (!kind) {
      return fail(ErrorKind::invalid, "query.invalidKind", "'" + *text + "' is no kind of drain", {},
                  "link, switch, node, gpu or siteLink");
    }
  }
  if (const auto* text = call.request.query("state")) {
    wanted = parse_enum<control::DrainState>(*text);
    if (!wanted) {
      return fail(ErrorKind::invalid, "query.invalidState", "'" + *text + "' is no state of a drain", {},
                  "requested, rerouting or drained");
    }
  }
  const auto state = call.plane.loop.state();
  auto drain = state->drains->begin();
  if (!query->cursor.empty()) {
    const auto after = read_drain_cursor(query->cursor);
    if (!after) return invalid_cursor(query->cursor);
    drain = state->drains->upper_bound(*after);
  }
  PageWriter page(query->limit, query->fields);
  std::string next;
  std::string last;
  for (; drain != state->drains->end(); ++drain) {
    const auto& [target, item] = *drain;
    if ((kind && target.kind != *kind) || (wanted && item.state != *wanted)) continue;
    if (page.full()) {
      next = last;
      break;
    }
    page.add(write_drain(state->topology(), {&item, waits_for(call.plane.live, *state, item)}));
    last = to_string(target);
  }
  return Response::json(std::move(page).finish(next, state->seq));
}

}  // namespace

void add_drain_routes(RouteTable& routes) {
  const RouteOptions compute{.compute = true};
  routes.get(
      "/v1/drains",
      {.access = kViewers, .query = {"kind", "state"}, .page = PageLimits{}, .by = AnsweredBy::leader, .http = compute},
      list_drains);
  const auto add = [&](const std::string& resource, DrainKind kind) {
    routes.post(resource + "/drain", {.access = kOperators, .query = {"dryRun"}, .http = compute},
                [kind](const Call& call) { return post_drain(kind, call); });
    routes.post(resource + "/undrain", {.access = kOperators},
                [kind](const Call& call) { return post_undrain(kind, call); });
  };
  add("/v1/links/{id...}", DrainKind::link);
  add("/v1/switches/{id}", DrainKind::network_switch);
  add("/v1/nodes/{id}", DrainKind::node);
}

}  // namespace railweave::api
