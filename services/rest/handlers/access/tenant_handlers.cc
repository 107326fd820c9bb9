#include "services/rest/handlers/list_page.h"
#include "services/rest/handlers/reply.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/json/access/tenant.h"

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

Result<Response> list_tenants(const Call& call) {
  const auto state = call.plane.loop.state();
  return list_by_name(
      call, *state->tenants, state->seq, [&](const control::Tenant& tenant) { return tenant_json(state, tenant); },
      [&](const control::Tenant& tenant) { return may_see(call.request, tenant.name); });
}

Result<Response> get_tenant(const Call& call) {
  const auto state = call.plane.loop.state();
  const auto tenant = state->tenants->find(call.request.param("name"));
  if (tenant == state->tenants->end() || !may_see(call.request, tenant->first))
    return std::unexpected(no_tenant(call.request.param("name")));
  return with_etag(call, Response::json(tenant_json(state, tenant->second)),
                   etag_of(tenant->first, tenant->second.version));
}

PresentVersion present_tenant(const control::ClusterState& state, const Request& request) {
  const std::string& name = request.param("name");
  const auto tenant = state.tenants->find(name);
  return present_version(name, tenant == state.tenants->end() ? 0 : tenant->second.version);
}

Result<Submission> put_tenant(const Call& call) {
  const std::string& name = call.request.param("name");
  auto tenant = read_tenant(name, call.request.body);
  if (!tenant) return std::unexpected(tenant.error());
  auto version = if_version(call, *call.plane.loop.state());
  if (!version) return std::unexpected(version.error());
  return Submission{
      control::PutTenant{std::move(*tenant), *version}, [name](const control::Accepted& accepted) {
        const auto& stored = accepted.state->tenants->at(name);
        return Response::json(tenant_json(accepted.state, stored)).with("ETag", etag_of(name, stored.version));
      }};
}

Result<Submission> delete_tenant(const Call& call) {
  const std::string& name = call.request.param("name");
  const auto state = call.plane.loop.state();
  if (!state->tenants->contains(name)) return std::unexpected(no_tenant(name));
  auto version = if_version(call, *state);
  if (!version) return std::unexpected(version.error());
  return Submission{control::RemoveTenant{name, *version}, [](const control::Accepted&) { return Response::empty(); }};
}

}  // namespace

void add_tenant_routes(RouteTable& routes) {
  routes.get("/v1/tenants", {.access = kViewersAndMembers, .page = PageLimits{}}, list_tenants);
  routes.get("/v1/tenants/{name}", {.access = kViewersAndMembers}, get_tenant);
  routes.put("/v1/tenants/{name}", {.access = kAdministrators, .present = present_tenant}, put_tenant);
  routes.del("/v1/tenants/{name}", {.access = kAdministrators, .present = present_tenant}, delete_tenant);
}

}  // namespace railweave::api
