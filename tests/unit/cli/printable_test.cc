#include "services/railweave/terminal/printable.h"

#include <gtest/gtest.h>

namespace railweave::cli {
namespace {

TEST(Printable, LeavesPlainAndForeignTextAlone) {
  for (const char* text : {"", "dgx-017", "Käfer", "节点-3", "a\\b \"c\"", "🚀"}) EXPECT_EQ(printable(text), text);
}

TEST(Printable, EscapesWhatCouldSteerATerminal) {
  EXPECT_EQ(printable("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(printable("\x1b[31mred"), "\\x1b[31mred");
  EXPECT_EQ(printable(std::string_view("\0\x7f", 2)), "\\x00\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\x9b31m");  // C1 control sequence introducer, in UTF-8
  EXPECT_EQ(printable("safe\xe2\x80\xae"
                      "gnp.exe"),
            "safe\\u202egnp.exe");                    // right-to-left override
  EXPECT_EQ(printable("\xe2\x81\xa6x"), "\\u2066x");  // left-to-right isolate
  EXPECT_EQ(printable("a\xe2\x80\xa8"
                      "b"),
            "a\\u2028b");
}

TEST(Printable, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");                    // overlong
  EXPECT_EQ(printable("\xe0\x82\xaf"), "\\xe0\\x82\\xaf");           // overlong, of three bytes
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
}

TEST(Printable, HasNoControlCharacterWhateverTheBytes) {
  unsigned state = 7;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (int i = 0; i < 24; ++i) {
      state = state * 1664525U + 1013904223U;
      bytes += static_cast<char>(state >> 24U);
    }
    const std::string shown = printable(bytes);
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const auto c = static_cast<unsigned char>(shown[i]);
      ASSERT_TRUE(c >= 0x20 && c != 0x7f);
      if (c == 0xc2) {
        ASSERT_GE(static_cast<unsigned char>(shown[i + 1]), 0xa0) << "a C1 control character";
      }
    }
    ASSERT_EQ(printable(shown), shown) << "making it printable twice changes nothing";
  }
}

TEST(PrintableJson, EscapesInsideStringsAndKeepsTheLayout) {
  EXPECT_EQ(printable_json("{\n  \"a\": \"\x7f\xe2\x80\xae\"\n}"), "{\n  \"a\": \"\\u007f\\u202e\"\n}");
  EXPECT_EQ(printable_json("{\n  \"a\": 1\n}"), "{\n  \"a\": 1\n}");
}

TEST(DisplayWidth, CountsColumnsNotBytes) {
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("Käfer"), 5U);
  EXPECT_EQ(display_width("节点"), 4U);
  EXPECT_EQ(display_width("e\xcc\x81"), 1U);  // with a combining accent
}

TEST(Shortened, CutsToColumnsAndSaysSo) {
  EXPECT_EQ(shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(shortened("abcdef", 4), "abc…");
  EXPECT_EQ(shortened("节点节点", 4), "节…");
  EXPECT_EQ(shortened("abc", 1), "…");
  EXPECT_EQ(shortened("abc", 0), "");
}

}  // namespace
}  // namespace railweave::cli
