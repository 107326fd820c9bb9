// railweave switches follow, against a service with canned answers and programs of the test's own.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/railweave/switch_config/changed_routes.h"
#include "services/railweave/terminal/json.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/cli/stub_service.h"

namespace railweave::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string script(const std::string& lines) { return "#!/bin/sh\nset -e\n" + lines; }

TEST(ChangedRoutes, AreThoseOfOtherCommands) {
  const std::string first = "ip route replace 10.0.0.1/32 dev swp1\n",
                    second = "ip route replace unreachable 10.0.0.2/32\n",
                    moved = "ip route replace 10.0.0.2/32 via 10.9.0.1 dev swp5 onlink\n";
  const auto all = changed_route_commands("", script(first + second));
  EXPECT_EQ(all.routes, 2U);
  EXPECT_EQ(all.text, script(first + second));
  EXPECT_EQ(all.rest, "");
  const auto one = changed_route_commands(script(first + second), script(first + moved));
  EXPECT_EQ(one.routes, 1U);
  EXPECT_EQ(one.text, script(moved));
  EXPECT_EQ(one.rest, script(first));
  const auto none = changed_route_commands(script(first + second), script(second));
  EXPECT_EQ(none.routes, 0U);
  EXPECT_EQ(none.text, "");
}

TEST(ChangedRoutes, AreRowsOfSonic) {
  const std::string before =
      R"({"STATIC_ROUTE":{"default|10.0.0.1/32":{"ifname":"Ethernet0"},"default|10.0.0.2/32":{"ifname":"Ethernet8"}}})";
  const std::string after =
      R"({"STATIC_ROUTE":{"default|10.0.0.1/32":{"ifname":"Ethernet0"},"default|10.0.0.2/32":{"ifname":"Ethernet16"}}})";
  const auto changed = changed_sonic_routes(before, after);
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->routes, 1U);
  EXPECT_EQ(Json::parse(changed->text),
            Json::parse(R"({"STATIC_ROUTE":{"default|10.0.0.2/32":{"ifname":"Ethernet16"}}})"));
  EXPECT_EQ(Json::parse(changed->rest),
            Json::parse(R"({"STATIC_ROUTE":{"default|10.0.0.1/32":{"ifname":"Ethernet0"}}})"));
  EXPECT_EQ(changed_sonic_routes(after, after)->text, "");
  EXPECT_EQ(changed_sonic_routes("", after)->routes, 2U);
  EXPECT_FALSE(changed_sonic_routes("no JSON", after));
}

class SwitchFollow : public ::testing::Test {
 protected:
  SwitchFollow() {
    const auto answer = [this](const api::Request&) {
      return api::Response::json(
          R"({"subnet":"roce","applied":true,"keptBecause":null,"jobs":2,"hops":[{"switch":"leaf-1",)"
          R"("to":"b/1","port":5}],"changedEntries":1,"askedPermille":500,"askedPermilleBefore":1000,)"
          R"("askedPermilleEven":1000,"tables":[{"switch":"leaf-1","digest":")" +
          std::to_string(port_.load()) + R"("},{"switch":"leaf-2","digest":")" + std::to_string(port_.load()) +
          R"("}],"version":)" + std::to_string(version_.load()) + R"(,"seq":9})");
    };
    service_.on(api::Method::post, "/v1/subnets/{id}/job-routes", answer);
    service_.on(api::Method::get, "/v1/subnets/{id}/job-routes", answer);
    service_.on(api::Method::get, "/v1/switches/{id}/forwarding-table", [this](const api::Request&) {
      const std::string port = std::to_string(port_.load());
      return api::Response::json(
          R"({"items":[{"lid":1,"destination":{"kind":"host","node":"n1","device":"n1/eth0","port":"a/1"},"wantedPort":1,)"
          R"("wantedTo":"n1/eth0","appliedPort":null,"differs":null},)"
          R"({"lid":2,"destination":{"kind":"host","node":"n4","device":"n4/eth0","port":"b/1"},"wantedPort":)" +
          port + R"(,"wantedTo":"spine-1","appliedPort":null,"differs":null}],"nextCursor":null,"seq":9})");
    });
    write_names();
    write_program("cat > \"" + file("got-") + "$1\"\n");
  }
  [[nodiscard]] std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  void write_names() {
    std::ofstream(file("names.yaml")) << "addresses: {n1/eth0: 10.0.0.1, n4/eth0: 10.0.0.4, spine-1: 10.9.0.1}\n"
                                         "switches: {leaf-2: {interfaces: {'1': eth1}}}\n";
  }
  void write_program(const std::string& text) {
    std::ofstream(file("give")) << "#!/bin/sh\n" << text;
    std::filesystem::permissions(file("give"), std::filesystem::perms::owner_all);
  }
  std::string take(const std::string& name) {
    std::ifstream in(file("got-" + name));
    std::string text{std::istreambuf_iterator<char>(in), {}};
    std::filesystem::remove(file("got-" + name));
    return text;
  }
  Finished follow(std::vector<std::string> more) {
    std::vector<std::string> words{"switches",         "follow",  "roce",       "--names",
                                   file("names.yaml"), "--state", file("state")};
    words.insert(words.end(), more.begin(), more.end());
    return service_.run(std::move(words));
  }
  Finished once() { return follow({"--apply", file("give"), "--once"}); }

  StubService service_;
  const TemporaryFolder folder_;
  std::atomic<int> version_ = 7, port_ = 5;
};

