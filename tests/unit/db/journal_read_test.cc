// Conformance: reading with filters and limits, against a filter over a vector.
#include <algorithm>
#include <random>

#include "db/limits.h"
#include "db/replay.h"
#include "tests/unit/db/journal_conformance.h"

namespace railweave::db::journal_read_test {
namespace {

using JournalRead = JournalConformance;
RAILWEAVE_CONFORMANCE_OF_EVERY_STORE(JournalRead);

std::vector<Record> filtered(const std::vector<Record>& records, const ReadFilter& filter) {
  std::vector<Record> kept;
  for (const Record& record : records) {
    const bool kind_fits =
        filter.kinds.empty() || std::find(filter.kinds.begin(), filter.kinds.end(), record.kind) != filter.kinds.end();
    if (record.seq > filter.after_seq && record.seq <= filter.up_to_seq && kind_fits &&
        (filter.subject_kind.empty() || record.subject_kind == filter.subject_kind) &&
        (filter.subject_id.empty() || record.subject_id == filter.subject_id) && kept.size() < filter.limit) {
      kept.push_back(record);
    }
  }
  return kept;
}

TEST_P(JournalRead, FiltersAgreeWithAFilterOverAVector) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    store_ = GetParam().make();
    reopen();
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t n) { return random() % n; };
    const std::vector<std::string> kinds = {"a", "b", "job.placed", "job.ended", "rare", "'; --"};
    std::vector<Record> records;
    while (records.size() < 400) {
      Batch batch = sample_batch(records.size() + 1, 1 + below(40));
      for (Record& record : batch.records) {
        record.kind = kinds[std::min(below(kinds.size()), below(kinds.size()))];
        record.subject_kind = below(3) == 0 ? "" : below(2) == 0 ? "job" : "link";
        record.subject_id = record.subject_kind.empty() ? "" : std::to_string(below(9));
      }
      take(journal_->append(batch));
      records.insert(records.end(), batch.records.begin(), batch.records.end());
    }
    for (int trial = 0; trial < 300; ++trial) {
      ReadFilter filter;
      if (below(2) == 0) filter.after_seq = below(450);
      if (below(3) == 0) filter.up_to_seq = below(450);
      filter.limit = below(3) == 0 ? 1 + below(10) : 1000;
      for (std::uint64_t n = below(5); n > 0; --n) filter.kinds.push_back(kinds[below(kinds.size())]);  // some twice
      if (below(2) == 0) filter.subject_kind = below(2) == 0 ? "job" : "link";
      if (!filter.subject_kind.empty() && below(2) == 0) filter.subject_id = std::to_string(below(10));
      ASSERT_EQ(take(journal_->read(filter)), filtered(records, filter)) << "trial " << trial;
    }
  }
}

TEST_P(JournalRead, PagesJoinToTheWhole) {
  take(journal_->append(sample_batch(1, 1000)));
  std::vector<Record> joined;
  ReadFilter filter;
  filter.limit = 7;
  while (true) {
    const auto page = take(journal_->read(filter));
    if (page.empty()) break;
    EXPECT_LE(page.size(), 7U);
    joined.insert(joined.end(), page.begin(), page.end());
    filter.after_seq = page.back().seq;
  }
  EXPECT_EQ(joined, sample_batch(1, 1000).records);
}

TEST_P(JournalRead, ExtremeRangesAreEmptyOrWhole) {
  take(journal_->append(sample_batch(1, 10)));
  ReadFilter filter;
  filter.after_seq = UINT64_MAX;
  EXPECT_TRUE(take(journal_->read(filter)).empty());
  filter.after_seq = 10;
  EXPECT_TRUE(take(journal_->read(filter)).empty());
  filter.after_seq = 9;
  filter.up_to_seq = 3;
  EXPECT_TRUE(take(journal_->read(filter)).empty());
  filter = {};
  filter.limit = SIZE_MAX;
  EXPECT_EQ(take(journal_->read(filter)).size(), 10U);
  filter.up_to_seq = 0;
  EXPECT_TRUE(take(journal_->read(filter)).empty());
}

TEST_P(JournalRead, FiltersThatBreakARuleAreRefused) {
  ReadFilter none;
  none.limit = 0;
  EXPECT_EQ(code_of(journal_->read(none)), "db.invalid");
  ReadFilter many;
  many.kinds.resize(kMaxReadKinds + 1, "a");
  EXPECT_EQ(code_of(journal_->read(many)), "db.tooLarge");
  ReadFilter half;
  half.subject_id = "job-1";
  EXPECT_EQ(code_of(journal_->read(half)), "db.invalid");
  ReadFilter strange;  // matches nothing, breaks nothing
  strange.kinds = {std::string("\0\xFF", 2)};
  EXPECT_TRUE(take(journal_->read(strange)).empty());
}

TEST_P(JournalRead, AnAnswerIsBoundedInBytesAndReplayReadsOn) {
  for (std::uint64_t seq = 1; seq <= 4; ++seq) {
    Batch batch = sample_batch(seq, 1);
    batch.records[0].payload = std::string(30'000'000, static_cast<char>('a' + seq));
    take(journal_->append(batch));
  }
  EXPECT_EQ(take(journal_->read({})).size(), 2U);
  std::uint64_t expected = 0;
  const auto end = take(replay(*journal_, 0, [&](const Record& record) -> Result<void> {
    EXPECT_EQ(record.seq, ++expected);
    EXPECT_EQ(record.payload, std::string(30'000'000, static_cast<char>('a' + record.seq)));
    return {};
  }));
  EXPECT_EQ(end, 4U);
  EXPECT_EQ(expected, 4U);
}

TEST_P(JournalRead, ReplayStartsWhereToldAndEndsAtTheFirstError) {
  take(journal_->append(sample_batch(1, 20)));
  std::vector<std::uint64_t> seen;
  const auto visit = [&](const Record& record) -> Result<void> {
    if (record.seq == 15) return fail(ErrorKind::invalid, "test.stop", "stop");
    seen.push_back(record.seq);
    return {};
  };
  EXPECT_EQ(code_of(replay(*journal_, 12, visit)), "test.stop");
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{13, 14}));
  EXPECT_EQ(take(replay(*journal_, 20, visit)), 20U);
}

}  // namespace
}  // namespace railweave::db::journal_read_test
