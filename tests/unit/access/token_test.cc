// Tokens: their form, what is kept of them, and that nothing but the very token lets a caller in.
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "services/json/digest.h"
#include "services/rest/access/authentication.h"
#include "services/rest/access/token_text.h"

namespace railweave::api {
namespace {

using control::AccessToken;
using control::AccessTokenTable;
using control::Role;

struct Issued {
  std::string text;
  AccessTokenTable table;
};

Issued issued(Role role = Role::viewer, std::int64_t expires_us = 0) {
  const auto made = new_token();
  EXPECT_TRUE(made);
  AccessToken token;
  token.id = made->id;
  token.name = "alice";
  token.role = role;
  token.tenant = role == Role::member ? "research" : "";
  token.sha256 = made->sha256;
  token.expires_us = expires_us;
  return {made->text, {{token.id, token}}};
}

std::string outcome(const Issued& known, const std::string& authorization, std::int64_t now_us = 1'000) {
  Headers headers;
  headers.add("Authorization", authorization);
  RateLimit none(0, 0);
  const auto caller = authenticate(headers, {}, known.table, {}, now_us, none);
  return caller ? "let in as " + (*caller)->name : caller.error().code;
}

TEST(Tokens, AreDifferentAndKeptAsTheirHashAlone) {
  std::set<std::string> ids, texts;
  for (int i = 0; i < 1'000; ++i) {
    const auto made = new_token();
    ASSERT_TRUE(made);
    ids.insert(made->id);
    texts.insert(made->text);
    const auto read = parse_token(made->text);
    ASSERT_TRUE(read) << made->text;
    EXPECT_EQ(read->id, made->id);
    EXPECT_EQ(sha256_hex(read->secret), made->sha256);
    EXPECT_EQ(made->sha256.find(read->secret), std::string::npos);
  }
  EXPECT_EQ(ids.size(), 1'000U);
  EXPECT_EQ(texts.size(), 1'000U);
}

TEST(Tokens, NothingButTheVeryTokenLetsIn) {
  const Issued known = issued();
  ASSERT_EQ(outcome(known, "Bearer " + known.text), "let in as alice");
  std::mt19937 random(7);
  int tried = 0;
  for (std::size_t at = 0; at < known.text.size(); ++at) {
    for (int i = 0; i < 40; ++i, ++tried) {
      std::string changed = known.text;
      const char other = static_cast<char>(random() % 255 + 1);
      if (other == changed[at] || other == '\r' || other == '\n') continue;
      changed[at] = other;
      EXPECT_EQ(outcome(known, "Bearer " + changed).substr(0, 5), "auth.") << changed;
    }
    EXPECT_EQ(outcome(known, "Bearer " + known.text.substr(0, at)).substr(0, 5), "auth.");
    EXPECT_EQ(outcome(known, "Bearer " + known.text + known.text.substr(at)).substr(0, 5), "auth.");
  }
  EXPECT_GT(tried, 2'000);
  // A valid token of another service, and the right secret under another token's id.
  const Issued other = issued();
  EXPECT_EQ(outcome(known, "Bearer " + other.text), "auth.invalid");
  EXPECT_EQ(outcome(known, "Bearer " + other.text.substr(0, 16) + known.text.substr(16)), "auth.invalid");
  EXPECT_EQ(outcome(known, "Bearer " + known.text.substr(0, 16) + other.text.substr(16)), "auth.invalid");
}

TEST(Tokens, EndAtTheirTime) {
  const Issued known = issued(Role::member, 5'000);
  EXPECT_EQ(outcome(known, "Bearer " + known.text, 4'999), "let in as alice");
  EXPECT_EQ(outcome(known, "Bearer " + known.text, 5'000), "auth.expired");
  Issued changed = known;
  changed.table.begin()->second.expires_us = 0;
  EXPECT_EQ(outcome(changed, "Bearer " + known.text, INT64_MAX), "let in as alice");
  changed.table.clear();
  EXPECT_EQ(outcome(changed, "Bearer " + known.text), "auth.invalid");
}

TEST(RateLimit, IsOfEachTokenAndNoMoreThanItsRate) {
  RateLimit limit(10, 5);
  auto now = RateLimit::Clock::time_point();
  int let = 0;
  for (int ms = 0; ms < 60'000; ++ms, now += std::chrono::milliseconds(1)) let += limit.take("a", now) == 0 ? 1 : 0;
  EXPECT_GE(let, 600) << "10 a second for a minute";
  EXPECT_LE(let, 606) << "and those at once at first";
  EXPECT_EQ(limit.take("b", now), 0) << "another token has its own";
  RateLimit slow(1, 1);
  EXPECT_EQ(slow.take("a", now), 0);
  EXPECT_EQ(slow.take("a", now), 1) << "seconds to wait";
  EXPECT_EQ(slow.take("a", now + std::chrono::seconds(1)), 0);
  for (int i = 0; i < 30'000; ++i) EXPECT_EQ(slow.take(std::to_string(i), now + std::chrono::hours(i)), 0);
}

TEST(Access, RolesIncludeEachOtherButForMembers) {
  const auto who = [](Access access) {
    std::string text;
    for (const Role role : {Role::viewer, Role::member, Role::fabric_operator, Role::administrator}) {
      if (access.allows(role)) text += to_text(role).substr(0, 1);
    }
    return text;
  };
  EXPECT_EQ(who(kAnyone), "vmoa");
  EXPECT_EQ(who(kViewersAndMembers), "vmoa");
  EXPECT_EQ(who(kViewers), "voa");
  EXPECT_EQ(who(kOperatorsAndMembers), "moa");
  EXPECT_EQ(who(kOperators), "oa");
  EXPECT_EQ(who(kAdministrators), "a");
  EXPECT_EQ(who(Access{}), "a") << "a route that says nothing is for administrators";
}

}  // namespace
}  // namespace railweave::api
