#include "services/rest/access/authentication.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "services/json/digest.h"
#include "services/rest/access/on_behalf.h"
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

using Known = std::expected<std::shared_ptr<const Caller>, Problem>;

// The limit is of whom the caller is known to be, so that no one uses up another's.
Known within_limit(Caller caller, const std::string& key, RateLimit& limit) {
  const int wait_s = limit.take(key, RateLimit::Clock::now());
  if (wait_s <= 0) return std::make_shared<const Caller>(std::move(caller));
  auto refusal =
      refuse("http.tooManyRequests",
             fmt::format("the {} of {} makes too many requests", railweave::to_text(caller.known_by), caller.name),
             "wait as long as Retry-After says; requests_per_second in the configuration is the limit");
  refusal.error().status = 429;
  refusal.error().retry_after_s = wait_s;
  return refusal;
}

Known by_token(std::string_view text, const control::AccessTokenTable& tokens, std::int64_t now_us, RateLimit& limit) {
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
  return within_limit({token.name, token.role, token.tenant, token.id, token.expires_us, KnownBy::token, token.node},
                      token.id, limit);
}

Known by_provider(Oidc& oidc, std::string_view text, const Peer& peer, std::int64_t now_us, RateLimit& limit) {
  auto user = oidc.verify(text, peer.address, now_us);
  if (!user) {
    Problem problem;
    problem.status = user.error().status;
    problem.code = user.error().code;
    problem.detail = user.error().detail;
    problem.hint = "sign in again; an administrator knows how this service's provider is configured";
    if (user.error().retry_after_s > 0) problem.retry_after_s = user.error().retry_after_s;
    return std::unexpected(std::move(problem));
  }
  Caller caller{user->name, user->role, user->tenant, "oidc", user->expires_us, KnownBy::oidc};
  return within_limit(std::move(caller), "oidc " + user->subject, limit);
}

std::unexpected<Problem> unknown_certificate(const std::string& name) {
  return refuse("auth.unknownCertificate", "no account is for the certificate of " + name,
                "the configuration names the accounts: [[access.certificate]]");
}

std::unexpected<Problem> cannot_speak(std::string detail, std::string hint) {
  auto refusal = refuse("auth.onBehalf", std::move(detail), std::move(hint));
  refusal.error().status = 403;
  return refusal;
}

// Of a request that another replica sends on. What its caller may do is decided here: the replica says who it is.
Known by_replica(const Headers& headers, const Peer& peer, const KnownCallers& known, std::int64_t now_us,
                 RateLimit& limit) {
  const auto replica = std::ranges::find_first_of(peer.names, known.replicas);
  if (replica == peer.names.end()) {
    return cannot_speak(
        (peer.names.empty() ? "who sends this" : peer.names.front()) + " is no replica, and speaks for no other caller",
        fmt::format("leave {} out; of replicas, peers of [replica] in the configuration lists the names", kOnBehalf));
  }
  if (peer.certificate_expires_us <= now_us) {
    return cannot_speak("the certificate of the replica " + *replica + " has expired", "give it a new one");
  }
  const auto vouched = headers.count(kOnBehalf) == 1 && !headers.contains("Authorization")
                           ? parse_on_behalf(headers.value(kOnBehalf))
                           : std::nullopt;
  if (!vouched) {
    return cannot_speak("the replica " + *replica + " does not say for whom it speaks",
                        fmt::format("one {}, and no Authorization; replicas are of one release", kOnBehalf));
  }
  if (vouched->known_by == KnownBy::socket) {
    Caller caller{vouched->name, control::Role::administrator, {}, "socket", 0, KnownBy::socket};
    return within_limit(std::move(caller), vouched->name + " of " + *replica, limit);
  }
  const auto account = std::ranges::find(known.certificates, vouched->name, &CertificateAccount::name);
  if (account == known.certificates.end()) return unknown_certificate(vouched->name);
  return within_limit(
      {account->name, account->role, account->tenant, "certificate", 0, KnownBy::certificate, account->node},
      "certificate " + account->name, limit);
}

Known by_connection(const Peer& peer, const KnownCallers& known, std::int64_t now_us, RateLimit& limit) {
  if (peer.uid && (*peer.uid == 0 || *peer.uid == known.own_uid)) {
    Caller caller{*peer.uid == 0 ? "root" : fmt::format("uid-{}", *peer.uid),
                  control::Role::administrator,
                  {},
                  "socket",
                  0,
                  KnownBy::socket};
    return within_limit(std::move(caller), peer.address, limit);
  }
  if (!peer.names.empty()) {
    const auto account = std::ranges::find_if(known.certificates, [&](const CertificateAccount& one) {
      return std::ranges::find(peer.names, one.name) != peer.names.end();
    });
    if (account == known.certificates.end()) return unknown_certificate(peer.names.front());
    // A connection may last for longer than its certificate.
    if (peer.certificate_expires_us <= now_us) {
      return refuse("auth.expired", "the certificate of " + account->name + " has expired", "connect with a new one");
    }
    return within_limit({account->name, account->role, account->tenant, "certificate", peer.certificate_expires_us,
                         KnownBy::certificate, account->node},
                        "certificate " + account->name, limit);
  }
  return refuse("auth.missing", "this service answers those who show a token",
                "send Authorization: Bearer with a token; administrators issue them");
}

}  // namespace

Known authenticate(const Headers& headers, const Peer& peer, const control::AccessTokenTable& tokens,
                   const KnownCallers& known, std::int64_t now_us, RateLimit& limit) {
  if (headers.contains(kOnBehalf)) return by_replica(headers, peer, known, now_us, limit);
  const auto* header = headers.find("Authorization");
  if (header == nullptr) return by_connection(peer, known, now_us, limit);
  std::string_view text = *header;
  const auto blank = text.find(' ');
  if (!equal_ignoring_case(text.substr(0, blank), "Bearer") || blank == std::string_view::npos) {
    return refuse("auth.scheme", "the Authorization is not of the scheme Bearer", "send Authorization: Bearer rw_...");
  }
  text.remove_prefix(std::min(text.find_first_not_of(' ', blank), text.size()));
  if (known.oidc != nullptr && looks_like_jwt(text)) return by_provider(*known.oidc, text, peer, now_us, limit);
  return by_token(text, tokens, now_us, limit);
}

}  // namespace railweave::api
