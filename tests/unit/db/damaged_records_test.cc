// What a read answers where records are damaged or missing: an error, or, where it is asked for, an entry of their number.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "db/checksum.h"
#include "db/journal_rules.h"

namespace railweave::db::damaged_records_test {
namespace {

Record record_of(std::uint64_t seq) {
  Record record;
  record.seq = seq;
  record.time_us = static_cast<std::int64_t>(1000 * seq);
  record.kind = seq % 2 == 0 ? "even" : "odd";
  record.payload = R"({"summary":"x"})";
  return record;
}

StoredRecord stored(std::uint64_t seq, bool damaged = false) {
  StoredRecord row;
  row.record = record_of(seq);
  row.payload.crc32 = checksum(row.record) + (damaged ? 1 : 0);
  row.payload.bytes = std::move(row.record.payload);
  row.payload.raw_bytes = row.payload.bytes.size();
  row.record.payload.clear();
  return row;
}

ReadFilter all(std::uint64_t after, std::uint64_t up_to, std::size_t limit = 100) {
  return {.after_seq = after,
          .up_to_seq = up_to,
          .limit = limit,
          .kinds = {},
          .subject_kind = {},
          .subject_id = {},
          .with_damaged = true};
}

const FetchOne kNone = [](std::uint64_t) -> Result<std::optional<StoredRecord>> { return std::nullopt; };

std::string text_of(const Result<std::vector<Record>>& records) {
  if (!records) return records.error().code;
  std::string text;
  for (const auto& record : *records) text += (record.damaged ? "!" : "") + std::to_string(record.seq) + " ";
  return text;
}

TEST(DamagedRecords, AreAnErrorUnlessTheyAreAskedFor) {
  for (const bool asked : {false, true}) {
    std::vector<StoredRecord> rows;
    for (const std::uint64_t seq : {1U, 2U, 4U, 5U}) rows.push_back(stored(seq, seq == 2));
    ReadFilter filter = all(0, 6);
    filter.with_damaged = asked;
    EXPECT_EQ(text_of(unpack_records(filter, std::move(rows), false, 0, 6, kNone)),
              asked ? "1 !2 !3 4 5 !6 " : "db.damaged");
  }
}

TEST(DamagedRecords, HaveTheTimeOfTheOneBeforeAndNothingElse) {
  std::vector<StoredRecord> rows;
  rows.push_back(stored(1));
  rows.push_back(stored(2, true));
  const auto read = unpack_records(all(0, 2), std::move(rows), false, 0, 2, kNone);
  ASSERT_TRUE(read && read->size() == 2);
  EXPECT_EQ(read->back(), (Record{2, 0, 1000, "", kDamagedKind, 1, "event", "2", "", true}));
}

TEST(DamagedRecords, HaveTheSameTimeWhereverAPageBeginsAndWhateverIsAskedFor) {
  const FetchOne one = [](std::uint64_t seq) -> Result<std::optional<StoredRecord>> {
    if (seq == 7) return std::nullopt;
    return stored(seq, seq == 6);
  };
  const auto page = unpack_records(all(7, 8), {}, false, 0, 8, one);
  ASSERT_TRUE(page && page->size() == 1);
  EXPECT_EQ(page->front().time_us, record_of(5).time_us);
  ReadFilter even = all(0, 8);
  even.kinds = {"even"};
  std::vector<StoredRecord> rows;
  rows.push_back(stored(2));
  rows.push_back(stored(8, true));
  const auto filtered = unpack_records(even, std::move(rows), false, 0, 8, one);
  ASSERT_TRUE(filtered && filtered->size() == 2);
  EXPECT_EQ(filtered->back().time_us, record_of(5).time_us);
  const auto behind_the_floor = unpack_records(all(7, 8), {}, false, 5, 8, one);
  ASSERT_TRUE(behind_the_floor && behind_the_floor->size() == 1);
  EXPECT_EQ(behind_the_floor->front().time_us, 0);
}

TEST(DamagedRecords, StopAtTheLimitAndBeginBehindTheFloor) {
  std::vector<StoredRecord> rows;
  rows.push_back(stored(9));
  EXPECT_EQ(text_of(unpack_records(all(0, 20, 4), std::move(rows), true, 5, 20, kNone)), "!6 !7 !8 9 ");
  EXPECT_EQ(text_of(unpack_records(all(7, 20, 3), {}, false, 0, 20, kNone)), "!8 !9 !10 ");
}

TEST(DamagedRecords, AreNotInventedWhereKindsAreAskedFor) {
  ReadFilter filter = all(0, 20);
  filter.kinds = {"even"};
  std::vector<StoredRecord> rows;
  rows.push_back(stored(2));
  rows.push_back(stored(8, true));
  EXPECT_EQ(text_of(unpack_records(filter, std::move(rows), false, 0, 20, kNone)), "2 !8 ");
}

TEST(DamagedRecords, AreFoundOneByOneWhereTheStoreItselfFails) {
  const auto fetch = [](std::uint64_t seq) -> Result<std::optional<StoredRecord>> {
    if (seq == 3) return fail(ErrorKind::internal, "db.damaged", "invalid page", "");
    if (seq == 4) return std::nullopt;
    return stored(seq, seq == 5);
  };
  EXPECT_EQ(text_of(read_one_by_one(all(1, 8), 0, 7, fetch)), "2 !3 !4 !5 6 7 ");
  ReadFilter even = all(0, 8);
  even.kinds = {"even"};
  EXPECT_EQ(text_of(read_one_by_one(even, 0, 8, fetch)), "2 !3 !4 !5 6 8 ");
  const auto lost = [](std::uint64_t) -> Result<std::optional<StoredRecord>> {
    return fail(ErrorKind::unavailable, "db.connectionLost", "gone", "");
  };
  EXPECT_EQ(text_of(read_one_by_one(all(0, 8), 0, 8, lost)), "db.connectionLost");
}

}  // namespace
}  // namespace railweave::db::damaged_records_test
