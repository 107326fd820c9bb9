// Which issuers a page may be sent to, and what of them its Content-Security-Policy says.
#include "services/rest/access/sign_in.h"

#include <gtest/gtest.h>

namespace railweave::api {
namespace {

TEST(SignIn, TheOriginOfAnIssuer) {
  EXPECT_EQ(origin_of_issuer("https://sign-in.example/realms/cluster"), "https://sign-in.example");
  EXPECT_EQ(origin_of_issuer("https://sign-in.example:8443"), "https://sign-in.example:8443");
  EXPECT_EQ(origin_of_issuer("https://[2001:db8::1]:443/x?y#z"), "https://[2001:db8::1]:443");
  for (const char* loopback :
       {"http://127.0.0.1:9000", "http://localhost", "http://localhost:1", "http://[::1]:9000"}) {
    EXPECT_EQ(origin_of_issuer(std::string(loopback) + "/realm"), loopback);
  }
}

TEST(SignIn, NoOtherUrl) {
  for (const char* issuer :
       {"", "https://", "http://sign-in.example", "http://127.0.0.1.example", "http://localhost.example:1", "ftp://a.b",
        "sign-in.example", "https://a.example; script-src *", "https://a.example *", "https://user@a.example",
        "https://a.example,b", "https://*.example", "http://127.0.0.1:1@evil.example", "http://[::1].evil.example"}) {
    EXPECT_EQ(origin_of_issuer(issuer), "") << issuer;
  }
}

}  // namespace
}  // namespace railweave::api
