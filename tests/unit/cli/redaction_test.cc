#include "services/railweave/support/redaction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/railweave/support/tar_archive.h"

namespace railweave::cli {
namespace {

struct Case {
  const char* text;
  const char* left;
};

class Redaction : public testing::TestWithParam<Case> {};

TEST_P(Redaction, TakesOutWhatGivesAccess) { EXPECT_EQ(redacted(GetParam().text), GetParam().left); }

INSTANTIATE_TEST_SUITE_P(
    Texts, Redaction,
    testing::Values(
        Case{"RAILWEAVE_TOKEN=rw_abc_def", "RAILWEAVE_TOKEN=***"}, Case{"PASSWORD=ab,cd;ef g", "PASSWORD=*** g"},
        Case{"saw rw_k1b2c3d4e5f6_Zq7Zq7 twice", "saw rw_k1b2c3d4e5f6_*** twice"}, Case{"rw_ and rw_x", "rw_ and rw_x"},
        Case{"store = \"postgresql://rw:pa/s:s@w@db:5432/x?sslmode=require\"",
             "store = \"postgresql://rw:***@db:5432/x***\""},
        Case{"store = \"var/railweave.db\"", "store = \"var/railweave.db\""},
        Case{"admin_token_file = \"/etc/t\"", "admin_token_file = \"/etc/t\""},
        Case{"client_secret = 'x\\'\nlisten_port = 1", "client_secret = '***'\nlisten_port = 1"},
        Case{"secret = \"a\\\"b\" # c", "secret = \"***\" # c"},
        Case{"tokens = [\"a\",\n \"b\"]\nx = 1", "tokens = ***\nx = 1"},
        Case{"password: several words, and more\nnext: 1", "password: ***\nnext: 1"},
        Case{"{\"secret\": \"s\", \"name\": \"pager\", \"token\": 17, \"x\": 1}",
             "{\"secret\": \"***\", \"name\": \"pager\", \"token\": ***, \"x\": 1}"},
        Case{"{\"secret\":null}", "{\"secret\":null}"},
        Case{"{\"url\": \"https://hooks.example/T0/SECRET?k=v\"}", "{\"url\": \"https://hooks.example/***\"}"},
        Case{"at http://127.0.0.1:7470 now", "at http://127.0.0.1:7470 now"},
        Case{"Authorization: Bearer abc.def", "Authorization: ***"},
        Case{"curl -H 'X: Bearer abc.def'", "curl -H 'X: Bearer ***'"},
        Case{"with eyJhbGciOiJFUzI1NiJ9.eyJzdWIi.sig-na_ture.", "with ***"},
        Case{"-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----\nafter",
             "***-----END PRIVATE KEY-----\nafter"},
        Case{"-----BEGIN CERTIFICATE-----\nMC4C\n-----END CERTIFICATE-----",
             "-----BEGIN CERTIFICATE-----\nMC4C\n-----END CERTIFICATE-----"},
        Case{"secret = \"never ends", "secret = \"***"}, Case{"secret = [", "secret = ***"}, Case{"token", "token"},
        Case{"token =", "token ="}));

TEST(TarArchive, IsWhatTarReads) {
  TarArchive archive(1'700'000'000);
  archive.add("a/b.txt", "hello");
  const std::string bytes = archive.take();
  EXPECT_EQ(bytes.size() % 512, 0U);
  EXPECT_EQ(bytes.substr(0, 7), "a/b.txt");
  EXPECT_EQ(bytes.substr(124, 11), "00000000005");
  EXPECT_EQ(bytes.substr(136, 11), "14524770400");
  EXPECT_EQ(bytes.substr(257, 5), "ustar");
  EXPECT_EQ(bytes.substr(512, 5), "hello");
}

}  // namespace
}  // namespace railweave::cli
