#include <utility>

#include "services/rest/handlers/list_page.h"
#include "services/rest/handlers/reply.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/json/service/webhook.h"

namespace railweave::api {
namespace {

using control::Webhook;

// A member sees its tenant's.
const Webhook* find_webhook(const control::ClusterState& state, const Request& request) {
  const auto at = state.webhooks->find(request.param("name"));
  return at != state.webhooks->end() && may_see(request, at->second.tenant) ? &at->second : nullptr;
}

std::unexpected<Error> no_webhook(const Request& request) {
  return fail(ErrorKind::notFound, "webhooks.notFound", "there is no webhook '" + request.param("name") + "'", {},
              "GET /v1/webhooks lists them");
}

PresentVersion present_webhook(const control::ClusterState& state, const Request& request) {
  const Webhook* webhook = find_webhook(state, request);
  return present_version(request.param("name"), webhook == nullptr ? 0 : webhook->version);
}

Response webhook_answer(const Webhook& webhook) {
  return Response::json(write_webhook(webhook)).with("ETag", etag_of(webhook.name, webhook.version));
}

Result<Response> list_webhooks(const Call& call) {
  const auto state = call.plane.loop.state();
  return list_by_name(
      call, *state->webhooks, state->seq, [](const Webhook& webhook) { return write_webhook(webhook); },
      [&](const Webhook& webhook) { return may_see(call.request, webhook.tenant); });
}

// How far it has come changes without a new version: there is no 304.
Result<Response> get_webhook(const Call& call) {
  const auto state = call.plane.loop.state();
  const Webhook* webhook = find_webhook(*state, call.request);
  if (webhook == nullptr) return no_webhook(call.request);
  return webhook_answer(*webhook);
}

Result<Submission> put_webhook(const webhooks::AddressRules& rules, const Call& call) {
  auto webhook = read_webhook(call.request.param("name"), call.request.body);
  if (!webhook) return std::unexpected(webhook.error());
  if (auto url = webhooks::parse_webhook_url(webhook->url, rules); !url) return std::unexpected(url.error());
  const std::string* own = own_tenant(call.request);
  if (own != nullptr) {
    if (webhook->tenant.empty()) webhook->tenant = *own;
    if (webhook->tenant != *own) {
      return fail(ErrorKind::invalid, "tenants.unknown", "there is no tenant '" + webhook->tenant + "' for you",
                  "/tenant", "your webhooks are of tenant " + *own);
    }
  }
  auto version = if_version(call, *call.plane.loop.state());
  if (!version) return std::unexpected(version.error());
  return Submission{control::PutWebhook{std::move(*webhook), own != nullptr, *version},
                    [name = call.request.param("name")](const control::Accepted& accepted) {
                      return webhook_answer(accepted.state->webhooks->at(name));
                    }};
}

Result<Submission> delete_webhook(const Call& call) {
  const auto state = call.plane.loop.state();
  if (find_webhook(*state, call.request) == nullptr) return no_webhook(call.request);
  auto version = if_version(call, *state);
  if (!version) return std::unexpected(version.error());
  const std::string* own = own_tenant(call.request);
  control::RemoveWebhook command{call.request.param("name"), {}, *version};
  if (own != nullptr) command.tenant = *own;
  return Submission{std::move(command), [](const control::Accepted&) { return Response::empty(); }};
}

}  // namespace

void add_webhook_routes(RouteTable& routes, const webhooks::AddressRules& rules) {
  routes.get("/v1/webhooks", {.access = kOperatorsAndMembers, .page = PageLimits{}}, list_webhooks);
  routes.get("/v1/webhooks/{name}", {.access = kOperatorsAndMembers}, get_webhook);
  routes.put("/v1/webhooks/{name}", {.access = kOperatorsAndMembers, .present = present_webhook},
             [rules](const Call& call) { return put_webhook(rules, call); });
  routes.del("/v1/webhooks/{name}", {.access = kOperatorsAndMembers, .present = present_webhook}, delete_webhook);
}

}  // namespace railweave::api