const char* const kFirst = "ip route replace 10.0.0.1/32 dev swp1\n";
const char* const kVia5 = "ip route replace 10.0.0.4/32 via 10.9.0.1 dev swp5 onlink\n";
const char* const kVia6 = "ip route replace 10.0.0.4/32 via 10.9.0.1 dev swp6 onlink\n";

TEST_F(SwitchFollow, GivesWhatChangesAndNothingTwice) {
  const Finished dry = follow({"--dry-run"});
  ASSERT_EQ(dry.exit_code, 0) << dry.err;
  EXPECT_THAT(
      dry.out,
      AllOf(HasSubstr("routes of roce would follow 2 jobs: 1 next hops chosen, which ask the fullest link for 50%"),
            HasSubstr("# leaf-1: 2 routes\n" + script(std::string(kFirst) + kVia5))));
  EXPECT_FALSE(std::filesystem::exists(file("state")));
  const Finished document = follow({"--dry-run", "-o", "json"});
  const std::string last = document.out.substr(document.out.rfind('\n', document.out.size() - 2) + 1);
  EXPECT_EQ(Json::parse(last)["switch"], "leaf-2") << document.out;
  EXPECT_EQ(Json::parse(last)["routes"], 2);
  for (const auto& asked : service_.asked()) EXPECT_EQ(asked.method, "GET");

  const Finished first = once();
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.out, AllOf(HasSubstr("leaf-1: 2 routes\n"), HasSubstr("leaf-2: 2 routes\n")));
  EXPECT_EQ(take("leaf-1"), script(std::string(kFirst) + kVia5));
  EXPECT_THAT(take("leaf-2"), HasSubstr("10.0.0.1/32 dev eth1\n")) << "named for that switch";
  const Finished again = once();
  ASSERT_EQ(again.exit_code, 0);
  EXPECT_THAT(again.out, Not(HasSubstr("leaf-1")));
  EXPECT_EQ(take("leaf-1"), "");
  const auto tables_read = [&] {
    return std::ranges::count_if(service_.asked(),
                                 [](const auto& one) { return one.target.contains("forwarding-table"); });
  };
  EXPECT_EQ(tables_read(), 6) << "of the dry runs and the first: a table that was given is not read again";
  std::filesystem::remove(file("state/switch-leaf-1"));
  ASSERT_EQ(once().exit_code, 0);
  EXPECT_EQ(take("leaf-1"), script(std::string(kFirst) + kVia5)) << "forgotten, so given again";
  EXPECT_EQ(tables_read(), 7);
  std::ofstream(file("names.yaml"), std::ios::app) << "gateways: {'5': 10.9.9.9}\n";
  ASSERT_EQ(once().exit_code, 0);
  EXPECT_THAT(take("leaf-1"), HasSubstr("via 10.9.9.9")) << "other names make other routes";
  EXPECT_EQ(tables_read(), 9);
  port_ = 6;
  write_names();
  ASSERT_EQ(once().exit_code, 0);
  EXPECT_EQ(take("leaf-1"), script(kVia6));
}

// Part of it may have been done, so all of it is owed, also where the routes before are wanted again.
TEST_F(SwitchFollow, GivesAgainWhatFailed) {
  ASSERT_EQ(once().exit_code, 0);
  take("leaf-1");
  take("leaf-2");
  write_program("[ $1 = leaf-2 ] && cat > \"" + file("got-") + "$1\"\n");
  port_ = 6;
  const Finished failed = once();
  EXPECT_EQ(failed.exit_code, 10);
  EXPECT_THAT(failed.err, HasSubstr("give leaf-1 failed with exit code 1; leaf-1 keeps its routes"));
  EXPECT_EQ(take("leaf-2"), script(kVia6)) << "others go on";
  write_program("cat > \"" + file("got-") + "$1\"\n");
  port_ = 5;
  ASSERT_EQ(once().exit_code, 0);
  EXPECT_EQ(take("leaf-1"), script(kVia5));
}

TEST_F(SwitchFollow, EndsAProgramThatHangsWithAllItStarted) {
  write_program("sleep 60 & wait\n");
  const Finished late = follow({"--apply", file("give"), "--once", "--apply-timeout", "1"});
  EXPECT_EQ(late.exit_code, 10);
  EXPECT_THAT(late.err, HasSubstr("give did not end within 1 s; leaf-1 keeps its routes"));
  const Finished absent = follow({"--apply", file("nothing"), "--once"});
  EXPECT_THAT(absent.err, HasSubstr("nothing cannot be started: No such file or directory"));
}

TEST_F(SwitchFollow, RefusesWhatCannotBe) {
  EXPECT_THAT(follow({"--once"}).err, HasSubstr("--apply is missing"));
  EXPECT_THAT(service_.run({"switches", "follow", "roce", "--dry-run"}).err, HasSubstr("--state is missing"));
  ASSERT_EQ(once().exit_code, 0);
  const Finished other = service_.run({"switches", "follow", "storage", "--names", file("names.yaml"), "--state",
                                       file("state"), "--apply", file("give"), "--once"});
  EXPECT_EQ(other.exit_code, 5);
  EXPECT_THAT(other.err, HasSubstr("holds routes of subnet roce, and not routes of subnet storage"));
}

}  // namespace
}  // namespace railweave::cli
