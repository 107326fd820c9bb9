// The small parsers and writers of messages, against other implementations where there are any.

#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/http/dispatch/request_checks.h"
#include "api/http/message/etag.h"
#include "api/http/message/gzip.h"
#include "api/http/message/headers.h"
#include "api/http/message/problem.h"
#include "api/http/message/prometheus_text.h"
#include "api/http/message/response_head.h"
#include "api/http/message/target.h"

namespace railweave::api {
namespace {

TEST(Target, TellsPathAndQueryApart) {
  const Result<Target> target = parse_target("/v1/ports/0c42%2F1?limit=10&fields=a%26b&x=1&x=2&flag&=empty&a=b=c");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, "/v1/ports/0c42%2F1");
  EXPECT_THAT(target->segments, testing::ElementsAre("v1", "ports", "0c42/1"));
  EXPECT_EQ(*target->query.find("limit"), "10");
  EXPECT_EQ(*target->query.find("fields"), "a&b");
  EXPECT_THAT(target->query.all("x"), testing::ElementsAre("1", "2"));
  EXPECT_EQ(*target->query.find("flag"), "");
  EXPECT_EQ(*target->query.find("a"), "b=c");
  EXPECT_EQ(target->query.find("missing"), nullptr);
  EXPECT_EQ(parse_target("http://localhost?x=1")->path, "/");
  EXPECT_EQ(*parse_target("http://localhost:80?x=1")->query.find("x"), "1");
  EXPECT_TRUE(parse_target("*")->asterisk);
  std::string many = "/";
  for (int i = 0; i < 40; ++i) many += "a/";
  EXPECT_FALSE(parse_target(many));
  std::string crowded = "/?";
  for (int i = 0; i < 200; ++i) crowded += "a&";
  EXPECT_FALSE(parse_target(crowded));
}

TEST(HeaderList, SeparatesAtCommasOutsideQuotes) {
  Headers headers;
  headers.add("If-None-Match", " \"a,b\" ,, W/\"c\"");
  headers.add("x", "y");
  headers.add("if-none-match", "\"d\"");
  EXPECT_THAT(headers.list("IF-NONE-MATCH"), testing::ElementsAre("\"a,b\"", "W/\"c\"", "\"d\""));
  EXPECT_EQ(headers.count("if-none-match"), 2U);
  headers.set("If-None-Match", "z");
  EXPECT_EQ(headers.count("if-none-match"), 1U);
}

TEST(IfMatch, ComparesStrongly) {
  const auto outcome = [](const std::string& tags, std::string_view etag) {
    Headers headers;
    headers.add("If-Match", tags);
    return if_match(headers, etag);
  };
  EXPECT_EQ(if_match(Headers(), "\"v1\""), Precondition::absent);
  EXPECT_EQ(outcome("\"v1\"", "\"v1\""), Precondition::holds);
  EXPECT_EQ(outcome("\"v0\", \"v1\"", "\"v1\""), Precondition::holds);
  EXPECT_EQ(outcome("\"v1-gzip\"", "\"v1\""), Precondition::holds);  // as we compressed it
  EXPECT_EQ(outcome("*", "\"v1\""), Precondition::holds);
  EXPECT_EQ(outcome("*", ""), Precondition::fails);
  EXPECT_EQ(outcome("\"v0\"", "\"v1\""), Precondition::fails);
  EXPECT_EQ(outcome("W/\"v1\"", "\"v1\""), Precondition::fails);
  EXPECT_EQ(outcome("\"v1\"", "W/\"v1\""), Precondition::fails);
  EXPECT_EQ(outcome("", "\"v1\""), Precondition::fails);
  EXPECT_EQ(outcome("v1", "v1"), Precondition::fails);
}

TEST(Gzip, ComesBackInWhateverPiecesItIsRead) {
  std::mt19937 random(9);
  for (const std::size_t size : {0U, 1U, 100U, 70'000U}) {
    std::string bytes(size, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % 7);
    const std::string compressed = gzip(bytes, 1);
    for (const std::size_t piece : {1U, 3U, 1000U, 1'000'000U}) {
      Gunzip gunzip(size);
      std::string out;
      for (std::size_t at = 0; at < compressed.size(); at += piece) {
        ASSERT_EQ(gunzip.feed(std::string_view(compressed).substr(at, piece), out), Gunzip::Outcome::ok);
      }
      EXPECT_TRUE(gunzip.complete());
      EXPECT_EQ(out, bytes);
    }
    if (size > 0) {
      Gunzip tight(size - 1);
      std::string out;
      EXPECT_EQ(tight.feed(compressed, out), Gunzip::Outcome::too_large);
    }
  }
}

TEST(Gzip, IsForTextOnly) {
  for (const char* type :
       {"application/json", "Application/JSON; charset=utf-8", "application/problem+json", "text/html"}) {
    EXPECT_TRUE(is_compressible(type)) << type;
  }
  for (const char* type : {"", "image/png", "application/zip", "text/event-stream"})
    EXPECT_FALSE(is_compressible(type)) << type;
}

TEST(Problem, IsProblemDetailsAsRfc9457HasThem) {
  const Response response =
      to_response(Error{ErrorKind::impossible, "jobs.neverFits", "needs 64 GPUs, \"has\" 8", "/gpus", "use fewer"});
  EXPECT_EQ(response.status, 422);
  EXPECT_EQ(response.content_type, "application/problem+json");
  EXPECT_EQ(nlohmann::json::parse(response.body),
            nlohmann::json::parse(R"({"type": "about:blank", "title": "Unprocessable Content",
      "status": 422, "code": "jobs.neverFits", "detail": "needs 64 GPUs, \"has\" 8", "hint": "use fewer",
      "errors": [{"pointer": "/gpus", "detail": "needs 64 GPUs, \"has\" 8"}]})"));
  const Problem elsewhere = to_problem(Error{ErrorKind::malformed, "ib.syntax", "unexpected end", "line 12", ""});
  EXPECT_EQ(elsewhere.detail, "line 12: unexpected end");
  EXPECT_TRUE(elsewhere.errors.empty());
  Problem extended;
  extended.members.emplace_back("explanation", R"({"needed":64})");
  EXPECT_EQ(nlohmann::json::parse(to_response(extended).body)["explanation"]["needed"], 64);
}

TEST(Problem, HasAStatusForEveryKind) {
  const auto status = [](ErrorKind kind) { return to_response(Error{kind, "", "", "", ""}).status; };
  EXPECT_EQ(status(ErrorKind::malformed), 400);
  EXPECT_EQ(status(ErrorKind::invalid), 400);
  EXPECT_EQ(status(ErrorKind::impossible), 422);
  EXPECT_EQ(status(ErrorKind::notFound), 404);
  EXPECT_EQ(status(ErrorKind::conflict), 409);
  EXPECT_EQ(status(ErrorKind::precondition), 412);
  EXPECT_EQ(status(ErrorKind::tooLarge), 413);
  EXPECT_EQ(status(ErrorKind::busy), 429);
  EXPECT_EQ(status(ErrorKind::unavailable), 503);
  EXPECT_EQ(status(ErrorKind::internal), 500);
  for (const ErrorKind kind : {ErrorKind::busy, ErrorKind::unavailable}) {
    EXPECT_TRUE(to_response(Error{kind, "", "", "", ""}).headers.contains("Retry-After"));
  }
}

TEST(PrometheusText, IsWrittenAsTheFormatWants) {
  PrometheusText text;
  text.family("railweave_jobs", PrometheusText::Type::gauge, "Jobs\nby \\state.");
  text.sample({{"tenant", "a\"b\\c\nd"}, {"state", "running"}}, std::uint64_t{3});
  text.sample({}, 0.25);
  text.single("railweave_big_total", PrometheusText::Type::counter, "Big.", std::uint64_t{18'446'744'073'709'551'615U});
  text.family("railweave_wait_seconds", PrometheusText::Type::histogram, "Waiting.");
  const std::array<double, 2> bounds = {0.1, 1};
  const std::array<std::uint64_t, 3> counts = {1, 2, 4};
  text.histogram({{"queue", "q"}}, bounds, counts, 12.5);
  EXPECT_EQ(text.take(),
            "# HELP railweave_jobs Jobs\\nby \\\\state.\n"
            "# TYPE railweave_jobs gauge\n"
            "railweave_jobs{tenant=\"a\\\"b\\\\c\\nd\",state=\"running\"} 3\n"
            "railweave_jobs 0.25\n"
            "# HELP railweave_big_total Big.\n"
            "# TYPE railweave_big_total counter\n"
            "railweave_big_total 18446744073709551615\n"
            "# HELP railweave_wait_seconds Waiting.\n"
            "# TYPE railweave_wait_seconds histogram\n"
            "railweave_wait_seconds_bucket{queue=\"q\",le=\"0.1\"} 1\n"
            "railweave_wait_seconds_bucket{queue=\"q\",le=\"1\"} 3\n"
            "railweave_wait_seconds_bucket{queue=\"q\",le=\"+Inf\"} 7\n"
            "railweave_wait_seconds_sum{queue=\"q\"} 12.5\n"
            "railweave_wait_seconds_count{queue=\"q\"} 7\n");
}

TEST(OwnHost, IsLoopbackOrNamed) {
  const std::vector<std::string> allowed = {"fabric.internal"};
  for (const char* own :
       {"localhost", "LOCALHOST:80", "127.0.0.1", "127.255.0.9:1", "[::1]", "[::1]:7470", "fabric.internal:1"}) {
    EXPECT_TRUE(is_own_host(own, allowed)) << own;
  }
  for (const char* other :
       {"", "localhost.example", "127.0.0.1.example", "127.0.0", "127.0.0.1.1", "127.0.0.256", "128.0.0.1", "::1",
        "[::1", "[::2]", "localhost:port", "localhost:1:2", "xfabric.internal", "user@localhost"}) {
    EXPECT_FALSE(is_own_host(other, allowed)) << other;
  }
}

TEST(HttpDate, IsInTheFixedFormat) {
  EXPECT_EQ(http_date(784'111'777), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(http_date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
}

}  // namespace
}  // namespace railweave::api
