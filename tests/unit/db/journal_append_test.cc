// Conformance: records go in whole, in order, and come out as they were.
#include <algorithm>
#include <functional>
#include <limits>

#include "db/limits.h"
#include "tests/unit/db/journal_conformance.h"

namespace railweave::db::journal_append_test {
namespace {

using JournalAppend = JournalConformance;
RAILWEAVE_CONFORMANCE_OF_EVERY_STORE(JournalAppend);

TEST_P(JournalAppend, AnEmptyStoreHasNothing) {
  EXPECT_EQ(last(), 0U);
  EXPECT_TRUE(all().empty());
  EXPECT_EQ(take(journal_->latest_snapshot()), std::nullopt);
  EXPECT_EQ(take(journal_->blob(sample_digest(1))), std::nullopt);
}

TEST_P(JournalAppend, AnEmptyBatchChangesNothing) {
  take(journal_->append({}));
  EXPECT_EQ(last(), 0U);
}

TEST_P(JournalAppend, EveryFieldComesBackAlsoAfterReopening) {
  Batch batch = sample_batch(1, 6);
  batch.records[0].time_us = std::numeric_limits<std::int64_t>::min();
  batch.records[1].time_us = std::numeric_limits<std::int64_t>::max();
  batch.records[1].version = std::numeric_limits<std::uint32_t>::max();
  batch.records[2].payload.clear();
  batch.records[2].actor.clear();
  batch.records[2].subject_kind.clear();
  batch.records[2].subject_id.clear();
  batch.records[3].payload = "\xF0\x9F\x9A\x82 \xEF\xBF\xBF \x01\x7F \"quoted\" 'single' \\ %s ?1 \n\r\t";
  batch.records[3].actor = std::string(kMaxNameBytes, 'x');
  batch.records[4].payload = random_text(kCompressAboveBytes + 1, 4);
  batch.records[5].payload = sample_document(4'000'000);
  batch.records[5].term = kMaxSeq;
  take(journal_->append(batch));
  EXPECT_EQ(all(), batch.records);
  EXPECT_EQ(last(), 6U);
  reopen();
  EXPECT_EQ(all(), batch.records);
  EXPECT_EQ(last(), 6U);
}

TEST_P(JournalAppend, PayloadsAroundTheSizeOfCompressionComeBack) {
  Batch batch = sample_batch(1, 4);
  for (std::size_t i = 0; i < 4; ++i) batch.records[i].payload = std::string(kCompressAboveBytes - 1 + i, 'a');
  take(journal_->append(batch));
  EXPECT_EQ(all(), batch.records);
}

TEST_P(JournalAppend, BatchesContinueEachOther) {
  take(journal_->append(sample_batch(1, 3)));
  take(journal_->append(sample_batch(4, 1)));
  reopen();
  take(journal_->append(sample_batch(5, 1024)));
  EXPECT_EQ(all(), sample_batch(1, 1028).records);
}

struct Refusal {
  std::string name;
  std::string code;
  std::function<void(Batch&)> spoil;  // a batch of records 3 and 4 after a journal that ends at 2, term 5
};

void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.name; }

class RefusedBatch : public ::testing::TestWithParam<std::tuple<StoreKind, Refusal>> {};

std::vector<Refusal> refusals() {
  return {
      {"FirstSeqLeavesAGap", "db.gap", [](Batch& b) { b = sample_batch(4, 2, 5); }},
      {"FirstSeqIsThereAlready", "db.gap", [](Batch& b) { b = sample_batch(2, 2, 5); }},
      {"GapInsideTheBatch", "db.gap", [](Batch& b) { b.records[1].seq = 5; }},
      {"SameSeqTwice", "db.gap", [](Batch& b) { b.records[1].seq = 3; }},
      {"Descending", "db.gap", [](Batch& b) { std::swap(b.records[0], b.records[1]); }},
      {"TermOfADeposedLeader", "db.termBehind", [](Batch& b) { b.records[0].term = b.records[1].term = 4; }},
      {"TermGoesBackInsideTheBatch", "db.termBehind", [](Batch& b) { b.records[0].term = 6; }},
      {"SeqZero", "db.invalid", [](Batch& b) { b.records[0].seq = 0; }},
      {"SeqBeyondSigned", "db.invalid", [](Batch& b) { b.records[0].seq = kMaxSeq + 1; }},
      {"TermBeyondSigned", "db.invalid", [](Batch& b) { b.records[1].term = UINT64_MAX; }},
      {"EmptyKind", "db.invalid", [](Batch& b) { b.records[1].kind.clear(); }},
      {"NulInPayload", "db.invalid", [](Batch& b) { b.records[1].payload += '\0'; }},
      {"NotUtf8InPayload", "db.invalid", [](Batch& b) { b.records[1].payload += '\xFF'; }},
      {"NotUtf8InActor", "db.invalid", [](Batch& b) { b.records[1].actor = "\xC3"; }},
      {"NotUtf8InKind", "db.invalid", [](Batch& b) { b.records[1].kind = "\xED\xA0\x80"; }},
      {"NotUtf8InSubject", "db.invalid", [](Batch& b) { b.records[1].subject_id = "\x80"; }},
      {"LongActor", "db.tooLarge", [](Batch& b) { b.records[1].actor = std::string(kMaxNameBytes + 1, 'a'); }},
      {"LongSubjectKind", "db.tooLarge",
       [](Batch& b) { b.records[1].subject_kind = std::string(kMaxNameBytes + 1, 'a'); }},
      {"LargePayload", "db.tooLarge", [](Batch& b) { b.records[1].payload = std::string(kMaxPayloadBytes + 1, 'a'); }},
      {"TooManyRecords", "db.tooLarge", [](Batch& b) { b = sample_batch(3, kMaxBatchRecords + 1, 5); }},
      {"TooManyReports", "db.tooLarge", [](Batch& b) { b.reports.resize(kMaxBatchReports + 1, b.reports[0]); }},
      {"TooManyBlobs", "db.tooLarge", [](Batch& b) { b.blobs.resize(kMaxBatchBlobs + 1, b.blobs[0]); }},
      {"ShortDigest", "db.invalid", [](Batch& b) { b.blobs[0].digest.pop_back(); }},
      {"UpperCaseDigest", "db.invalid", [](Batch& b) { b.blobs[0].digest[5] = 'A'; }},
      {"BlobOfOtherBytes", "db.blobDiffers", [](Batch& b) { b.blobs[0] = {sample_digest(77), "other bytes"}; }},
      {"UnknownReportTable", "db.unknownTable", [](Batch& b) { b.reports[0].table = "no_such_table"; }},
      {"JournalAsReportTable", "db.unknownTable", [](Batch& b) { b.reports[0].table = "journal"; }},
      {"SnapshotsAsReportTable", "db.unknownTable", [](Batch& b) { b.reports[0].table = "snapshots"; }},
      {"SqlAsReportTable", "db.unknownTable",
       [](Batch& b) { b.reports[0].table = "job_history\"; DROP TABLE journal; --"; }},
      {"UnknownReportColumn", "db.unknownColumn", [](Batch& b) { b.reports[0].columns.push_back({"colour", "red"}); }},
      {"SqlAsReportColumn", "db.unknownColumn",
       [](Batch& b) { b.reports[0].columns.push_back({"name\" = '' --", "x"}); }},
      {"ReportColumnTwice", "db.invalid", [](Batch& b) { b.reports[0].columns.push_back({"id", "again"}); }},
      {"ReportWithoutKey", "db.invalid", [](Batch& b) { b.reports[0].columns = {{"tenant", "a"}}; }},
      {"ReportWithNullKey", "db.invalid", [](Batch& b) { b.reports[0].columns = {{"id", {}}, {"tenant", "a"}}; }},
      {"NullInIntegerKey", "db.invalid", [](Batch& b) { b.reports[0] = {"audit_trail", {{"seq", {}}}}; }},
      {"NullWhereThereIsNone", "db.invalid", [](Batch& b) { b.reports[0].columns.push_back({"tenant", {}}); }},
      {"TextInNumberColumn", "db.invalid", [](Batch& b) { b.reports[0].columns.push_back({"gpus", "8"}); }},
      {"FractionInIntegerColumn", "db.invalid", [](Batch& b) { b.reports[0].columns.push_back({"gpus", 8.0}); }},
      {"NumberInTextColumn", "db.invalid",
       [](Batch& b) { b.reports[0].columns.push_back({"tenant", std::int64_t{8}}); }},
      {"NulInReportText", "db.invalid",
       [](Batch& b) { b.reports[0].columns.push_back({"tenant", std::string(1, '\0')}); }},
      {"LongReportText", "db.tooLarge",
       [](Batch& b) { b.reports[0].columns.push_back({"tenant", std::string(kMaxReportTextBytes + 1, 'a')}); }},
  };
}

TEST_P(RefusedBatch, LeavesNothing) {
  const auto& [kind, refusal] = GetParam();
  const auto store = kind.make();
  auto journal = take(store->open());
  Batch before = sample_batch(1, 2, 5);
  before.blobs.push_back({sample_digest(77), "the bytes"});
  take(journal->append(before));

  Batch batch = sample_batch(3, 2, 5);
  batch.blobs.push_back({sample_digest(3), "a document"});
  batch.reports.push_back({"job_history", {{"id", "job-3"}}});
  // The other parts are in order, so that nothing but the transaction keeps them out.
  batch.reports.push_back({"job_history", {{"id", "job-4"}}});
  refusal.spoil(batch);
  const auto refused = journal->append(batch);
  ASSERT_EQ(code_of(refused), refusal.code);
  EXPECT_FALSE(refused.error().message.empty());

  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(take(journal->last_seq()), 2U);
    EXPECT_EQ(take(journal->read({})), before.records);
    EXPECT_EQ(take(journal->blob(sample_digest(3))), std::nullopt);
    EXPECT_EQ(take(journal->blob(sample_digest(77))), "the bytes");
    EXPECT_TRUE(store->select("SELECT id FROM job_history").empty());
    EXPECT_TRUE(store->select("SELECT seq FROM audit_trail").empty());
    journal.reset();
    journal = take(store->open());
  }
  take(journal->append(sample_batch(3, 2, 5)));
}

