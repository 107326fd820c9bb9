#include "services/rest/handlers/list_query.h"
#include "services/rest/handlers/reply.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/json/page.h"
#include "services/rest/json/tenant.h"

namespace railweave::api {
namespace {

using control::ClusterStatePtr;

std::string tenant_json(const ClusterStatePtr& state, const control::Tenant& tenant) {
  const auto held = state->gpus_held->find(tenant.name);
  return write_tenant(tenant, held == state->gpus_held->end() ? 0 : held->second);
}

Error no_tenant(const std::string& name) {
  return {
      ErrorKind::notFound, "tenants.notFound", "there is no tenant '" + name + "'", {}, "GET /v1/tenants lists them"};
}

void list_tenants(const ControlPlane& plane, const Request& request, const Responder& respond) {
  const auto query = read_list_query(request, {});
  if (!query) return void(respond(query.error()));
  const auto state = plane.loop.state();
  PageWriter page(query->limit, query->fields);
  std::string next;
  for (auto tenant = state->tenants->upper_bound(query->cursor); tenant != state->tenants->end(); ++tenant) {
    if (page.full()) {
      next = std::prev(tenant)->first;
      break;
    }
    page.add(tenant_json(state, tenant->second));
  }
  respond(Response::json(std::move(page).finish(next, state->seq)));
}

void get_tenant(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  const auto state = plane.loop.state();
  const auto tenant = state->tenants->find(request.param("name"));
  if (tenant == state->tenants->end()) return void(respond(no_tenant(request.param("name"))));
  respond(with_etag(request, Response::json(tenant_json(state, tenant->second)),
                    etag_of(tenant->first, tenant->second.version)));
}

std::uint64_t tenant_version(const ClusterStatePtr& state, const std::string& name) {
  const auto tenant = state->tenants->find(name);
  return tenant == state->tenants->end() ? 0 : tenant->second.version;
}

void put_tenant(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  const std::string& name = request.param("name");
  auto tenant = read_tenant(name, request.body);
  if (!tenant) return void(respond(tenant.error()));
  auto version = wanted_version(request, name, tenant_version(plane.loop.state(), name));
  if (!version) return void(respond(version.error()));
  submit(plane, {actor_of(request), control::PutTenant{std::move(*tenant), *version}}, respond,
         [name](const control::Accepted& accepted) {
           const auto& stored = accepted.state->tenants->at(name);
           return Response::json(tenant_json(accepted.state, stored)).with("ETag", etag_of(name, stored.version));
         });
}

void delete_tenant(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  const std::string& name = request.param("name");
  const auto state = plane.loop.state();
  if (!state->tenants->contains(name)) return void(respond(no_tenant(name)));
  auto version = wanted_version(request, name, tenant_version(state, name));
  if (!version) return void(respond(version.error()));
  submit(plane, {actor_of(request), control::RemoveTenant{name, *version}}, respond,
         [](const control::Accepted&) { return Response::empty(); });
}

}  // namespace

void add_tenant_routes(Router& router, const ControlPlane& plane) {
  router.get("/v1/tenants", [&plane](const Request& q, Responder r) { list_tenants(plane, q, r); });
  router.get("/v1/tenants/{name}", [&plane](const Request& q, Responder r) { get_tenant(plane, q, r); });
  router.put("/v1/tenants/{name}", [&plane](const Request& q, Responder r) { put_tenant(plane, q, r); });
  router.del("/v1/tenants/{name}", [&plane](const Request& q, Responder r) { delete_tenant(plane, q, r); });
}

}  // namespace railweave::api
