#include "fabric/base/backoff.h"

#include <gtest/gtest.h>

namespace railweave {
namespace {

using namespace std::chrono_literals;

TEST(Backoff, DoublesUpToTheLongestAndBeginsAgainOnceItWorked) {
  Backoff backoff(1s, 5s);
  EXPECT_FALSE(backoff.is_failing());
  EXPECT_EQ(backoff.next(), 1s);
  EXPECT_TRUE(backoff.is_failing());
  EXPECT_EQ(backoff.next(), 2s);
  EXPECT_EQ(backoff.next(), 4s);
  EXPECT_EQ(backoff.next(), 5s);
  EXPECT_EQ(backoff.next(), 5s);
  backoff.reset();
  EXPECT_FALSE(backoff.is_failing());
  EXPECT_EQ(backoff.next(), 1s);
}

TEST(Backoff, TheFirstPauseIsTheShortest) {
  Backoff backoff(2s, 1s);
  EXPECT_EQ(backoff.next(), 2s);
  EXPECT_EQ(backoff.next(), 2s);
}

}  // namespace
}  // namespace railweave
