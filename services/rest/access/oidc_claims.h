// What a verified JSON Web Token says (RFC 7519), and whom this service takes its owner for. Pure.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <string_view>

#include "services/control/state/access_token.h"

namespace railweave::api {

struct OidcRules {
  std::string issuer, audience;
  std::string name_claim = "sub";       // the actor of changes
  std::string role_claim = "roles";     // text, or a list; "realm_access.roles" is a member of a member
  std::string tenant_claim = "tenant";  // of members
  std::map<std::string, control::Role, std::less<>> roles;  // by what the claim says; the one that may do most is taken
};

struct OidcUser {
  std::string subject, name;
  control::Role role = control::Role::viewer;
  std::string tenant;
  std::int64_t expires_us = 0;
};

struct OidcRefusal {
  int status = 401;
  std::string code, detail;
  int retry_after_s = 0;
};

inline constexpr std::int64_t kOidcSkew_us = 60'000'000;  // between the provider's clock and this one

std::expected<OidcUser, OidcRefusal> user_of(std::string_view payload, const OidcRules& rules, std::int64_t now_us);

}  // namespace railweave::api
