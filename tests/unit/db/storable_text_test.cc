// Which text is UTF-8, against the set of all encoded code points.
#include <random>
#include <string>
#include <unordered_set>

#include <gtest/gtest.h>

#include "db/utf8.h"

namespace railweave::db::storable_text_test {
namespace {

// Encodes by arithmetic on the code point; the check under test walks bytes by RFC 3629's table.
std::string encoded(char32_t point) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | ((point >> shift) & 0x3F)); };
  if (point < 0x80) return {static_cast<char>(point)};
  if (point < 0x800) return {static_cast<char>(0xC0 | (point >> 6)), tail(0)};
  if (point < 0x10000) return {static_cast<char>(0xE0 | (point >> 12)), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | (point >> 18)), tail(12), tail(6), tail(0)};
}

TEST(StorableText, EveryCodePointButNulAndSurrogatesIsOne) {
  for (char32_t point = 0; point <= 0x10FFFF; ++point) {
    const bool expected = point != 0 && (point < 0xD800 || point > 0xDFFF);
    ASSERT_EQ(is_storable_text(encoded(point)), expected) << static_cast<std::uint32_t>(point);
  }
}

TEST(StorableText, OtherSequencesOfUpToThreeBytesAreNone) {
  std::unordered_set<std::string> characters;
  for (char32_t point = 1; point < 0x10000; ++point) {
    if (point < 0xD800 || point > 0xDFFF) characters.insert(encoded(point));
  }
  // One character of n bytes, or any split into shorter ones.
  const auto expected = [&](const std::string& text, const auto& self) -> bool {
    if (text.empty()) return true;
    for (std::size_t n = 1; n <= text.size(); ++n) {
      if (characters.contains(text.substr(0, n)) && self(text.substr(n), self)) return true;
    }
    return false;
  };
  for (unsigned a = 0; a < 256; ++a) {
    for (unsigned b = 0; b < 256; ++b) {
      const std::string two = {static_cast<char>(a), static_cast<char>(b)};
      ASSERT_EQ(is_storable_text(two), expected(two, expected)) << a << " " << b;
      if (a < 0xC0) continue;
      for (const unsigned c : {0U, 1U, 0x7FU, 0x80U, 0x9FU, 0xA0U, 0xBFU, 0xC0U, 0xFFU}) {
        const std::string three = two + static_cast<char>(c);
        ASSERT_EQ(is_storable_text(three), expected(three, expected)) << a << " " << b << " " << c;
      }
    }
  }
}

TEST(StorableText, ABadByteIsFoundAtEveryPlace) {
  std::mt19937_64 random(1);
  for (std::size_t size = 1; size < 70; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      std::string text(size, 'a');
      EXPECT_TRUE(is_storable_text(text));
      for (const char bad : {'\0', '\xFF', '\x80', '\xC3', '\xF4'}) {
        text[at] = bad;
        EXPECT_FALSE(is_storable_text(text)) << size << " " << at;
      }
      text[at] = '\x01';
      EXPECT_TRUE(is_storable_text(text));
      if (at + 4 <= size) {
        EXPECT_TRUE(is_storable_text(text.replace(at, 4, encoded(0x10000 + random() % 0x100000))));
      }
    }
  }
}

TEST(StorableText, EmptyTextAndCutCharacters) {
  EXPECT_TRUE(is_storable_text(""));
  EXPECT_FALSE(is_storable_text(std::string_view("\xF0\x9F\x9A\x82", 3)));
  EXPECT_FALSE(is_storable_text("\xF4\x90\x80\x80"));
  EXPECT_FALSE(is_storable_text("\xC0\xAF"));
}

}  // namespace
}  // namespace railweave::db::storable_text_test
