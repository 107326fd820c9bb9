#include "fabric/formats/text/name_text.h"

#include <random>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace railweave::fabric {
namespace {

TEST(NameText, RefusesControlCharactersAndInvalidUtf8) {
  EXPECT_TRUE(is_clean_name(""));
  EXPECT_TRUE(is_clean_name("node-1 mlx5_0"));
  EXPECT_TRUE(is_clean_name("\xc3\xa9\xe2\x82\xac\xf0\x9f\x9a\x84"));
  for (const std::string bad :
       {"a\nb", "\x1b[31m", "\x7f", "\xc2\x85", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\x80"}) {
    EXPECT_FALSE(is_clean_name(bad)) << bad;
    EXPECT_TRUE(is_clean_name(escaped_name(bad))) << bad;
  }
  EXPECT_FALSE(is_clean_name(std::string("a\0b", 3)));
}

TEST(NameText, EscapesOnlyTheOffendingBytes) {
  EXPECT_EQ(escaped_name("a\x1b[1m\xc3\xa9\xff"), "a\\x1b[1m\xc3\xa9\\xff");
}

TEST(NameText, ClipsBetweenCharacters) {
  EXPECT_EQ(clipped_name("abcdef", 4), "abcd");
  EXPECT_EQ(clipped_name("a\xe2\x82\xac", 3), "a");
  EXPECT_EQ(clipped_name("a\xe2\x82\xac", 4), "a\xe2\x82\xac");
}

// nlohmann's parser decides independently what valid UTF-8 is.
TEST(NameText, AgreesWithAnotherUtf8DecoderOnRandomBytes) {
  std::mt19937 random(7);
  std::size_t valid = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (unsigned n = 1 + random() % 4; n > 0; --n) text += static_cast<char>(0x80 + random() % 0x80);
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t length = utf8_sequence_length(text, at);
      if (length == 0) break;
      at += length;
    }
    const bool ours = at == text.size();
    EXPECT_EQ(ours, nlohmann::json::accept('"' + text + '"')) << escaped_name(text);
    valid += ours ? 1 : 0;
  }
  EXPECT_GT(valid, 100U);
}

}  // namespace
}  // namespace railweave::fabric
