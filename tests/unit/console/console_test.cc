// The console's files over the real server: what is served, with which headers, and what is refused.
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/client/client.h"
#include "api/http/server.h"
#include "services/rest/console/console_routes.h"
#include "tests/support/temporary_folder.h"

namespace railweave::api {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kIndex = "<!doctype html><title>Railweave</title>";

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

class Console : public testing::Test {
 protected:
  Console() : server_(ServerOptions{}) {
    write(dist() / "index.html", kIndex);
    write(dist() / "icon.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>");
    write(dist() / "assets" / "index-3f2a.js", "export const a = 1;\n" + std::string(9000, ' '));
    write(dist() / "assets" / "index-77.css", "body{}");
    write(dist() / "data.bin", std::string("\0\1", 2));
    write(dist() / ".git" / "config", "secret");
    write(folder_.path() / "outside.txt", "secret");
    std::filesystem::create_symlink(folder_.path() / "outside.txt", dist() / "link.txt");
    std::filesystem::create_directory_symlink(folder_.path(), dist() / "assets" / "up");
  }

  [[nodiscard]] std::filesystem::path dist() const { return folder_.path() / "dist"; }

  ClientResponse get(const std::string& target, Headers headers = {}) {
    if (!started_) {
      add_console_routes(server_.router(), ConsoleFiles::read(dist()), provider_);
      started_ = server_.start().has_value();
    }
    Client client(Url{"127.0.0.1", server_.port()});
    ClientRequest request;
    request.target = target;
    request.headers = std::move(headers);
    const auto answer = client.request(request);
    EXPECT_TRUE(answer) << (answer ? "" : answer.error().text());
    return answer ? *answer : ClientResponse{};
  }

