#include "fabric/formats/text/name_text.h"

#include <gtest/gtest.h>

namespace railweave::fabric::name_text_test {
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

}  // namespace
}  // namespace railweave::fabric::name_text_test
