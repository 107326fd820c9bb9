#include <utility>

#include "services/rest/access/token_text.h"
#include "services/rest/handlers/list_page.h"
#include "services/rest/handlers/reply.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/json/access/token.h"

namespace railweave::api {
namespace {

Result<Response> list_tokens(const Call& call) {
  const auto state = call.plane.loop.state();
  const std::int64_t now_us = call.plane.loop.now_us();
  return list_by_name(call, *state->access_tokens, state->seq,
                      [&](const control::AccessToken& token) { return write_token(token, now_us); });
}

Result<Submission> post_token(const Call& call) {
  auto token = read_token_request(call.request.body);
  if (!token) return std::unexpected(token.error());
  const auto made = new_token();
  if (!made) return std::unexpected(made.error());
  token->id = made->id;
  token->sha256 = made->sha256;
  const std::int64_t now_us = call.plane.loop.now_us();
  return Submission{control::IssueToken{std::move(*token)},
                    [id = made->id, text = made->text, now_us](const control::Accepted& accepted) {
                      return Response::json(write_token(accepted.state->access_tokens->at(id), now_us, text), 201)
                          .with("Location", "/v1/tokens/" + id)
                          .with("Cache-Control", "no-store");
                    }};
}

Result<Submission> delete_token(const Call& call) {
  return Submission{control::RevokeToken{call.request.param("id")},
                    [](const control::Accepted&) { return Response::empty(); }};
}

Result<Response> get_caller(const Call& call) {
  const Caller* caller = call.request.caller.get();
  if (caller == nullptr) {
    const control::AccessToken anyone{.name = actor_of(call.request), .role = control::Role::administrator};
    return Response::json(write_caller(anyone, "none"));
  }
  const control::AccessToken as{
      .name = caller->name, .role = caller->role, .tenant = caller->tenant, .node = caller->node};
  return Response::json(write_caller(as, railweave::to_text(caller->known_by)));
}

}  // namespace

void add_token_routes(RouteTable& routes) {
  routes.get("/v1/tokens", {.access = kAdministrators, .page = PageLimits{}}, list_tokens);
  routes.post("/v1/tokens", {.access = kAdministrators}, post_token);
  routes.del("/v1/tokens/{id}", {.access = kAdministrators}, delete_token);
  routes.get("/v1/whoami", {.access = kEveryRole}, get_caller);
}

}  // namespace railweave::api
