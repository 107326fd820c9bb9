// Whom the claims of a verified token are taken for.
#include "services/rest/access/oidc_claims.h"

#include <string>

#include <gtest/gtest.h>

namespace railweave::api {
namespace {

constexpr std::int64_t kSignedIn_us = 1'700'000'000'000'000;

OidcRules rules() {
  OidcRules rules;
  rules.issuer = "https://issuer";
  rules.audience = "here";
  rules.roles = {{"admins", control::Role::administrator},
                 {"ops", control::Role::fabric_operator},
                 {"all", control::Role::viewer},
                 {"team", control::Role::member}};
  return rules;
}

// Claims that are taken, with more, which go before those of the same name.
std::string outcome(const std::string& more, const OidcRules& by = rules()) {
  std::string claims = "{" + more;
  for (const auto& [name, value] :
       {std::pair("iss", R"("https://issuer")"), std::pair("aud", R"("here")"), std::pair("sub", R"("alice")"),
        std::pair("exp", "1700000600"), std::pair("roles", R"(["all"])")}) {
    const std::string key = "\"" + std::string(name) + "\":";
    if (claims.find(key) == std::string::npos) claims += (claims.size() > 1 ? "," : "") + key + value;
  }
  const auto user = user_of(claims + "}", by, kSignedIn_us);
  return user ? user->name + " " + std::string(to_text(user->role)) + " " + user->tenant : user.error().code;
}

TEST(OidcClaims, TheRoleThatMayDoMostIsTaken) {
  EXPECT_EQ(outcome(""), "alice viewer ");
  EXPECT_EQ(outcome(R"("roles":"ops")"), "alice operator ");
  EXPECT_EQ(outcome(R"("roles":["team","all","ops"],"tenant":"t")"), "alice operator ");
  EXPECT_EQ(outcome(R"("roles":["admins","all"])"), "alice administrator ");
  EXPECT_EQ(outcome(R"("roles":["team"],"tenant":"t")"), "alice member t");
  for (const auto* none :
       {R"("roles":[])", R"("roles":"Admins")", R"("roles":[["admins"]])", R"("roles":{"admins":1})", R"("roles":null)",
        R"("roles":["team"])", R"("roles":["team"],"tenant":"a b")", R"("roles":["team"],"tenant":["t"])"}) {
    EXPECT_EQ(outcome(none), "auth.noRole") << none;
  }
}

TEST(OidcClaims, NamesOfClaimsMayHaveDotsOrGoIntoMembers) {
  OidcRules by = rules();
  by.role_claim = "https://railweave/roles.v1";
  EXPECT_EQ(outcome(R"("https://railweave/roles.v1":["ops"])", by), "alice operator ");
  by.role_claim = "a.b.c";
  EXPECT_EQ(outcome(R"("a":{"b":{"c":["ops"]}})", by), "alice operator ");
  EXPECT_EQ(outcome(R"("a":{"b":["ops"]})", by), "auth.noRole");
  EXPECT_EQ(outcome(R"("a":"b")", by), "auth.noRole");
}

TEST(OidcClaims, TimesHoldWithAMinuteBetweenTheClocks) {
  EXPECT_EQ(outcome(R"("exp":1699999941)"), "alice viewer ");
  EXPECT_EQ(outcome(R"("exp":1699999940)"), "auth.expired");
  EXPECT_EQ(outcome(R"("exp":1699999940.5)"), "alice viewer ");
  EXPECT_EQ(outcome(R"("nbf":1700000060)"), "alice viewer ");
  EXPECT_EQ(outcome(R"("nbf":1700000061)"), "auth.notYetValid");
  EXPECT_EQ(outcome(R"("iat":1700000061)"), "auth.notYetValid");
  for (const auto* wrong : {R"("exp":"1700000600")", R"("exp":null)", R"("exp":true)", R"("exp":1e300)"}) {
    EXPECT_EQ(outcome(wrong), "auth.invalid") << wrong;
  }
  EXPECT_EQ(outcome(R"("nbf":"soon")"), "auth.notYetValid");
}

TEST(OidcClaims, IssuerAudienceAndNameMustBeWhatTheyShouldBe) {
  for (const auto* wrong : {R"("iss":"https://issuer/")", R"("iss":["https://issuer"])", R"("aud":"her")",
                            R"("aud":["there"])", R"("aud":[])", R"("sub":"")", R"("sub":7)", R"("sub":"a b")",
                            R"("sub":"a\nb")", R"("sub":"fabric")", R"("sub":"root")"}) {
    EXPECT_EQ(outcome(wrong), "auth.invalid") << wrong;
  }
  EXPECT_EQ(outcome(R"("aud":["there","here"])"), "alice viewer ");
  EXPECT_EQ(outcome("\"sub\":\"" + std::string(101, 'a') + "\""), "auth.invalid");
  for (const auto* payload : {"", "[]", "7", "{", R"({"iss":"a","iss":"https://issuer"})"}) {
    EXPECT_EQ(user_of(payload, rules(), kSignedIn_us).error().code, "auth.invalid") << payload;
  }
}

}  // namespace
}  // namespace railweave::api
