// Who a caller is by its connection, where it shows no token.
#include <string>

#include <gtest/gtest.h>

#include "services/rest/access/authentication.h"

namespace railweave::api {
namespace {

constexpr std::int64_t kMoment_us = 1'000;

std::string outcome(const Peer& peer, const KnownCallers& known, RateLimit& limit) {
  const auto caller = authenticate({}, peer, {}, known, kMoment_us, limit);
  if (!caller) return caller.error().code;
  return (*caller)->name + " " + std::string(to_text((*caller)->role)) + " " + (*caller)->tenant;
}

std::string outcome(const Peer& peer, const KnownCallers& known) {
  RateLimit none(0, 0);
  return outcome(peer, known, none);
}

Peer at_socket(std::uint32_t uid) {
  Peer peer;
  peer.uid = uid;
  peer.address = "uid " + std::to_string(uid);
  return peer;
}

Peer with_certificate(std::vector<std::string> names, std::int64_t expires_us = 2'000) {
  Peer peer;
  peer.address = "192.0.2.1";
  peer.names = std::move(names);
  peer.certificate_expires_us = expires_us;
  return peer;
}

KnownCallers accounts() {
  KnownCallers known;
  known.own_uid = 990;
  known.certificates = {{"agent", control::Role::fabric_operator, ""}, {"team", control::Role::member, "t"}};
  return known;
}

TEST(Connections, RootAndTheServicesOwnUserAreAdministratorsAtTheSocket) {
  EXPECT_EQ(outcome(at_socket(0), accounts()), "root administrator ");
  EXPECT_EQ(outcome(at_socket(990), accounts()), "uid-990 administrator ");
  for (const std::uint32_t uid : {1U, 989U, 991U, 65534U, UINT32_MAX}) {
    EXPECT_EQ(outcome(at_socket(uid), accounts()), "auth.missing") << uid;
  }
  EXPECT_EQ(outcome(Peer{}, accounts()), "auth.missing") << "no socket is not user 0";
}

TEST(Connections, CertificatesAreAccountsByTheirWholeName) {
  EXPECT_EQ(outcome(with_certificate({"agent"}), accounts()), "agent operator ");
  EXPECT_EQ(outcome(with_certificate({"other", "team"}), accounts()), "team member t");
  for (const auto* name : {"agen", "agent2", "Agent", "agent.", "*"}) {
    EXPECT_EQ(outcome(with_certificate({name}), accounts()), "auth.unknownCertificate") << name;
  }
  EXPECT_EQ(outcome(with_certificate({"agent"}), {}), "auth.unknownCertificate");
  EXPECT_EQ(outcome(with_certificate({"agent"}, kMoment_us), accounts()), "auth.expired");
}

TEST(Connections, EachKindOfCallerHasItsOwnLimit) {
  RateLimit limit(1, 2);
  for (const Peer& peer : {at_socket(0), at_socket(990), with_certificate({"agent"}), with_certificate({"team"})}) {
    const std::string in = outcome(peer, accounts(), limit);
    EXPECT_EQ(in.find("http."), std::string::npos) << in;
    EXPECT_EQ(outcome(peer, accounts(), limit), in);
    EXPECT_EQ(outcome(peer, accounts(), limit), "http.tooManyRequests");
  }
}

TEST(Connections, ATokenGoesBeforeTheConnection) {
  Headers headers;
  headers.add("Authorization", "Bearer rw_wrong");
  RateLimit none(0, 0);
  for (const Peer& peer : {at_socket(0), with_certificate({"agent"})}) {
    const auto caller = authenticate(headers, peer, {}, accounts(), kMoment_us, none);
    ASSERT_FALSE(caller);
    EXPECT_EQ(caller.error().code, "auth.invalid");
  }
}

}  // namespace
}  // namespace railweave::api
