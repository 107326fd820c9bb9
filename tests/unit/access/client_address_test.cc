#include "services/rest/access/client_address.h"

#include <gtest/gtest.h>

namespace railweave::api {
namespace {

TrustedSenders trusted() { return {{*Network::parse("10.0.0.0/8"), *Network::parse("2001:db8::/32")}, {"replica-a"}}; }

std::string seen(const std::string& address, const std::vector<std::pair<std::string, std::string>>& said,
                 const std::vector<std::string>& names = {}) {
  Peer peer;
  peer.address = address;
  peer.names = names;
  Headers headers;
  for (const auto& [name, value] : said) headers.add(name, value);
  return client_address(trusted(), peer, headers);
}

TEST(ClientAddress, IsWhatATrustedProxySays) {
  EXPECT_EQ(seen("10.1.2.3", {{"X-Forwarded-For", "192.0.2.7"}}), "192.0.2.7");
  EXPECT_EQ(seen("2001:db8::1", {{"X-Forwarded-For", "192.0.2.7:4711"}}), "192.0.2.7");
  EXPECT_EQ(seen("10.1.2.3", {{"Forwarded", "proto=https;For=\"[2001:dbf::7]:4711\""}}), "2001:dbf::7");
  EXPECT_EQ(seen("10.1.2.3", {}), "10.1.2.3");
}

TEST(ClientAddress, IsTheNearestThatNoProxyHas) {
  // The client itself wrote the first.
  EXPECT_EQ(seen("10.1.2.3", {{"X-Forwarded-For", "203.0.113.9, 192.0.2.7, 10.9.9.9"}}), "192.0.2.7");
  EXPECT_EQ(seen("10.1.2.3", {{"X-Forwarded-For", "203.0.113.9"}, {"X-Forwarded-For", "192.0.2.7"}}), "192.0.2.7");
  EXPECT_EQ(seen("10.1.2.3", {{"X-Forwarded-For", "192.0.2.7, unknown"}}), "10.1.2.3");
  EXPECT_EQ(seen("10.1.2.3", {{"Forwarded", "for=192.0.2.7, for=_hidden"}}), "10.1.2.3");
}

TEST(ClientAddress, OthersAreNotBelieved) {
  EXPECT_EQ(seen("192.0.2.1", {{"X-Forwarded-For", "192.0.2.7"}}), "192.0.2.1");
  EXPECT_EQ(seen("11.0.0.1", {{"Forwarded", "for=192.0.2.7"}}), "11.0.0.1");
  EXPECT_EQ(seen("192.0.2.1", {{"X-Forwarded-For", "192.0.2.7"}}, {"someone"}), "192.0.2.1");
  EXPECT_EQ(seen("192.0.2.1", {{"X-Forwarded-For", "192.0.2.7"}}, {"replica-a"}), "192.0.2.7");
}

TEST(ClientAddress, NetworksAreWrittenAsCidr) {
  for (const char* bad : {"", "10.0.0.0/33", "10.0.0.0/", "10.0.0/8", "2001:db8::/129", "proxy.example"}) {
    EXPECT_FALSE(Network::parse(bad)) << bad;
  }
  EXPECT_TRUE(Network::parse("192.0.2.1")->contains("192.0.2.1"));
  EXPECT_FALSE(Network::parse("192.0.2.1")->contains("192.0.2.2"));
  EXPECT_TRUE(Network::parse("0.0.0.0/0")->contains("192.0.2.2"));
  EXPECT_FALSE(Network::parse("0.0.0.0/0")->contains("2001:db8::1"));
  EXPECT_TRUE(Network::parse("192.0.2.0/25")->contains("::ffff:192.0.2.1"));
}

}  // namespace
}  // namespace railweave::api
