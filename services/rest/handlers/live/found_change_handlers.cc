// What a live subnet found otherwise than accepted, and accepting it.
#include <algorithm>
#include <utility>

#include "services/control/live/status/fabric_as_found.h"
#include "services/rest/handlers/reply.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/json/live/subnet.h"

namespace railweave::api {
namespace {

using control::ClusterState;
using control::FoundChange;
using control::SubnetStatusPtr;

Result<SubnetStatusPtr> live_subnet(const Call& call, const ClusterState& state) {
  const std::string& name = call.request.param("id");
  if (auto live = call.plane.live.subnet(name)) return live;
  const auto& t = state.topology();
  if (std::ranges::any_of(t.subnets(), [&](fabric::SubnetId one) { return t.name(one) == name; })) {
    return fail(ErrorKind::conflict, "subnets.notLive", "there is no live connection to subnet '" + name + "'", {},
                "configure one: [[subnet]] in railweaved's configuration");
  }
  return fail(ErrorKind::notFound, "subnets.notFound", "there is no subnet '" + name + "'", {},
              "GET /v1/subnets lists them");
}

// None: what was found last is about another topology than the state's.
const control::FoundChanges* changes_of(const SubnetStatusPtr& live, const ClusterState& state) {
  return live->discovery.changes != nullptr && live->discovery.changes->version == state.accepted.version
             ? live->discovery.changes.get()
             : nullptr;
}

Result<Response> get_changes(const Call& call) {
  const auto state = call.plane.loop.state();
  const auto live = live_subnet(call, *state);
  if (!live) return std::unexpected(live.error());
  return Response::json(write_found_changes(*state, (*live)->subnet, changes_of(*live, *state)));
}

// Those that are named; none named: all.
Result<std::vector<FoundChange>> chosen(const control::FoundChanges* found, const std::string& subnet,
                                        const std::vector<std::string>& ids) {
  std::vector<FoundChange> changes;
  if (found != nullptr && ids.empty()) changes = found->items;
  for (const std::string& id : ids) {
    const auto at = found == nullptr ? std::vector<FoundChange>::const_iterator()
                                     : std::ranges::find(found->items, id, &FoundChange::id);
    if (found == nullptr || at == found->items.end()) {
      return fail(ErrorKind::notFound, "subnets.changeNotFound", "no change '" + id + "' is found in the subnet",
                  "/changes", "GET /v1/subnets/" + subnet + "/changes lists them");
    }
    if (std::ranges::find(changes, *at) == changes.end()) changes.push_back(*at);
  }
  if (changes.empty()) {
    return fail(ErrorKind::conflict, "subnets.noChanges", "nothing is exchanged or moved in the subnet", {},
                "GET /v1/subnets/" + subnet + " shows other differences; POST /v1/fabric/accept accepts all of them");
  }
  return changes;
}

Result<Response> accept_changes(const Call& call) {
  const auto ids = read_accepted_changes(call.request.body);
  if (!ids) return std::unexpected(ids.error());
  const auto state = call.plane.loop.state();
  const auto live = live_subnet(call, *state);
  if (!live) return std::unexpected(live.error());
  const auto changes = chosen(changes_of(*live, *state), (*live)->subnet, *ids);
  if (!changes) return std::unexpected(changes.error());
  auto command = control::fabric_as_found(state->accepted, *changes);
  if (!command) return std::unexpected(command.error());
  const auto done = decide_now(call, std::move(*command));
  if (!done) return rejected(call, done.error());
  return Response::json(write_accepted_changes(*done->state, (*live)->subnet, *changes));
}

}  // namespace

void add_found_change_routes(RouteTable& routes) {
  routes.get("/v1/subnets/{id}/changes", {.access = kViewers, .by = AnsweredBy::leader}, get_changes);
  routes.post("/v1/subnets/{id}/changes", {.access = kOperators, .http = {.compute = true}}, accept_changes);
}

}  // namespace railweave::api
