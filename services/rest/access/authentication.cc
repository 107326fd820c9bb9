#include "services/rest/access/authentication.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "services/json/digest.h"
#include "services/rest/access/token_text.h"

namespace railweave::api {
namespace {

std::unexpected<Problem> refuse(std::string code, std::string detail, std::string hint) {
  Problem problem;
  problem.status = 401;
  problem.code = std::move(code);
  problem.detail = std::move(detail);
  problem.hint = std::move(hint);
  return std::unexpected(std::move(problem));
}

}  // namespace

std::expected<std::shared_ptr<const Caller>, Problem> authenticate(const Headers& headers,
                                                                   const control::AccessTokenTable& tokens,
                                                                   std::int64_t now_us, RateLimit& limit) {
  const auto* header = headers.find("Authorization");
  if (header == nullptr) {
    return refuse("auth.missing", "this service answers those who show a token",
                  "send Authorization: Bearer with a token; administrators issue them");
  }
  std::string_view text = *header;
  const auto blank = text.find(' ');
  if (!equal_ignoring_case(text.substr(0, blank), "Bearer") || blank == std::string_view::npos) {
    return refuse("auth.scheme", "the Authorization is not of the scheme Bearer", "send Authorization: Bearer rw_...");
  }
  text.remove_prefix(std::min(text.find_first_not_of(' ', blank), text.size()));
  const auto shown = parse_token(text);
  const auto known = shown ? tokens.find(shown->id) : tokens.end();
  if (known == tokens.end() || !same_digest(sha256_hex(shown->secret), known->second.sha256)) {
    return refuse("auth.invalid", "the token is not known: it is mistyped, or was revoked",
                  "ask an administrator for another");
  }
  const control::AccessToken& token = known->second;
  if (token.expired(now_us)) {
    return refuse("auth.expired", "the token of " + token.name + " has expired", "ask an administrator for another");
  }
  if (const int wait_s = limit.take(token.id, RateLimit::Clock::now()); wait_s > 0) {
    auto refusal = refuse("http.tooManyRequests", "the token of " + token.name + " makes too many requests",
                          "wait as long as Retry-After says; requests_per_second in the configuration is the limit");
    refusal.error().status = 429;
    refusal.error().retry_after_s = wait_s;
    return refusal;
  }
  return std::make_shared<const Caller>(token.name, token.role, token.tenant, token.id, token.expires_us);
}

}  // namespace railweave::api