  TemporaryFolder folder_;
  Server server_;
  std::string provider_;
  bool started_ = false;
};

TEST_F(Console, ServesFilesWithTheirTypes) {
  const std::vector<std::pair<std::string, std::string>> types = {
      {"/console", "text/html; charset=utf-8"},
      {"/console/index.html", "text/html; charset=utf-8"},
      {"/console/assets/index-3f2a.js", "text/javascript; charset=utf-8"},
      {"/console/assets/index-77.css", "text/css; charset=utf-8"},
      {"/console/icon.svg", "image/svg+xml"},
      {"/console/data.bin", "application/octet-stream"}};
  for (const auto& [target, type] : types) {
    const auto answer = get(target);
    EXPECT_EQ(answer.status, 200) << target;
    EXPECT_EQ(answer.headers.value("Content-Type"), type) << target;
  }
  EXPECT_EQ(get("/console").body, kIndex);
}

TEST_F(Console, AnswersViewsWithTheIndex) {
  for (const char* view : {"/console/fabric", "/console/jobs/job-000001?tab=ranks",
                           "/console/links/0c42a10300280050%2F1--0c42a10300280060%2F3", "/console/nodes/a.b.c",
                           "/console/", "/console/jobs/"}) {
    const auto answer = get(view);
    EXPECT_EQ(answer.status, 200) << view;
    EXPECT_EQ(answer.body, kIndex) << view;
    EXPECT_EQ(answer.headers.value("Cache-Control"), "no-cache") << view;
  }
}

TEST_F(Console, LeadsFromTheRootToTheConsole) {
  const auto answer = get("/");
  EXPECT_EQ(answer.status, 307);
  EXPECT_EQ(answer.headers.value("Location"), "/console");
}

TEST_F(Console, ProtectsEveryPage) {
  for (const char* target : {"/console", "/console/assets/index-3f2a.js", "/console/fabric"}) {
    const auto answer = get(target);
    const auto policy = answer.headers.value("Content-Security-Policy");
    EXPECT_THAT(policy, HasSubstr("default-src 'none'")) << target;
    EXPECT_THAT(policy, HasSubstr("script-src 'self';")) << target;
    EXPECT_THAT(policy, HasSubstr("frame-ancestors 'none'")) << target;
    EXPECT_THAT(policy, Not(HasSubstr("unsafe"))) << target;
    EXPECT_EQ(answer.headers.value("X-Content-Type-Options"), "nosniff") << target;
  }
}

TEST_F(Console, MayConnectToItsServerAlone) {
  EXPECT_THAT(get("/console").headers.value("Content-Security-Policy"), HasSubstr("connect-src 'self';"));
}

TEST_F(Console, MayConnectToWhereItsUsersSignIn) {
  provider_ = "https://sign-in.example:8443";
  for (const char* target : {"/console", "/console/assets/index-3f2a.js", "/console/fabric"}) {
    EXPECT_THAT(get(target).headers.value("Content-Security-Policy"),
                HasSubstr("connect-src 'self' https://sign-in.example:8443;"))
        << target;
  }
}

TEST_F(Console, HashedFilesAreKeptAndOthersAreChecked) {
  const auto script = get("/console/assets/index-3f2a.js");
  EXPECT_EQ(script.headers.value("Cache-Control"), "public, max-age=31536000, immutable");
  const auto page = get("/console");
  EXPECT_EQ(page.headers.value("Cache-Control"), "no-cache");
  Headers condition;
  condition.set("If-None-Match", std::string(page.headers.value("ETag")));
  const auto again = get("/console", condition);
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
  EXPECT_NE(std::string(page.headers.value("ETag")), std::string(script.headers.value("ETag")));
}

TEST_F(Console, NothingOutsideItsFolderIsServed) {
  for (const char* target :
       {"/console/../outside.txt", "/console/assets/../../outside.txt", "/console/%2e%2e/outside.txt",
        "/console/..%2foutside.txt", "/console/assets%2f..%2f..%2foutside.txt", "/console/..%5coutside.txt"}) {
    const auto answer = get(target);
    EXPECT_EQ(answer.status, 400) << target;
    EXPECT_THAT(answer.body, Not(HasSubstr("secret"))) << target;
  }
  for (const char* target : {"/console/link.txt", "/console/assets/up/outside.txt", "/console/.git/config",
                             "/console/%2Fetc%2Fpasswd", "/console//etc/passwd"}) {
    EXPECT_THAT(get(target).body, Not(HasSubstr("secret"))) << target;
    EXPECT_THAT(get(target).body, Not(HasSubstr("root:"))) << target;
  }
  EXPECT_EQ(get("/console/assets/index-0000.js").status, 404);
  EXPECT_THAT(get("/console/assets/index-0000.js").body, HasSubstr("console.noSuchFile"));
}

TEST_F(Console, SaysSoWhereItIsNotInstalled) {
  std::filesystem::remove(dist() / "index.html");
  for (const char* target : {"/console", "/console/fabric", "/console/assets/index-3f2a.js"}) {
    const auto answer = get(target);
    EXPECT_EQ(answer.status, 404) << target;
    EXPECT_THAT(answer.body, HasSubstr("console.notBuilt"));
    EXPECT_THAT(answer.body, HasSubstr("--console"));
    EXPECT_THAT(answer.body, Not(HasSubstr(folder_.path().string()))) << "paths of this machine stay in its log";
  }
  EXPECT_EQ(get("/").status, 404);
}

TEST(ConsoleFiles, RefusesFoldersThatAreNoConsole) {
  const TemporaryFolder folder;
  EXPECT_EQ(ConsoleFiles::read(folder.path() / "missing").error().code, "console.noFolder");
  EXPECT_EQ(ConsoleFiles::read(folder.path()).error().code, "console.notBuilt");
  write(folder.path() / "index.html", kIndex);
  ASSERT_TRUE(ConsoleFiles::read(folder.path()));
  for (std::size_t i = 0; i < ConsoleFiles::kMaxFiles; ++i) write(folder.path() / std::to_string(i), "");
  EXPECT_EQ(ConsoleFiles::read(folder.path()).error().code, "console.tooLarge");
}

}  // namespace
}  // namespace railweave::api
