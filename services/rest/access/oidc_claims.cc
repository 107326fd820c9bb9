#include "services/rest/access/oidc_claims.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "services/json/strict_json.h"

namespace railweave::api {
namespace {

using control::Role;

constexpr std::size_t kMaxName = 100;
constexpr std::array kOwnActors = {"railweave", "railweaved", "fabric", "local", "root"};

std::unexpected<OidcRefusal> refuse(std::string code, std::string detail) {
  return std::unexpected(OidcRefusal{401, std::move(code), std::move(detail), 0});
}

// A member, or a member of a member where the name has dots.
const Json* claim(const Json& claims, std::string_view name) {
  if (const auto at = claims.find(name); at != claims.end()) return &*at;
  const auto dot = name.find('.');
  if (dot == std::string_view::npos) return nullptr;
  const auto at = claims.find(name.substr(0, dot));
  return at != claims.end() && at->is_object() ? claim(*at, name.substr(dot + 1)) : nullptr;
}

std::vector<std::string> texts(const Json* value) {
  std::vector<std::string> found;
  if (value == nullptr) return found;
  if (value->is_string()) return {value->get<std::string>()};
  if (!value->is_array()) return found;
  for (const auto& one : *value) {
    if (one.is_string()) found.push_back(one.get<std::string>());
  }
  return found;
}

std::string text(const Json* value) {
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

// Seconds since 1970, in microseconds; none: there is no such claim, or it is no time.
std::optional<std::int64_t> time_us(const Json& claims, const char* name) {
  constexpr double kLatest_s = 1e11;
  const Json* value = claim(claims, name);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  const auto seconds = value->get<double>();
  if (!std::isfinite(seconds) || std::fabs(seconds) > kLatest_s) return std::nullopt;
  return static_cast<std::int64_t>(seconds * 1e6);
}

bool is_plain(const std::string& name) {
  return !name.empty() && name.size() <= kMaxName &&
         std::ranges::all_of(name, [](char c) { return c > ' ' && c <= '~'; });
}

int rank(Role role) {
  switch (role) {
    case Role::member:
      return 0;
    case Role::viewer:
      return 1;
    case Role::fabric_operator:
      return 2;
    case Role::administrator:
      return 3;
    case Role::agent:
      break;  // no person is one
  }
  return 0;
}

}  // namespace

std::expected<OidcUser, OidcRefusal> user_of(std::string_view payload, const OidcRules& rules, std::int64_t now_us) {
  const auto claims = parse_json(payload);
  if (!claims || !claims->is_object()) return refuse("auth.invalid", "the token says nothing that can be read");
  if (text(claim(*claims, "iss")) != rules.issuer) return refuse("auth.invalid", "the token is of another issuer");
  const auto audience = texts(claim(*claims, "aud"));
  if (std::ranges::find(audience, rules.audience) == audience.end()) {
    return refuse("auth.invalid", "the token is for another service");
  }
  const auto expires = time_us(*claims, "exp");
  if (!expires) return refuse("auth.invalid", "the token does not say when it expires");
  if (now_us >= *expires + kOidcSkew_us) return refuse("auth.expired", "the token has expired");
  for (const auto* begins : {"nbf", "iat"}) {
    if (!claims->contains(begins)) continue;
    const auto from = time_us(*claims, begins);
    if (!from || now_us < *from - kOidcSkew_us) return refuse("auth.notYetValid", "the token is not valid yet");
  }
  OidcUser user;
  user.expires_us = *expires + kOidcSkew_us;
  user.subject = text(claim(*claims, "sub"));
  user.name = text(claim(*claims, rules.name_claim));
  if (user.subject.empty() || !is_plain(user.name)) {
    return refuse("auth.invalid",
                  "the token has no subject, or no name that can be recorded, as claim " + rules.name_claim);
  }
  if (std::ranges::find(kOwnActors, user.name) != kOwnActors.end()) {
    return refuse("auth.invalid", "'" + user.name + "' is what the service calls itself or its own machine's users");
  }
  std::optional<Role> role;
  for (const auto& said : texts(claim(*claims, rules.role_claim))) {
    const auto known = rules.roles.find(said);
    if (known == rules.roles.end()) continue;
    if (!role || rank(known->second) > rank(*role)) role = known->second;
  }
  if (!role)
    return refuse("auth.noRole", "the token of " + user.name + " gives no role here, by claim " + rules.role_claim);
  user.role = *role;
  if (user.role == Role::member) {
    user.tenant = text(claim(*claims, rules.tenant_claim));
    if (!is_plain(user.tenant))
      return refuse("auth.noRole", "the token of " + user.name + " names no tenant, as claim " + rules.tenant_claim);
  }
  return user;
}

}  // namespace railweave::api
