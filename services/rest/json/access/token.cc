#include "services/rest/json/access/token.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "fabric/base/text/time_text.h"
#include "services/control/codec/access_token_json.h"
#include "services/json/contract_object.h"

namespace railweave::api {
namespace {

using control::AccessToken;
using control::Role;

struct TimeAhead {
  void read(ObjectReader& reader, std::string_view name, std::int64_t& into_us) const {
    std::optional<std::string> text;
    reader.read_text(name, text);
    if (!text) return;
    const auto time = parse_time_us(*text);
    if (!time || *time <= 0)
      return reader.set_error(name, shown(*text) + " is no time", "like 2026-11-21T09:00:00Z (RFC 3339)");
    into_us = *time;
  }
};

constexpr auto kRequestFields = request_fields<"TokenRequest">(
    required_field<"name">(&AccessToken::name), required_field<"role">(&AccessToken::role, kRoleText),
    field<"tenant">(&AccessToken::tenant), field<"node">(&AccessToken::node),
    field<"expiresAt">(&AccessToken::expires_us, TimeAhead()));

constexpr std::size_t kMaxNodeName = 255;

Out text_or_null(const std::string& text) { return text.empty() ? Out(nullptr) : Out(text); }

}  // namespace

Result<AccessToken> read_token_request(std::string_view body) {
  auto value = parse_json(body);
  if (!value) return std::unexpected(value.error());
  AccessToken token;
  ObjectReader reader(*value, "");
  read_fields(reader, token, kRequestFields);

  const bool plain = !token.name.empty() && token.name.size() <= 63 &&
                     token.name.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.@") == std::string::npos;
  constexpr std::array kOwnActors = {"railweave", "railweaved", "fabric", "local", "root"};
  if (std::ranges::find(kOwnActors, token.name) != kOwnActors.end() || token.name.starts_with("uid-")) {
    reader.set_error("name", "'" + token.name + "' is what the service calls itself or its own machine's users",
                     "give another name: changes are recorded under it");
  }
  if (!plain)
    reader.set_error("name", "a token's owner cannot be called that", "1 to 63 letters, digits, '-', '_', '.' or '@'");
  if ((token.role == Role::member) == token.tenant.empty()) {
    reader.set_error("tenant", token.tenant.empty() ? "a member is of a tenant" : "only members are of a tenant",
                     "a tenant goes with the role member, and with no other");
  }
  if ((token.role == Role::agent) == token.node.empty() || token.node.size() > kMaxNodeName) {
    reader.set_error("node", token.role == Role::agent ? "an agent is of a node" : "only agents are of a node",
                     "a node's name goes with the role agent, and with no other");
  }
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return token;
}

std::string write_token(const AccessToken& token, std::int64_t now_us, const std::string& text) {
  auto parts = several(with<"id">(token.id), with<"name">(token.name), with<"role">(token.role),
                       with<"tenant">(text_or_null(token.tenant)), with<"node">(text_or_null(token.node)),
                       with<"issuedBy">(token.issued_by), with<"issuedAt">(time_text(token.issued_us)),
                       with<"expiresAt">(token.expires_us == 0 ? Out(nullptr) : Out(time_text(token.expires_us))),
                       with<"state">(token.expired(now_us) ? "expired" : "valid"));
  return dump(text.empty() ? object<"Token">(std::move(parts))
                           : object<"IssuedToken">(std::move(parts), with<"token">(text)));
}

std::string write_caller(const AccessToken& as, std::string_view known_by) {
  return dump(object<"Caller">(with<"name">(as.name), with<"role">(as.role), with<"tenant">(text_or_null(as.tenant)),
                               with<"node">(text_or_null(as.node)), with<"authentication">(known_by)));
}

}  // namespace railweave::api
