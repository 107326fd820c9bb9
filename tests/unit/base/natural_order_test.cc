#include "fabric/base/natural_order.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace railweave {
namespace {

TEST(NaturalOrder, CountsAsPeopleDo) {
  const std::vector<std::string> ordered{"",
                                         "a",
                                         "a1",
                                         "a2",
                                         "a10",
                                         "a10b2",
                                         "a10b10",
                                         "node-2",
                                         "node-10",
                                         "node-10-1",
                                         "rack",
                                         "rack00002",
                                         "rack3",
                                         "rack20000000000000000000",
                                         "rack20000000000000000001"};
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    for (std::size_t j = 0; j < ordered.size(); ++j) {
      const int order = natural_compare(ordered[i], ordered[j]);
      EXPECT_EQ(order < 0, i < j) << ordered[i] << ' ' << ordered[j];
      EXPECT_EQ(order == 0, i == j) << ordered[i] << ' ' << ordered[j];
    }
  }
}

TEST(NaturalOrder, LeadingZerosOnlyBreakTies) {
  EXPECT_LT(natural_compare("n01", "n1"), 0);
  EXPECT_LT(natural_compare("n1", "n02"), 0);
  EXPECT_LT(natural_compare("n01x", "n1y"), 0);
  EXPECT_LT(natural_compare("n1x", "n01y"), 0);
}

TEST(NaturalOrder, BytesAboveAsciiAreNotNegative) { EXPECT_LT(natural_compare("a", "\xc3\xa9"), 0); }

TEST(NaturalOrder, IsATotalOrder) {
  std::mt19937 random(3);
  std::vector<std::string> names;
  for (int i = 0; i < 60; ++i) {
    std::string name;
    for (unsigned n = 0, length = random() % 6; n < length; ++n) name += "01a-/9:"[random() % 7];
    names.push_back(name);
  }
  for (const auto& a : names) {
    for (const auto& b : names) {
      EXPECT_EQ(natural_compare(a, b) == 0, a == b);
      EXPECT_EQ(natural_compare(a, b) < 0, natural_compare(b, a) > 0);
      for (const auto& c : names) {
        if (natural_compare(a, b) < 0 && natural_compare(b, c) < 0) {
          ASSERT_LT(natural_compare(a, c), 0) << a << ' ' << b << ' ' << c;
        }
      }
    }
  }
}

}  // namespace
}  // namespace railweave
