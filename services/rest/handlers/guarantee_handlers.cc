#include "services/rest/handlers/job_lookup.h"
#include "services/rest/handlers/list_query.h"
#include "services/rest/handlers/reply.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/handlers/worker_placers.h"
#include "services/rest/json/drain.h"
#include "services/rest/json/guarantee.h"
#include "services/rest/json/page.h"

namespace railweave::api {
namespace {

using control::ClusterStatePtr;
using control::JobId;
using control::JobPtr;

constexpr std::uint64_t kMaxTop = 10'000;

// For as long as the answer is being made: the book at the state.
struct OpenBook {
  std::unique_lock<std::mutex> lock;
  control::GuaranteeBook& book;
};
Result<OpenBook> open_book(const ControlPlane& plane, const control::ClusterState& state) {
  OpenBook open{std::unique_lock(plane.guarantees->mutex), plane.guarantees->book};
  if (auto brought = open.book.bring_to(state); !brought) return std::unexpected(brought.error());
  return open;
}

void list_guarantees(const ControlPlane& plane, const Request& request, const Responder& respond) {
  const auto query = read_list_query(request, {"tenant", "state"});
  if (!query) return void(respond(query.error()));
  const auto* tenant = request.query("tenant");
  const auto* wanted = request.query("state");
  if (wanted != nullptr && *wanted != "holds" && *wanted != "atRisk") {
    return void(respond(
        Error{ErrorKind::invalid, "query.invalidState", "there is no state '" + *wanted + "'", {}, "holds or atRisk"}));
  }
  JobId after;
  if (!query->cursor.empty()) {
    const auto parsed = control::parse_job_id(query->cursor);
    if (!parsed) {
      return void(respond(Error{
          ErrorKind::invalid, "query.invalidCursor", "'" + query->cursor + "' is no cursor of this list", {}, {}}));
    }
    after = *parsed;
  }
  const auto state = plane.loop.state();
  PageWriter page(query->limit, query->fields);
  std::string next;
  if (!state->guaranteed->empty()) {
    auto open = open_book(plane, *state);
    if (!open) return void(respond(open.error()));
    const auto live = plane.live.subnets();
    JobId last;
    for (auto id = state->guaranteed->upper_bound(after); id != state->guaranteed->end(); ++id) {
      const JobPtr job = state->jobs.find(*id);
      if (tenant != nullptr && job->spec.tenant != *tenant) continue;
      if (wanted != nullptr && job->guarantee->at_risk() != (*wanted == "atRisk")) continue;
      if (page.full()) {
        next = control::to_string(last);
        break;
      }
      page.add(write_guarantee(*state, open->book, *job, plane.loop.now_us(), live));
      last = *id;
    }
  }
  respond(Response::json(std::move(page).finish(next, state->seq)));
}

void list_links(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {"top"}); !checked) return void(respond(checked.error()));
  std::uint64_t top = 20;
  if (const auto* text = request.query("top")) {
    const auto number = parse_number("top", *text, kMaxTop);
    if (!number) return void(respond(number.error()));
    top = *number;
  }
  const auto state = plane.loop.state();
  auto open = open_book(plane, *state);
  if (!open) return void(respond(open.error()));
  respond(Response::json(write_guaranteed_links(*state, open->book, top)));
}

// On a book of its own thread: routing from nothing takes its time, and others ask about the present meanwhile.
void get_reroute(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  control::GuaranteeBook& book = worker_placers(plane).guarantees();
  const auto state = plane.loop.state();
  const auto proposal = control::plan_guarantee_routes(*state, book);
  if (!proposal) return void(respond(proposal.error()));
  respond(Response::json(write_route_proposal(*state, *proposal, false)));
}

// The best that is found is set, if the fabric is still the one it was found on.
void post_reroute(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  const auto wish = read_drain_request(request.body, false);
  if (!wish) return void(respond(wish.error()));
  control::GuaranteeBook& book = worker_placers(plane).guarantees();
  for (int looks = 1;; ++looks) {
    const auto state = plane.loop.state();
    const auto proposal = control::plan_guarantee_routes(*state, book);
    if (!proposal) return void(respond(proposal.error()));
    if (proposal->costs.empty()) {
      return void(respond(Error{ErrorKind::conflict,
                                "guarantees.noOtherRoutes",
                                proposal->still_at_risk.empty()
                                    ? "no guarantee is at risk"
                                    : "no other routes were found on which more guarantees would hold",
                                {},
                                "railweave jobs repair JOB --guarantee looks for other nodes"}));
    }
    const auto result = decide_now(
        plane, {actor_of(request), control::SetLinkCosts{proposal->costs, wish->reason, state->view_version}});
    if (result) return void(respond(Response::json(write_route_proposal(*result->state, *proposal, true))));
    const auto& rejection = result.error();
    if (rejection.error.code != "routes.viewChanged" || looks == kMostLooks) return reply(respond, rejection);
  }
}

