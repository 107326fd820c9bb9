#include "fabric/base/text/time_text.h"

#include <random>
#include <utility>

#include <gtest/gtest.h>

namespace railweave {
namespace {

constexpr std::int64_t kNine = 1'795'251'600'000'000;  // 2026-11-21T09:00:00Z

TEST(TimeText, IsRfc3339InUtc) {
  EXPECT_EQ(time_text(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(time_text(kNine), "2026-11-21T09:00:00Z");
  EXPECT_EQ(time_text(951'782'400'000'000), "2000-02-29T00:00:00Z");
  EXPECT_EQ(time_text(-1), "1969-12-31T23:59:59.999999Z");
}

TEST(TimeText, AFractionHasSixDigitsOrNone) {
  EXPECT_EQ(time_text(kNine + 5), "2026-11-21T09:00:00.000005Z");
  EXPECT_EQ(time_text(kNine + 500'000), "2026-11-21T09:00:00.500000Z");
  EXPECT_EQ(whole_second_text(kNine + 999'999), "2026-11-21T09:00:00Z");
  EXPECT_EQ(whole_second_text(-1), "1969-12-31T23:59:59Z");
}

TEST(TimeText, IsReadBackToTheMicrosecond) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 20'000; ++i) {
    const auto us = static_cast<std::int64_t>(random() % 253'402'300'800'000'000U);  // to the end of year 9999
    ASSERT_EQ(parse_time_us(time_text(us)), us) << time_text(us);
  }
}

TEST(ParseTime, TakesOffsetsFractionsAndSmallLetters) {
  for (const auto* text : {"2026-11-21T09:00:00Z", "2026-11-21t09:00:00z", "2026-11-21T10:00:00+01:00",
                           "2026-11-21T03:30:00-05:30", "2026-11-21T09:00:00.0000000009Z"}) {
    EXPECT_EQ(parse_time_us(text), kNine) << text;
  }
  EXPECT_EQ(parse_time_us("2026-11-21T10:00:00.5+01:00"), kNine + 500'000);
}

TEST(ParseTime, RefusesWhatIsNoTime) {
  for (const auto* text :
       {"", "2026-11-21", "2026-11-21T09:00:00", "2026-11-21 09:00:00Z", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
        "2026-11-21T24:00:00Z", "2026-11-21T09:60:00Z", "2026-11-21T09:00:60Z", "2026-11-21T09:00:00.Z",
        "1969-12-31T23:59:59Z", "2026-11-21T09:00:00+0100", "2026-11-21T09:00:00+24:00", "2026-11-21T09:00:00Zx",
        "2026-1a-21T09:00:00Z"}) {
    EXPECT_EQ(parse_time_us(text), std::nullopt) << text;
  }
}

TEST(ParseDuration, AddsItsUnits) {
  for (const auto& [text, seconds] :
       {std::pair{"PT36H", 129'600}, {"P1DT12H30M", 131'400}, {"PT90S", 90}, {"P1W", 604'800}, {"P1WT1S", 604'801}}) {
    EXPECT_EQ(parse_duration_s(text), seconds) << text;
  }
}

TEST(ParseDuration, RefusesWrongOrderMissingUnitsAndWhatHasNoFixedLength) {
  for (const auto* text : {"", "P", "PT", "P1", "P1DT", "PT1", "P1Y", "P1H", "PT1D", "PT1M1H", "PT1H1H", "P1DT1HT1M",
                           "PTH", "1H", "PT-1H", "PT1.5H", "PT10000000000S"}) {
    EXPECT_EQ(parse_duration_s(text), std::nullopt) << text;
  }
}

TEST(DurationText, IsReadBack) {
  for (const std::int64_t seconds : {0, 1, 59, 60, 3'599, 3'600, 3'661, 129'600, 1'000'000}) {
    EXPECT_EQ(parse_duration_s(duration_text(seconds)), seconds) << duration_text(seconds);
  }
  EXPECT_EQ(duration_text(129'600), "PT36H");
  EXPECT_EQ(duration_text(0), "PT0S");
}

}  // namespace
}  // namespace railweave
