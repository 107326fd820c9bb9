// What is said of a job that something else placed, in words and as a number.
#include "services/rest/json/jobs/placement_advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railweave::api::placement_advice_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

PlacementAdvice placed(std::optional<double> there_ms, std::optional<double> here_ms, bool same = false) {
  PlacementAdvice advice;
  advice.placed = true;
  advice.nodes = {"c", "d"};
  advice.same_nodes = same;
  if (there_ms) advice.us = *there_ms * 1000;
  if (here_ms) advice.runs_at_us = *here_ms * 1000;
  return advice;
}

TEST(PlacementAdvice, SaysTheGainInWordsAndAsANumber) {
  const PlacementAdvice faster = placed(6, 8);
  EXPECT_EQ(faster.gain_permille(), 250U);
  EXPECT_EQ(faster.text(), "Railweave would have chosen c, d: 6 ms of communication predicted for a step instead of 8");
  EXPECT_EQ(placed(7.99, 8).gain_permille(), 0U);
  EXPECT_THAT(placed(7.99, 8).text(), HasSubstr("c, d, which is no faster"));
  EXPECT_EQ(placed(9, 8).gain_permille(), 0U);
  EXPECT_EQ(placed(6, 8, true).gain_permille(), 0U);
  EXPECT_THAT(placed(6, 8, true).text(), HasSubstr("the same nodes"));
  for (const auto& unknown : {placed(std::nullopt, 8), placed(6, std::nullopt), placed(6, 0)}) {
    EXPECT_FALSE(unknown.gain_permille());
    EXPECT_EQ(unknown.text(), "Railweave would have chosen c, d");
  }
  PlacementAdvice waits;
  waits.reason = "no room";
  waits.runs_at_us = 8;
  EXPECT_FALSE(waits.gain_permille());
  EXPECT_EQ(waits.text(), "Railweave would let it wait: no room");
}

TEST(PlacementAdvice, NamesAtMostSixteenNodes) {
  PlacementAdvice advice = placed(6, 8);
  for (int n = 0; n < 18; ++n) advice.nodes.push_back("n");
  EXPECT_THAT(advice.text(), HasSubstr("n, n and 4 more: 6 ms"));
}

TEST(PlacementAdvice, TheNodesOfTheJobAreNotExcludedWhereItWouldHaveBeen) {
  const auto request =
      read_advice_request(R"({"job":{"gpus":4,"nodes":["a","x"],"excludeNodes":["b","y"]},"nodes":["b","a","b"]})");
  ASSERT_TRUE(request) << request.error().text();
  EXPECT_THAT(request->nodes, ElementsAre("a", "b"));
  EXPECT_THAT(before_it_ran(*request).only_nodes, ElementsAre("a", "b", "x"));
  EXPECT_THAT(before_it_ran(*request).exclude_nodes, ElementsAre("y"));
  EXPECT_THAT(where_it_runs(*request).only_nodes, ElementsAre("a", "b"));
  EXPECT_THAT(where_it_runs(*request).exclude_nodes, ElementsAre());
  const auto anywhere = read_advice_request(R"({"job":{"gpus":4},"nodes":["b"]})");
  ASSERT_TRUE(anywhere);
  EXPECT_THAT(before_it_ran(*anywhere).only_nodes, ElementsAre());
}

TEST(PlacementAdvice, ErrorsOfTheJobHaveTheirPlaceInTheBody) {
  const auto refused = read_advice_request(R"({"job":{"gpus":-1},"nodes":["b"]})");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().location, "/job/gpus");
}

}  // namespace
}  // namespace railweave::api::placement_advice_test
