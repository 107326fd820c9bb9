#include "fabric/base/text/json_string.h"

#include <random>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fabric/base/text/utf8.h"
#include "tests/unit/base/text/random_bytes.h"

namespace railweave {
namespace {

TEST(JsonString, IsReadBackByTheJsonLibrary) {
  std::mt19937 random(6);
  for (int i = 0; i < 20'000; ++i) {
    const std::string bytes = random_bytes(random, 12);
    std::string out;
    append_json_string(out, bytes);
    const nlohmann::json read = nlohmann::json::parse(out, nullptr, false);
    ASSERT_TRUE(read.is_string()) << out;
    if (is_utf8(bytes)) {
      ASSERT_EQ(read.get<std::string>(), bytes);
    }
  }
}

TEST(JsonString, EscapesAndReplacementsAreFixed) {
  std::string out;
  append_json_string(out, "\"a\\\n\x7f\xc3\xa9\xff\"");
  EXPECT_EQ(out, "\"\\\"a\\\\\\u000a\\u007f\xc3\xa9\xef\xbf\xbd\\\"\"");
}

TEST(JsonNumber, IsExact) {
  std::string out;
  append_json_number(out, 18'446'744'073'709'551'615U);
  out += ' ';
  append_json_decimal(out, 0.1F);
  EXPECT_EQ(out, "18446744073709551615 0.1");
}

}  // namespace
}  // namespace railweave
