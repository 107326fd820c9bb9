// What a replica says of a caller whose request it sends on, and who is believed.
#include "services/rest/access/on_behalf.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

#include "services/rest/access/authentication.h"

namespace railweave::api {
namespace {

constexpr std::int64_t kTime_us = 1'000;

KnownCallers known_here() {
  KnownCallers known;
  known.own_uid = 990;
  known.certificates = {{"agent", control::Role::fabric_operator, ""},
                        {"spiffe://a/b c", control::Role::member, "t"},
                        {"fabric-2", control::Role::viewer, ""}};
  known.replicas = {"fabric-1", "fabric-2"};
  return known;
}

Peer shows(std::vector<std::string> names, std::int64_t expires_us = 2'000) {
  Peer peer;
  peer.address = "192.0.2.1";
  peer.names = std::move(names);
  peer.certificate_expires_us = expires_us;
  return peer;
}

Headers says(const std::string& text) {
  Headers headers;
  headers.add(kOnBehalf, text);
  return headers;
}

std::string outcome_of(const Headers& headers, const Peer& peer, RateLimit& limit) {
  const auto caller = authenticate(headers, peer, {}, known_here(), kTime_us, limit);
  if (!caller) return std::to_string(caller.error().status) + " " + caller.error().code;
  return (*caller)->name + " " + std::string(to_text((*caller)->role)) + " " + (*caller)->tenant + " " +
         (*caller)->token;
}

std::string outcome_of(const Headers& headers, const Peer& peer) {
  RateLimit none(0, 0);
  return outcome_of(headers, peer, none);
}

TEST(OnBehalf, IsSaidOfCallersThatAreKnownByTheirConnectionAlone) {
  Caller caller;
  caller.name = "a b/ü\r\nX: y";
  for (const KnownBy known_by : {KnownBy::token, KnownBy::oidc}) {
    caller.known_by = known_by;
    EXPECT_EQ(on_behalf(caller), "");
  }
  caller.known_by = KnownBy::certificate;
  const std::string said = on_behalf(caller);
  EXPECT_TRUE(is_sendable({kOnBehalf, said})) << said;
  const auto read = parse_on_behalf(said);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->known_by, KnownBy::certificate);
  EXPECT_EQ(read->name, caller.name);
  caller = {"uid-990", control::Role::administrator, "", "socket", 0, KnownBy::socket};
  EXPECT_EQ(on_behalf(caller), "socket uid-990");
}

TEST(OnBehalf, AnyNameIsReadAsItWasSaidAndHasOneForm) {
  std::mt19937 random(7);
  Caller caller;
  caller.known_by = KnownBy::certificate;
  for (int i = 0; i < 2'000; ++i) {
    caller.name.assign(1 + random() % 60, ' ');
    for (char& byte : caller.name) byte = static_cast<char>(random() % 256);
    std::string said = on_behalf(caller);
    const auto read = parse_on_behalf(said);
    ASSERT_TRUE(read) << said;
    ASSERT_EQ(read->name, caller.name);
    // Whatever is read says again what was read: no two texts are one caller.
    said[random() % said.size()] = static_cast<char>(random() % 256);
    if (const auto changed = parse_on_behalf(said)) {
      Caller other;
      other.name = changed->name;
      other.known_by = changed->known_by;
      ASSERT_EQ(on_behalf(other), said);
    }
  }
}

TEST(OnBehalf, NothingElseIsRead) {
  for (const char* text : {"",
                           " ",
                           "socket",
                           "socket ",
                           " root",
                           "socket  root",
                           "socket root ",
                           "socket alice",
                           "socket uid-",
                           "socket uid-12345678901",
                           "socket uid--1",
                           "Socket root",
                           "token root",
                           "oidc root",
                           "certificate",
                           "certificate ",
                           "certificate a%2",
                           "certificate %61",
                           "certificate a b",
                           "certificate a,b"}) {
    EXPECT_FALSE(parse_on_behalf(text)) << text;
  }
  EXPECT_FALSE(parse_on_behalf("certificate " + std::string(2'000, 'a')));
}

TEST(OnBehalf, AReplicaIsBelievedForWhomItNames) {
  const Peer replica = shows({"other", "fabric-1"});
  EXPECT_EQ(outcome_of(says("socket root"), replica), "root administrator  socket");
  EXPECT_EQ(outcome_of(says("socket uid-7"), replica), "uid-7 administrator  socket");
  EXPECT_EQ(outcome_of(says("certificate agent"), replica), "agent operator  certificate");
  EXPECT_EQ(outcome_of(says("certificate spiffe%3A%2F%2Fa%2Fb%20c"), replica), "spiffe://a/b c member t certificate");
  EXPECT_EQ(outcome_of(says("certificate fabric-1"), replica), "401 auth.unknownCertificate");
  EXPECT_EQ(outcome_of(says("certificate stranger"), replica), "401 auth.unknownCertificate");
  EXPECT_EQ(outcome_of(says("socket alice"), replica), "403 auth.onBehalf");
  // Of itself it is what it has an account for, if any.
  EXPECT_EQ(outcome_of({}, replica), "401 auth.unknownCertificate");
  EXPECT_EQ(outcome_of({}, shows({"fabric-2"})), "fabric-2 viewer  certificate");
}

TEST(OnBehalf, NoOneElseIs) {
  Peer at_socket;
  at_socket.uid = 0;
  Peer service = at_socket;
  service.uid = 990;
  for (const Peer& peer :
       {Peer{}, at_socket, service, shows({"agent"}), shows({"spiffe://a/b c"}), shows({"stranger"}),
        shows({"fabric-"}), shows({"fabric-10"}), shows({"Fabric-1"}), shows({"fabric-1"}, kTime_us)}) {
    for (const char* text : {"socket root", "certificate agent", "", "nonsense"}) {
      EXPECT_EQ(outcome_of(says(text), peer), "403 auth.onBehalf");
    }
    Headers with_token = says("socket root");
    with_token.add("Authorization", "Bearer rw_whatever");
    EXPECT_EQ(outcome_of(with_token, peer), "403 auth.onBehalf");
  }
  KnownCallers none = known_here();
  none.replicas.clear();
  RateLimit unlimited(0, 0);
  const auto caller = authenticate(says("socket root"), shows({"fabric-1"}), {}, none, kTime_us, unlimited);
  ASSERT_FALSE(caller) << "a service that knows no replicas believes none";
  EXPECT_EQ(caller.error().code, "auth.onBehalf");
}

TEST(OnBehalf, IsSaidOnceAndBesideNoToken) {
  Headers twice = says("certificate agent");
  twice.add(kOnBehalf, "socket root");
  EXPECT_EQ(outcome_of(twice, shows({"fabric-1"})), "403 auth.onBehalf");
  Headers with_token = says("socket root");
  with_token.add("authorization", "Bearer rw_whatever");
  EXPECT_EQ(outcome_of(with_token, shows({"fabric-1"})), "403 auth.onBehalf");
}

TEST(OnBehalf, TheLimitIsOfTheCaller) {
  RateLimit limit(1, 2);
  const Peer one = shows({"fabric-1"}), two = shows({"fabric-2"});
  EXPECT_EQ(outcome_of(says("certificate agent"), one, limit), "agent operator  certificate");
  EXPECT_EQ(outcome_of(says("certificate agent"), two, limit), "agent operator  certificate");
  EXPECT_EQ(outcome_of(says("certificate agent"), one, limit), "429 http.tooManyRequests");
  EXPECT_EQ(outcome_of({}, shows({"agent"}), limit), "429 http.tooManyRequests") << "one account, however it comes";
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(outcome_of(says("socket root"), one, limit), "root administrator  socket");
    EXPECT_EQ(outcome_of(says("socket uid-7"), one, limit), "uid-7 administrator  socket");
    EXPECT_EQ(outcome_of(says("socket root"), two, limit), "root administrator  socket") << "of another machine";
  }
  EXPECT_EQ(outcome_of(says("socket root"), one, limit), "429 http.tooManyRequests");
}

}  // namespace
}  // namespace railweave::api
