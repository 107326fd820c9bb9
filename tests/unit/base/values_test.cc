// Guid, Id, RateMbps and Error: small values with a type of their own.
#include <random>
#include <unordered_set>

#include <gtest/gtest.h>

#include "fabric/base/error.h"
#include "fabric/base/fnv1a.h"
#include "fabric/base/guid.h"
#include "fabric/base/id.h"
#include "fabric/base/units.h"

namespace railweave {
namespace {

TEST(Guid, IsReadAsToolsWriteIt) {
  EXPECT_EQ(parse_guid("2c5eab0300b87b40"), Guid(0x2c5eab0300b87b40));
  EXPECT_EQ(parse_guid("0x2C5EAB0300B87B40"), Guid(0x2c5eab0300b87b40));
  EXPECT_EQ(parse_guid("0X1"), Guid(1));
  EXPECT_EQ(parse_guid("0"), Guid());
  EXPECT_EQ(parse_guid("ffffffffffffffff"), Guid(UINT64_MAX));
}

TEST(Guid, RefusesAnythingElse) {
  for (const auto* text : {"", "0x", "0x0x1", "-1", "+1", " 1", "1 ", "12345678901234567", "g", "1_0", "0x-1", "1.0"}) {
    EXPECT_EQ(parse_guid(text), std::nullopt) << text;
  }
}

TEST(Guid, ReadsBackWhatItPrints) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 1000; ++i) {
    const Guid guid(random() >> (random() % 64));
    EXPECT_EQ(to_string(guid).size(), 16U);
    EXPECT_EQ(parse_guid(to_string(guid)), guid);
    EXPECT_EQ(parse_guid("0x" + to_string(guid)), guid);
  }
  EXPECT_EQ(to_string(Guid(0xab)), "00000000000000ab");
}

TEST(Guid, ZeroIsNotKnown) {
  EXPECT_FALSE(Guid().known());
  EXPECT_TRUE(Guid(1).known());
}

TEST(Id, IsNoneUntilItIsSet) {
  using TestId = Id<struct TestTag>;
  EXPECT_FALSE(TestId().valid());
  EXPECT_TRUE(TestId(0).valid());
  EXPECT_LT(TestId(1), TestId(2));
  std::unordered_set<TestId> set{TestId(1), TestId(1), TestId(2)};
  EXPECT_EQ(set.size(), 2U);
}

TEST(IdRange, WalksItsIdsInOrder) {
  using TestId = Id<struct TestTag>;
  const IdRange<TestId> range(3, 6);
  std::size_t next = 3;
  for (const auto id : range) EXPECT_EQ(id.index(), next++);
  EXPECT_EQ(next, 6U);
  EXPECT_EQ(range.size(), 3U);
  EXPECT_EQ(range[2], TestId(5));
  EXPECT_EQ(range.front(), TestId(3));
  EXPECT_TRUE(IdRange<TestId>().empty());
}

TEST(Rate, AddsExactly) {
  EXPECT_EQ(from_gbps(400) + RateMbps(1), RateMbps(400'001));
  EXPECT_EQ(from_gbps(400) - from_gbps(100), from_gbps(300));
  EXPECT_DOUBLE_EQ(RateMbps(2'500).gbps(), 2.5);
}

TEST(Error, IsOneLineOfWhatWhereAndWhatToDo) {
  EXPECT_EQ((Error{ErrorKind::malformed, "x", "no such port", "line 3", "check the dump"}).text(),
            "line 3: no such port (check the dump)");
  EXPECT_EQ((Error{ErrorKind::invalid, "x", "no", {}, {}}).text(), "no");
  const Result<int> failed = fail(ErrorKind::notFound, "a.b", "gone");
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().kind, ErrorKind::notFound);
}

TEST(Fnv1a, GivesTheTestVectorsOfItsAuthors) {
  EXPECT_EQ(Fnv1a().value(), 0xcbf29ce484222325U);
  EXPECT_EQ(Fnv1a().add("a").value(), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(Fnv1a().add("foobar").value(), 0x85944171f73967e8U);
  EXPECT_EQ(Fnv1a().add("foo").add("bar").value(), 0x85944171f73967e8U);
}

TEST(Fnv1a, HashesWordsWhole) { EXPECT_EQ(Fnv1a().add(std::uint64_t{'a'}).value(), Fnv1a().add("a").value()); }

}  // namespace
}  // namespace railweave