INSTANTIATE_TEST_SUITE_P(Stores, RefusedBatch,
                         ::testing::Combine(::testing::ValuesIn(store_kinds()), ::testing::ValuesIn(refusals())),
                         [](const auto& p) { return std::get<0>(p.param).name + std::get<1>(p.param).name; });

TEST_P(JournalAppend, ATermMayRiseAndIsRememberedAcrossRestarts) {
  take(journal_->append(sample_batch(1, 1, 0)));
  take(journal_->append(sample_batch(2, 1, 3)));
  reopen();
  EXPECT_EQ(code_of(journal_->append(sample_batch(3, 1, 2))), "db.termBehind");
  take(journal_->append(sample_batch(3, 1, 3)));
}

TEST_P(JournalAppend, ADamagedRecordIsAnErrorAndTheOthersCanBeRead) {
  take(journal_->append(sample_batch(1, 5)));
  close();
  store_->damage_record(3);
  reopen();
  const auto read = journal_->read({});
  ASSERT_EQ(code_of(read), "db.damaged");
  EXPECT_NE(read.error().text().find("record 3"), std::string::npos) << read.error().text();
  ReadFilter after;
  after.after_seq = 3;
  EXPECT_EQ(take(journal_->read(after)).size(), 2U);
}

TEST_P(JournalAppend, AMissingRecordIsAnError) {
  take(journal_->append(sample_batch(1, 5)));
  close();
  store_->remove_record(3);
  reopen();
  EXPECT_EQ(code_of(journal_->read({})), "db.damaged");
}

}  // namespace
}  // namespace railweave::db::journal_append_test
