// How people sign in, as a page is told before its user has a token. Constant after construction.
#pragma once

#include <optional>
#include <string>

namespace railweave::api {

// A public client of an OpenID Connect provider: authorization code with PKCE, no secret.
struct OidcClient {
  std::string issuer, client_id;
  std::string scope = "openid";
  std::string resource;         // of RFC 8707; "": the provider is not told what tokens are for
  bool shows_id_token = false;  // else the access token
};

struct SignIn {
  bool tokens = true;  // callers show tokens
  std::optional<OidcClient> oidc;
};

// "https://host:port" of a URL with scheme https, or http on a loopback address; "": it is no such URL.
std::string origin_of_issuer(const std::string& issuer);

}  // namespace railweave::api
