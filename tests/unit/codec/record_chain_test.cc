// Records that name the one before them: what was changed, removed or moved does not fit.
#include "services/control/codec/record_chain.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace railweave::api::record_chain_test {
namespace {

std::vector<db::Record> chain(std::size_t length) {
  std::vector<db::Record> records;
  std::string before;
  for (std::size_t i = 1; i <= length; ++i) {
    db::Record record;
    record.seq = i;
    record.kind = "tenant.put";
    record.actor = "alice";
    record.payload = R"({"summary":")" + std::to_string(i) + R"(","data":{}})";
    link_record(record, before);
    before = record_digest(record);
    records.push_back(std::move(record));
  }
  return records;
}

// The first record that does not fit; 0: all do.
std::uint64_t first_that_differs(const std::vector<db::Record>& records) {
  ChainCheck check;
  for (const auto& record : records) {
    if (!check.follow(record)) return record.seq;
  }
  return 0;
}

TEST(RecordChain, IsWholeAsItWasWritten) {
  const auto records = chain(20);
  EXPECT_EQ(first_that_differs(records), 0U);
  EXPECT_FALSE(digest_before(records.front()));
  EXPECT_EQ(digest_before(records[7]), record_digest(records[6]));
  ChainCheck check;
  for (const auto& record : records) EXPECT_TRUE(check.follow(record));
  EXPECT_EQ(check.linked(), 19U);
  EXPECT_EQ(check.head(), record_digest(records.back()));
}

TEST(RecordChain, NamesTheOneAfterWhatWasChangedRemovedOrMoved) {
  for (const auto change :
       {+[](db::Record& record) { record.actor = "bob"; }, +[](db::Record& record) { record.payload.back() = ' '; },
        +[](db::Record& record) { ++record.time_us; }, +[](db::Record& record) { ++record.term; }}) {
    auto records = chain(20);
    change(records[9]);
    EXPECT_EQ(first_that_differs(records), 11U);
  }
  auto removed = chain(20);
  removed.erase(removed.begin() + 9);
  EXPECT_EQ(first_that_differs(removed), 11U);
  auto moved = chain(20);
  std::swap(moved[9].payload, moved[10].payload);
  EXPECT_EQ(first_that_differs(moved), 10U);
}

TEST(RecordChain, GoesOnFromTheFirstThatIsKept) {
  auto records = chain(20);
  const auto last_removed = record_digest(records[4]);
  records.erase(records.begin(), records.begin() + 5);
  EXPECT_EQ(first_that_differs(records), 0U);
  EXPECT_EQ(digest_before(records.front()), last_removed);
}

TEST(RecordChain, RecordsOfEarlierReleasesNameNothing) {
  auto records = chain(6);
  db::Record earlier;
  earlier.seq = 7;
  earlier.payload = R"({"summary":"","data":{}})";
  records.push_back(earlier);
  EXPECT_EQ(first_that_differs(records), 0U);
  EXPECT_FALSE(digest_before(earlier));
}

}  // namespace
}  // namespace railweave::api::record_chain_test