void delete_reroute(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {"force"}); !checked) return void(respond(checked.error()));
  const auto force = read_flag(request, "force");
  if (!force) return void(respond(force.error()));
  control::GuaranteeBook& book = worker_placers(plane).guarantees();
  for (int looks = 1;; ++looks) {
    const auto state = plane.loop.state();
    if (state->link_costs->by_link.empty()) return void(respond(Response::empty()));
    if (!*force) {
      const auto lapse = control::lapse_without_costs(*state, book);
      if (!lapse) return void(respond(lapse.error()));
      if (!lapse->empty()) {
        std::string jobs;
        for (std::size_t i = 0; i < lapse->size() && i < 8; ++i) {
          jobs += (i == 0 ? "" : ", ") + control::to_string((*lapse)[i]);
        }
        return void(respond(Error{ErrorKind::conflict,
                                  "guarantees.wouldLapse",
                                  "without costs of links the guarantee" + std::string(lapse->size() == 1 ? "" : "s") +
                                      " of " + std::to_string(lapse->size()) + (lapse->size() == 1 ? " job" : " jobs") +
                                      " would not hold: " + jobs + (lapse->size() > 8 ? ", ..." : ""),
                                  {},
                                  "force it, or mend the links first"}));
      }
    }
    const auto result =
        decide_now(plane, {actor_of(request), control::SetLinkCosts{{}, "not needed any more", state->view_version}});
    if (result) return void(respond(Response::empty()));
    const auto& rejection = result.error();
    if (rejection.error.code != "routes.viewChanged" || looks == kMostLooks) return reply(respond, rejection);
  }
}

void get_certificate(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  const auto state = plane.loop.state();
  auto open = open_book(plane, *state);
  if (!open) return void(respond(open.error()));
  respond(Response::json(write_guarantee_certificate(*state, open->book)));
}

void get_caps(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  const auto state = plane.loop.state();
  auto job = find_job(*state, request.param("id"));
  if (!job) return void(respond(job.error()));
  if (!(*job)->holds_gpus() || !(*job)->guarantee) {
    return void(respond(Error{ErrorKind::conflict,
                              "guarantees.none",
                              control::to_string((*job)->id) + " has no guarantee now",
                              {},
                              "GET /v1/guarantees lists those that there are"}));
  }
  respond(Response::json(write_job_caps(*state, **job)));
}

void get_partition(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  const auto state = plane.loop.state();
  auto job = find_job(*state, request.param("id"));
  if (!job) return void(respond(job.error()));
  respond(Response::json(write_job_partition(*state, **job)));
}

}  // namespace

void add_guarantee_routes(Router& router, const ControlPlane& plane) {
  const RouteOptions compute{.compute = true};
  router.get("/v1/guarantees", [&plane](const Request& q, Responder r) { list_guarantees(plane, q, r); }, compute);
  router.get("/v1/guarantees/reroute", [&plane](const Request& q, Responder r) { get_reroute(plane, q, r); }, compute);
  router.post(
      "/v1/guarantees/reroute", [&plane](const Request& q, Responder r) { post_reroute(plane, q, r); }, compute);
  router.del(
      "/v1/guarantees/reroute", [&plane](const Request& q, Responder r) { delete_reroute(plane, q, r); }, compute);
  router.get("/v1/guarantees/links", [&plane](const Request& q, Responder r) { list_links(plane, q, r); }, compute);
  router.get(
      "/v1/guarantees/certificate", [&plane](const Request& q, Responder r) { get_certificate(plane, q, r); }, compute);
  router.get("/v1/jobs/{id}/caps", [&plane](const Request& q, Responder r) { get_caps(plane, q, r); });
  router.get("/v1/jobs/{id}/partition", [&plane](const Request& q, Responder r) { get_partition(plane, q, r); });
}

}  // namespace railweave::api
