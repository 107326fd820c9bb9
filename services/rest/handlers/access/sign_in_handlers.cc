#include <utility>

#include "services/json/json_out.h"
#include "services/rest/handlers/routes.h"

namespace railweave::api {

void add_sign_in_routes(RouteTable& routes, const SignIn& sign_in) {
  Out oidc = nullptr;
  if (const auto& client = sign_in.oidc) {
    oidc = {{"issuer", client->issuer},
            {"clientId", client->client_id},
            {"scope", client->scope},
            {"resource", client->resource.empty() ? Out(nullptr) : Out(client->resource)},
            {"bearer", client->shows_id_token ? "idToken" : "accessToken"}};
  }
  const std::string answer = dump(Out{{"tokens", sign_in.tokens}, {"oidc", std::move(oidc)}});
  routes.get("/v1/sign-in", {.access = kAnyone, .any_query = true},
             [answer](const Call& /*call*/) -> Result<Response> { return Response::json(answer); });
}

}  // namespace railweave::api
