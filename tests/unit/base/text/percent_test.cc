#include "fabric/base/text/percent.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/base/text/random_bytes.h"

namespace railweave {
namespace {

TEST(PercentEncoding, IsDecodedToWhatWasEncoded) {
  std::mt19937 random(8);
  for (int i = 0; i < 5000; ++i) {
    const std::string bytes = random_bytes(random, 12);
    const std::string encoded = percent_encode(bytes);
    EXPECT_EQ(encoded.find_first_of("/ +&=?#\"\n"), std::string::npos);
    EXPECT_EQ(percent_decode(encoded), bytes);
    EXPECT_EQ(percent_decode(encoded, true), bytes);
  }
}

TEST(PercentEncoding, PlusIsASpaceInQueriesOnly) {
  EXPECT_EQ(percent_decode("a+b%2B", true), "a b+");
  EXPECT_EQ(percent_decode("a+b"), "a+b");
}

TEST(PercentEncoding, APercentSignNeedsTwoDigits) {
  for (const auto* bad : {"%", "%a", "%ag", "%g1", "a%-1", "%+1", "% 1", "%0x"}) {
    EXPECT_EQ(percent_decode(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(percent_decode("%2f%2F"), "//");
}

}  // namespace
}  // namespace railweave
