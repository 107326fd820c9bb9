// Numbers in texts: all of the text is one, or none.
#include <charconv>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "fabric/base/decimal_number.h"
#include "fabric/base/whole_number.h"

namespace railweave::numbers_test {
namespace {

TEST(Numbers, AreAllOfTheText) {
  EXPECT_EQ(whole_number<unsigned>("42"), 42U);
  EXPECT_EQ(whole_number<unsigned>("ff", 255, 16), 255U);
  EXPECT_EQ(whole_number<int>("-7"), -7);
  EXPECT_EQ(decimal_number("-0.5"), -0.5);
  EXPECT_EQ(decimal_number("8e9"), 8e9);
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "0x10", "1.", "1.5", "-1", "4294967296", "256"}) {
    EXPECT_FALSE(whole_number<std::uint8_t>(text)) << text;
  }
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "inf", "-inf", "nan", "1e999", "0x10"}) {
    EXPECT_FALSE(decimal_number(text)) << text;
  }
  EXPECT_EQ(decimal_number("12.5", std::chars_format::fixed), 12.5);
  EXPECT_FALSE(decimal_number("1e1", std::chars_format::fixed));
}

}  // namespace
}  // namespace railweave::numbers_test
