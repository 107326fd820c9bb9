#include <future>
#include <memory>
#include <utility>

#include "services/control/decide/drain_preview.h"
#include "services/rest/handlers/drain_state.h"
#include "services/rest/handlers/fabric_lists.h"
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

Result<DrainPreview> look(const ControlPlane& plane, const ClusterState& state, const DrainTarget& target) {
  if (target.kind == DrainKind::node) return control::preview_node_drain(state, target);
  const auto routes = plane.routes->at(state);
  if (!routes) return std::unexpected(routes.error());
  auto preview = control::preview_drain(state, **routes, target);
  if (preview && !state.guaranteed->empty()) {
    const std::lock_guard lock(plane.guarantees->mutex);
    control::preview_guarantees(state, plane.guarantees->book, *preview);
  }
  return preview;
}

void post_drain(const ControlPlane& plane, DrainKind kind, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {"dryRun"}); !checked) return void(respond(checked.error()));
  const auto dry_run = read_flag(request, "dryRun");
  if (!dry_run) return void(respond(dry_run.error()));
  const auto wish = read_drain_request(request.body, true);
  if (!wish) return void(respond(wish.error()));
  for (int looks = 1;; ++looks) {
    const auto state = plane.loop.state();
    const auto target = find_target(*state, kind, request.param("id"));
    if (!target) return void(respond(target.error()));
    const auto preview = look(plane, *state, *target);
    if (!preview) return void(respond(preview.error()));
    const auto answer = [&](const ClusterState& shown) {
      respond(Response::json(
          write_drain_preview(state->topology(), *preview, wish->force, shown_drain(plane, shown, *target))));
    };
    if (*dry_run) return answer(*state);
    const auto result = decide_now(
        plane, {actor_of(request),
                control::RequestDrain{*target, wish->reason, wish->force, preview->objections, preview->view_version}});
    if (result) return answer(*result->state);
    const auto& rejection = result.error();
    if (rejection.error.code != "drains.viewChanged" || looks == kMostLooks) return reply(respond, rejection);
  }
}

void post_undrain(const ControlPlane& plane, DrainKind kind, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  const auto wish = read_drain_request(request.body, false);
  if (!wish) return void(respond(wish.error()));
  const auto state = plane.loop.state();
  auto target = find_target(*state, kind, request.param("id"));
  // What has left the topology may still be drained, under the name it had.
  if (!target && state->drains->contains({kind, request.param("id")})) target = DrainTarget{kind, request.param("id")};
  if (!target) return void(respond(target.error()));
  submit(plane, {actor_of(request), control::ClearDrain{*target, wish->reason}}, respond,
         [](const control::Accepted&) { return Response::empty(); });
}

std::optional<DrainTarget> read_drain_cursor(const std::string& cursor) {
  const auto blank = cursor.find(' ');
  if (blank == std::string::npos) return std::nullopt;
  const auto kind = parse_enum<control::DrainKind>(std::string_view(cursor).substr(0, blank));
  if (!kind) return std::nullopt;
  return DrainTarget{*kind, cursor.substr(blank + 1)};
}

void list_drains(const ControlPlane& plane, const Request& request, const Responder& respond) {
  const auto query = read_list_query(request, {"kind", "state"});
  if (!query) return void(respond(query.error()));
  std::optional<DrainKind> kind;
  std::optional<control::DrainState> wanted;
  if (const auto* text = request.query("kind")) {
    kind = parse_enum<control::DrainKind>(*text);
    if (!kind) {
      return void(respond(Error{ErrorKind::invalid,
                                "query.invalidKind",
                                "nothing of kind '" + *text + "' is drained",
                                {},
                                "link, switch or node"}));
    }
  }
  if (const auto* text = request.query("state")) {
    wanted = parse_enum<control::DrainState>(*text);
    if (!wanted) {
      return void(respond(Error{ErrorKind::invalid,
                                "query.invalidState",
                                "no drain is ever '" + *text + "'",
                                {},
                                "requested, rerouting or drained"}));
    }
  }
  const auto state = plane.loop.state();
  auto drain = state->drains->begin();
  if (!query->cursor.empty()) {
    const auto after = read_drain_cursor(query->cursor);
    if (!after) {
      return void(respond(Error{
          ErrorKind::invalid, "query.invalidCursor", "'" + query->cursor + "' is no cursor of this list", {}, {}}));
    }
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
    page.add(write_drain({&item, waits_for(plane.live, *state, item)}));
    last = to_string(target);
  }
  respond(Response::json(std::move(page).finish(next, state->seq)));
}

}  // namespace

void add_drain_routes(Router& router, const ControlPlane& plane) {
  router.get("/v1/drains", [&plane](const Request& q, Responder r) { list_drains(plane, q, r); }, {.compute = true});
  const auto add = [&](const std::string& thing, DrainKind kind) {
    router.post(thing + "/drain", [&plane, kind](const Request& q, Responder r) { post_drain(plane, kind, q, r); },
                {.compute = true});
    router.post(thing + "/undrain", [&plane, kind](const Request& q, Responder r) { post_undrain(plane, kind, q, r); });
  };
  add("/v1/links/{id...}", DrainKind::link);
  add("/v1/switches/{id}", DrainKind::network_switch);
  add("/v1/nodes/{id}", DrainKind::node);
}

}  // namespace railweave::api
