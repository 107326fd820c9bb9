#include <utility>

#include "services/json/contract_object.h"
#include "services/rest/handlers/routes.h"

namespace railweave::api {

void add_sign_in_routes(RouteTable& routes, const SignIn& sign_in) {
  Out oidc = nullptr;
  if (const auto& client = sign_in.oidc) {
    oidc = object<"getSignIn.answer.oidc">(
        with<"issuer">(client->issuer), with<"clientId">(client->client_id), with<"scope">(client->scope),
        with<"resource">(client->resource.empty() ? Out(nullptr) : Out(client->resource)),
        with<"bearer">(client->shows_id_token ? "idToken" : "accessToken"));
  }
  const std::string answer =
      dump(object<"getSignIn.answer">(with<"tokens">(sign_in.tokens), with<"oidc">(std::move(oidc))));
  routes.get("/v1/sign-in", {.access = kAnyone, .any_query = true},
             [answer](const Call& /*call*/) -> Result<Response> { return Response::json(answer); });
}

}  // namespace railweave::api
