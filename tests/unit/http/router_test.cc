#include "api/http/dispatch/router.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "api/http/message/target.h"

namespace railweave::api {
namespace {

void nothing(const Request&, const Responder&) {}

Router router_of(const std::vector<std::string>& patterns) {
  Router router;
  for (const std::string& pattern : patterns) router.get(pattern, nothing);
  return router;
}

// "pattern name=value name=value", or "none".
std::string route(const Router& router, const std::string& path) {
  const Result<Target> target = parse_target(path);
  if (!target) return "bad";
  const std::optional<Router::Match> match = router.match(target->segments);
  if (!match) return "none";
  std::string text = match->resource->pattern;
  for (const auto& [name, value] : match->params) text += " " + name + "=" + value;
  return text;
}

TEST(Router, MatchesLiteralsAndParameters) {
  const Router router =
      router_of({"/", "/v1/jobs", "/v1/jobs/{id}", "/v1/jobs/{id}/ranks", "/v1/jobs/{id}/ranks/{rank}"});
  EXPECT_EQ(route(router, "/"), "/");
  EXPECT_EQ(route(router, "/v1/jobs"), "/v1/jobs");
  EXPECT_EQ(route(router, "/v1/jobs/job-7"), "/v1/jobs/{id} id=job-7");
  EXPECT_EQ(route(router, "/v1/jobs/job-7/ranks"), "/v1/jobs/{id}/ranks id=job-7");
  EXPECT_EQ(route(router, "/v1/jobs/job-7/ranks/3"), "/v1/jobs/{id}/ranks/{rank} id=job-7 rank=3");
  EXPECT_EQ(route(router, "/v1/jobs/job-7/ranks/3/4"), "none");
  EXPECT_EQ(route(router, "/v1"), "none");
  EXPECT_EQ(route(router, "/V1/jobs"), "none");
}

TEST(Router, TakesNoEmptySegmentForAnything) {
  const Router router = router_of({"/v1/jobs", "/v1/jobs/{id}", "/v1/links/{id...}", "/v1/links/{id...}/drain"});
  EXPECT_EQ(route(router, "/v1/jobs/"), "none");
  EXPECT_EQ(route(router, "/v1//jobs"), "none");
  EXPECT_EQ(route(router, "//"), "none");
  EXPECT_EQ(route(router, "/v1/links/"), "none");
  EXPECT_EQ(route(router, "/v1/links//drain"), "none");
  EXPECT_EQ(route(router, "/v1/links/a//drain"), "none");
}

TEST(Router, TakesIdsWithSlashesEncodedOrNot) {
  const Router router = router_of({"/v1/links/{id...}", "/v1/links/{id...}/drain", "/v1/ports/{id...}/links/{other}"});
  EXPECT_EQ(route(router, "/v1/links/0c42%2F1--0c43%2F2/drain"), "/v1/links/{id...}/drain id=0c42/1--0c43/2");
  EXPECT_EQ(route(router, "/v1/links/0c42/1--0c43/2/drain"), "/v1/links/{id...}/drain id=0c42/1--0c43/2");
  EXPECT_EQ(route(router, "/v1/links/0c42/1--0c43/2"), "/v1/links/{id...} id=0c42/1--0c43/2");
  EXPECT_EQ(route(router, "/v1/links/drain"), "/v1/links/{id...} id=drain");
  EXPECT_EQ(route(router, "/v1/ports/a/1/links/b%2F2"), "/v1/ports/{id...}/links/{other} id=a/1 other=b/2");
}

TEST(Router, PrefersTheMoreSpecificPattern) {
  const std::vector<std::string> patterns = {"/a/{x...}", "/a/{x}",      "/a/b",    "/a/{x}/c",
                                             "/a/b/{y}",  "/a/{x...}/c", "/{x}/b/c"};
  std::vector<std::string> shuffled = patterns;
  std::mt19937 random(3);
  for (int i = 0; i < 20; ++i) {
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    const Router router = router_of(shuffled);
    EXPECT_EQ(route(router, "/a/b"), "/a/b");
    EXPECT_EQ(route(router, "/a/z"), "/a/{x} x=z");
    EXPECT_EQ(route(router, "/a/b/c"), "/a/b/{y} y=c");
    EXPECT_EQ(route(router, "/a/z/c"), "/a/{x}/c x=z");
    EXPECT_EQ(route(router, "/a/z/z/c"), "/a/{x...}/c x=z/z");
    EXPECT_EQ(route(router, "/a/z/z"), "/a/{x...} x=z/z");
    EXPECT_EQ(route(router, "/q/b/c"), "/{x}/b/c x=q");
  }
}

// Whatever matches is a way of filling in the pattern that gives the path back.
TEST(Router, WhatItMatchesSpellsThePath) {
  std::mt19937 random(11);
  const auto below = [&](std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
  };
  const std::vector<std::string> words = {"a", "b", "c"};
  std::size_t matched = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string pattern;
    bool rest = false;
    for (std::size_t i = 0; i < 1 + below(4); ++i) {
      const std::size_t kind = below(4);
      const std::string name = "p" + std::to_string(i);
      if (kind == 0) pattern += "/{" + name + "}";
      if (kind == 1 && !rest) pattern += "/{" + name + "...}";
      if (kind > 1 || (kind == 1 && rest)) pattern += "/" + words[below(words.size())];
      rest = rest || kind == 1;
    }
    std::string path;
    for (std::size_t i = 0; i < 1 + below(5); ++i) path += "/" + words[below(words.size())];
    const Router router = router_of({pattern});
    const Result<Target> target = parse_target(path);
    const std::optional<Router::Match> match = router.match(target->segments);
    if (match) {
      ++matched;
      std::string spelled = pattern;
      for (const auto& [name, value] : match->params) {
        for (const std::string& hole : {"{" + name + "}", "{" + name + "...}"}) {
          if (const std::size_t at = spelled.find(hole); at != std::string::npos)
            spelled.replace(at, hole.size(), value);
        }
      }
      EXPECT_EQ(spelled, path) << pattern;
    } else {
      // Nothing fits: neither as many segments as the pattern has, each equal or a parameter, nor more with {name...}.
      const auto slashes = [](const std::string& text) { return std::count(text.begin(), text.end(), '/'); };
      if (slashes(pattern) == slashes(path)) {
        bool fits = true;
        std::size_t p = 1;
        std::size_t q = 1;
        while (p < pattern.size()) {
          const std::string left = pattern.substr(p, pattern.find('/', p) - p);
          const std::string right = path.substr(q, path.find('/', q) - q);
          fits = fits && (left == right || left.starts_with('{'));
          p += left.size() + 1;
          q += right.size() + 1;
        }
        EXPECT_FALSE(fits) << pattern << " " << path;
      }
    }
  }
  EXPECT_GT(matched, 500U);
}

TEST(RouterDeathTest, RefusesPatternsThatAreWrong) {
  const auto add = [](const std::vector<std::string>& patterns) { router_of(patterns); };
  EXPECT_DEATH(add({"v1"}), "begins with /");
  EXPECT_DEATH(add({"/{a...}/{b...}"}), "at most one");
  EXPECT_DEATH(add({"/x{a}"}), "have a name");
  EXPECT_DEATH(add({"/{}"}), "have a name");
  EXPECT_DEATH(add({"/{a}", "/{b}"}), "written alike");
  EXPECT_DEATH(add({"/a", "/a"}), "added once");
}

}  // namespace
}  // namespace railweave::api
