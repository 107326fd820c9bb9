#include "services/control/decide/contracts.h"
#include "services/rest/handlers/list_page.h"
#include "services/rest/handlers/list_query.h"
#include "services/rest/handlers/reply.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/handlers/worker_placers.h"
#include "services/rest/json/access/tenant.h"
#include "services/rest/json/guarantees/contract.h"

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

Result<Response> list_contracts(const Call& call) {
  const auto state = call.plane.loop.state();
  return list_by_name(
      call, *state->contracts, state->seq,
      [](const control::TenantContract& contract) { return write_contract(contract); },
      [&](const control::TenantContract& contract) { return may_see(call.request, contract.terms.tenant); });
}

Result<Response> get_contract(const Call& call) {
  const auto state = call.plane.loop.state();
  const auto contract = state->contracts->find(call.request.param("tenant"));
  if (contract == state->contracts->end() || !may_see(call.request, contract->first))
    return std::unexpected(no_contract(call.request.param("tenant")));
  return with_etag(call, Response::json(write_contract(contract->second)),
                   etag_of(contract->first, contract->second.version));
}

PresentVersion present_contract(const control::ClusterState& state, const Request& request) {
  const std::string& tenant = request.param("tenant");
  const auto contract = state.contracts->find(tenant);
  return present_version(tenant, contract == state.contracts->end() ? 0 : contract->second.version);
}

// There are always classes: before the first change they are of version 0.
PresentVersion present_classes(const control::ClusterState& state, const Request& /*request*/) {
  return {"the set of classes", etag_of(kClassesId, state.qos_version), state.qos_version};
}

Result<Submission> put_contract(const Call& call) {
  const std::string& tenant = call.request.param("tenant");
  if (auto named = read_tenant(tenant, {}); !named) return std::unexpected(named.error());
  auto terms = read_contract(tenant, call.request.body);
  if (!terms) return std::unexpected(terms.error());
  const auto withdraw = read_flag(call, "withdraw");
  if (!withdraw) return std::unexpected(withdraw.error());
  auto version = if_version(call, *call.plane.loop.state());
  if (!version) return std::unexpected(version.error());
  if (terms->survives_link_failure) {
    // The loads after each failure are computed here, on a worker thread. The control thread decides again on its own
    // state and finds what is computed already.
    auto& placers = worker_placers(call.plane);
    constexpr int kMaxTries = 1'000;  // each computes some of the failures not computed yet
    const auto state = call.plane.loop.state();
    for (int tries = 0; tries < kMaxTries; ++tries) {
      const auto tried = control::decide_contract(*state, control::PutContract{*terms, *version, *withdraw}, placers);
      if (tried || tried.error().error.code != "admission.tooManyFailures") break;
    }
  }
  return Submission{control::PutContract{std::move(*terms), *version, *withdraw},
                    [tenant](const control::Accepted& accepted) {
                      const auto& stored = accepted.state->contracts->at(tenant);
                      return Response::json(write_contract(stored)).with("ETag", etag_of(tenant, stored.version));
                    }};
}

Result<Submission> delete_contract(const Call& call) {
  const std::string& tenant = call.request.param("tenant");
  const auto state = call.plane.loop.state();
  if (!state->contracts->contains(tenant)) return std::unexpected(no_contract(tenant));
  auto version = if_version(call, *state);
  if (!version) return std::unexpected(version.error());
  return Submission{control::RemoveContract{tenant, *version},
                    [](const control::Accepted&) { return Response::empty(); }};
}

Result<Response> get_classes(const Call& call) {
  const auto state = call.plane.loop.state();
  return with_etag(call, Response::json(write_qos_classes(*state)), etag_of(kClassesId, state->qos_version));
}

Result<Submission> put_classes(const Call& call) {
  auto classes = read_qos_classes(call.request.body);
  if (!classes) return std::unexpected(classes.error());
  const auto version = if_version(call, *call.plane.loop.state());
  if (!version) return std::unexpected(version.error());
  const auto force = read_flag(call, "force");
  if (!force) return std::unexpected(force.error());
  return Submission{control::PutQosClasses{std::move(*classes), *version, *force},
                    [](const control::Accepted& accepted) {
                      return Response::json(write_qos_classes(*accepted.state))
                          .with("ETag", etag_of(kClassesId, accepted.state->qos_version));
                    }};
}

}  // namespace

void add_contract_routes(RouteTable& routes) {
  const RouteOptions compute{.compute = true};
  const RouteOptions json{.consumes = {"application/json"}};
  routes.get("/v1/contracts", {.access = kViewersAndMembers, .page = PageLimits{}}, list_contracts);
  routes.get("/v1/contracts/{tenant}", {.access = kViewersAndMembers}, get_contract);
  routes.put("/v1/contracts/{tenant}",
             {.access = kAdministrators, .query = {"withdraw"}, .http = compute, .present = present_contract},
             put_contract);
  routes.del("/v1/contracts/{tenant}", {.access = kAdministrators, .present = present_contract}, delete_contract);
  routes.get("/v1/qos-classes", {.access = kViewersAndMembers}, get_classes);
  routes.put("/v1/qos-classes",
             {.access = kAdministrators, .query = {"force"}, .http = json, .present = present_classes}, put_classes);
}

}  // namespace railweave::api
