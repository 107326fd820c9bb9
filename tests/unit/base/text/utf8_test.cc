// The decoder against an encoder that works by arithmetic, and against nlohmann's parser.
#include "fabric/base/text/utf8.h"

#include <random>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/base/text/random_bytes.h"

namespace railweave {
namespace {

std::string encoded(std::uint32_t point) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80U | ((point >> shift) & 0x3fU)); };
  if (point < 0x80) return {static_cast<char>(point)};
  if (point < 0x800) return {static_cast<char>(0xc0U | (point >> 6U)), tail(0)};
  if (point < 0x10000) return {static_cast<char>(0xe0U | (point >> 12U)), tail(6), tail(0)};
  return {static_cast<char>(0xf0U | (point >> 18U)), tail(12), tail(6), tail(0)};
}

TEST(Utf8, DecodesEveryCodePointButSurrogates) {
  for (std::uint32_t point = 0; point <= 0x110100; ++point) {
    const std::string text = encoded(point);
    const Utf8Character decoded = utf8_at(text, 0);
    if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) {
      ASSERT_EQ(decoded.bytes, 0U) << point;
    } else {
      ASSERT_EQ(decoded.bytes, text.size()) << point;
      ASSERT_EQ(decoded.code_point, point);
    }
  }
}

TEST(Utf8, AgreesWithTheJsonLibraryOnRandomBytes) {
  std::mt19937 random(5);
  int valid = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string bytes = random_bytes(random, 6);
    bool expected = true;
    try {
      (void)nlohmann::json(bytes).dump();
    } catch (const nlohmann::json::type_error&) {
      expected = false;
    }
    ASSERT_EQ(is_utf8(bytes), expected) << testing::PrintToString(bytes);
    valid += static_cast<int>(expected);
  }
  EXPECT_GT(valid, 1000);
}

TEST(Utf8, ACutCharacterIsNone) {
  EXPECT_FALSE(is_utf8("\xf0\x9f\x9a"));
  EXPECT_EQ(utf8_at("a\xe2\x82", 1).bytes, 0U);
}

TEST(Utf8, PrefixesAreCutBetweenCharacters) {
  EXPECT_EQ(utf8_prefix("abcdef", 4), "abcd");
  EXPECT_EQ(utf8_prefix("a\xe2\x82\xac", 3), "a");
  EXPECT_EQ(utf8_prefix("a\xe2\x82\xac", 4), "a\xe2\x82\xac");
}

TEST(PrintableUtf8, IsWellFormedAndShowsWhatItSays) {
  for (const auto* good : {"", "a", "gpu-017", "Köln", "日本", "\xf0\x9f\x9a\x82", "two words"}) {
    EXPECT_TRUE(is_printable_utf8(good)) << good;
  }
  for (const auto* bad : {"\n", "\x7f", "\xc2\x85", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                          "\xc3", "\xe2\x80\xa8", "\xef\xbb\xbf", "\xef\xbf\xbf", "\x80", "\xf8\x88\x80\x80\x80"}) {
    EXPECT_FALSE(is_printable_utf8(bad));
  }
}

}  // namespace
}  // namespace railweave
