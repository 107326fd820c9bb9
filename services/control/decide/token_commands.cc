#include <algorithm>
#include <string>

#include <fmt/core.h>

#include "services/control/decide/commands.h"
#include "services/control/decide/refusal.h"

namespace railweave::control {

DecisionResult decide_command(const DecisionInput& in, const IssueToken& command) {
  const AccessToken& token = command.token;
  const std::size_t most =
      AccessToken::kMaxTokens - (token.role == Role::administrator ? 0 : AccessToken::kForAdministrators);
  if (in.state.access_tokens->size() >= most) {
    return refuse(ErrorKind::conflict, "tokens.tooMany", fmt::format("there are {} tokens", most),
                  "revoke those that are not used");
  }
  if (in.state.access_tokens->contains(token.id)) {
    return refuse(ErrorKind::conflict, "tokens.idInUse", "there is a token " + token.id, "try again");
  }
  if (!token.tenant.empty() && !in.state.tenants->contains(token.tenant)) {
    return refuse(ErrorKind::notFound, "tenants.notFound", "there is no tenant '" + token.tenant + "'",
                  "GET /v1/tenants lists them");
  }
  if (token.expired(in.now_us)) {
    return refuse(ErrorKind::invalid, "tokens.expired", "the token would have expired already", "give a later time");
  }
  return Decision{{TokenIssued{token}}, {}, false};
}

DecisionResult decide_command(const DecisionInput& in, const RevokeToken& command) {
  const auto& tokens = *in.state.access_tokens;
  const auto present = tokens.find(command.id);
  if (present == tokens.end()) {
    return refuse(ErrorKind::notFound, "tokens.notFound", "there is no token '" + command.id + "'",
                  "GET /v1/tokens lists them");
  }
  const auto lasting = [&](const auto& entry) {
    return entry.second.role == Role::administrator && entry.second.expires_us == 0 && entry.first != command.id;
  };
  if (present->second.role == Role::administrator && std::ranges::none_of(tokens, lasting)) {
    return refuse(ErrorKind::conflict, "tokens.lastAdministrator",
                  "no other administrator's token lasts: tokens could not be issued any more",
                  "issue another that does not expire first");
  }
  return Decision{{TokenRevoked{command.id, present->second.name}}, {}, false};
}

}  // namespace railweave::control
