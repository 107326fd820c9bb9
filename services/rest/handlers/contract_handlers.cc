#include "api/http/message/etag.h"
#include "services/control/decide/contracts.h"
#include "services/rest/handlers/list_query.h"
#include "services/rest/handlers/reply.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/handlers/worker_placers.h"
#include "services/rest/json/contract.h"
#include "services/rest/json/page.h"
#include "services/rest/json/tenant.h"

namespace railweave::api {
namespace {

using control::ClusterStatePtr;

const std::string kClassesId = "qos-classes";

Error no_contract(const std::string& tenant) {
  return {ErrorKind::notFound,
          "contracts.notFound",
          "tenant '" + tenant + "' has no contract",
          {},
          "GET /v1/contracts lists them"};
}

void list_contracts(const ControlPlane& plane, const Request& request, const Responder& respond) {
  const auto query = read_list_query(request, {});
  if (!query) return void(respond(query.error()));
  const auto state = plane.loop.state();
  PageWriter page(query->limit, query->fields);
  std::string next;
  for (auto at = state->contracts->upper_bound(query->cursor); at != state->contracts->end(); ++at) {
    if (page.full()) {
      next = std::prev(at)->first;
      break;
    }
    page.add(write_contract(at->second));
  }
  respond(Response::json(std::move(page).finish(next, state->seq)));
}

void get_contract(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  const auto state = plane.loop.state();
  const auto contract = state->contracts->find(request.param("tenant"));
  if (contract == state->contracts->end()) return void(respond(no_contract(request.param("tenant"))));
  respond(with_etag(request, Response::json(write_contract(contract->second)),
                    etag_of(contract->first, contract->second.version)));
}

std::uint64_t contract_version(const ClusterStatePtr& state, const std::string& tenant) {
  const auto contract = state->contracts->find(tenant);
  return contract == state->contracts->end() ? 0 : contract->second.version;
}

void put_contract(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  const std::string& tenant = request.param("tenant");
  if (auto named = read_tenant(tenant, {}); !named) return void(respond(named.error()));
  auto terms = read_contract(tenant, request.body);
  if (!terms) return void(respond(terms.error()));
  auto version = wanted_version(request, tenant, contract_version(plane.loop.state(), tenant));
  if (!version) return void(respond(version.error()));
  if (terms->survives_link_failure) {
    // What any failure would do is found out here, beside the control thread; that decides by itself on the state it is
    // at, and finds what is known already.
    auto& placers = worker_placers(plane);
    constexpr int kMostTries = 1'000;  // each looks at some of the failures that nobody looked at yet
    const auto state = plane.loop.state();
    for (int tries = 0; tries < kMostTries; ++tries) {
      const auto tried = control::decide_contract(*state, control::PutContract{*terms, *version}, placers);
      if (tried || tried.error().error.code != "admission.tooManyFailures") break;
    }
  }
  submit(plane, {actor_of(request), control::PutContract{std::move(*terms), *version}}, respond,
         [tenant](const control::Accepted& accepted) {
           const auto& stored = accepted.state->contracts->at(tenant);
           return Response::json(write_contract(stored)).with("ETag", etag_of(tenant, stored.version));
         });
}

void delete_contract(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  const std::string& tenant = request.param("tenant");
  const auto state = plane.loop.state();
  if (!state->contracts->contains(tenant)) return void(respond(no_contract(tenant)));
  auto version = wanted_version(request, tenant, contract_version(state, tenant));
  if (!version) return void(respond(version.error()));
  submit(plane, {actor_of(request), control::RemoveContract{tenant, *version}}, respond,
         [](const control::Accepted&) { return Response::empty(); });
}

void get_classes(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  const auto state = plane.loop.state();
  respond(with_etag(request, Response::json(write_qos_classes(*state)), etag_of(kClassesId, state->qos_version)));
}

void put_classes(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  auto classes = read_qos_classes(request.body);
  if (!classes) return void(respond(classes.error()));
  // There always are classes: before the first change they are of version 0.
  const std::uint64_t present = plane.loop.state()->qos_version;
  const Precondition condition = if_match(request.headers, etag_of(kClassesId, present));
  if (condition == Precondition::fails) {
    return void(respond(Error{ErrorKind::precondition,
                              "precondition.versionDiffers",
                              "the classes are at version " + std::to_string(present) + " now",
                              {},
                              "read them again, then repeat the change"}));
  }
  const auto version = condition == Precondition::holds ? std::optional(present) : std::nullopt;
  submit(plane, {actor_of(request), control::PutQosClasses{std::move(*classes), version}}, respond,
         [](const control::Accepted& accepted) {
           return Response::json(write_qos_classes(*accepted.state))
               .with("ETag", etag_of(kClassesId, accepted.state->qos_version));
         });
}

}  // namespace

void add_contract_routes(Router& router, const ControlPlane& plane) {
  router.get("/v1/contracts", [&plane](const Request& q, Responder r) { list_contracts(plane, q, r); });
  router.get("/v1/contracts/{tenant}", [&plane](const Request& q, Responder r) { get_contract(plane, q, r); });
  router.put("/v1/contracts/{tenant}", [&plane](const Request& q, Responder r) { put_contract(plane, q, r); },
             {.compute = true});
  router.del("/v1/contracts/{tenant}", [&plane](const Request& q, Responder r) { delete_contract(plane, q, r); });
  router.get("/v1/qos-classes", [&plane](const Request& q, Responder r) { get_classes(plane, q, r); });
  router.put("/v1/qos-classes", [&plane](const Request& q, Responder r) { put_classes(plane, q, r); },
             {.consumes = {"application/json"}});
}

}  // namespace railweave::api
