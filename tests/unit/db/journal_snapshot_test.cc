// Conformance: snapshots and blobs.
#include "db/limits.h"
#include "tests/unit/db/journal_conformance.h"

namespace railweave::db::journal_snapshot_test {
namespace {

Snapshot sample_snapshot(std::uint64_t seq) {
  return {seq, 1, 1'700'000'000'000'000, 3, R"({"state":"after )" + std::to_string(seq) + R"("})"};
}

using JournalSnapshot = JournalConformance;
RAILWEAVE_CONFORMANCE_OF_EVERY_STORE(JournalSnapshot);

TEST_P(JournalSnapshot, TheNewestComesBackAlsoAfterReopening) {
  take(journal_->append(sample_batch(1, 10)));
  for (const std::uint64_t seq : {0U, 4U, 10U}) {
    take(journal_->save_snapshot(sample_snapshot(seq)));
    EXPECT_EQ(take(journal_->latest_snapshot()), sample_snapshot(seq));
  }
  reopen();
  EXPECT_EQ(take(journal_->latest_snapshot()), sample_snapshot(10));
}

TEST_P(JournalSnapshot, ALargeOneComesBack) {
  Snapshot snapshot = sample_snapshot(0);
  snapshot.payload = sample_document(60'000'000);
  take(journal_->save_snapshot(snapshot));
  reopen();
  EXPECT_TRUE(take(journal_->latest_snapshot()) == snapshot);
}

TEST_P(JournalSnapshot, OneOfTheSameSeqIsReplaced) {
  Snapshot snapshot = sample_snapshot(0);
  take(journal_->save_snapshot(snapshot));
  snapshot.payload = "{}";
  take(journal_->save_snapshot(snapshot));
  EXPECT_EQ(take(journal_->latest_snapshot()), snapshot);
}

TEST_P(JournalSnapshot, OnlyTheNewestTwoAreKept) {
  take(journal_->append(sample_batch(1, 10)));
  for (std::uint64_t seq = 1; seq <= 10; ++seq) take(journal_->save_snapshot(sample_snapshot(seq)));
  const std::vector<std::vector<Value>> expected = {{std::int64_t{9}}, {std::int64_t{10}}};
  EXPECT_EQ(store_->select("SELECT seq FROM snapshots ORDER BY seq"), expected);
}

TEST_P(JournalSnapshot, OneBeyondTheJournalOrOlderThanTheNewestIsRefused) {
  take(journal_->append(sample_batch(1, 10)));
  EXPECT_EQ(code_of(journal_->save_snapshot(sample_snapshot(11))), "db.snapshotAhead");
  take(journal_->save_snapshot(sample_snapshot(8)));
  EXPECT_EQ(code_of(journal_->save_snapshot(sample_snapshot(7))), "db.snapshotBehind");
  Snapshot spoilt = sample_snapshot(9);
  spoilt.payload = "\xFF";
  EXPECT_EQ(code_of(journal_->save_snapshot(spoilt)), "db.invalid");
  EXPECT_EQ(take(journal_->latest_snapshot()), sample_snapshot(8));
}

TEST_P(JournalSnapshot, ADamagedNewestFallsBackToTheOneBeforeAndIsReported) {
  take(journal_->append(sample_batch(1, 10)));
  take(journal_->save_snapshot(sample_snapshot(4)));
  take(journal_->save_snapshot(sample_snapshot(9)));
  close();
  store_->damage_snapshot(9);
  reopen();
  EXPECT_EQ(take(journal_->latest_snapshot()), sample_snapshot(4));
  ASSERT_EQ(store_->warnings.size(), 1U);
  EXPECT_EQ(store_->warnings[0].code, "db.damaged");
  EXPECT_NE(store_->warnings[0].text().find("snapshot 9"), std::string::npos) << store_->warnings[0].text();

  close();
  store_->damage_snapshot(4);
  reopen();
  EXPECT_EQ(take(journal_->latest_snapshot()), std::nullopt);
  EXPECT_EQ(store_->warnings.size(), 3U);
  EXPECT_EQ(all().size(), 10U) << "the journal itself is whole, so replay can start at its beginning";
}

using JournalBlob = JournalConformance;
RAILWEAVE_CONFORMANCE_OF_EVERY_STORE(JournalBlob);

TEST_P(JournalBlob, BytesComeBackAlsoAfterReopening) {
  Batch batch;
  batch.blobs = {{sample_digest(1), ""},
                 {sample_digest(2), std::string("\0\xFF\x80 any bytes", 13)},
                 {sample_digest(3), random_bytes(300'000, 3)}};
  take(journal_->append(batch));
  for (int round = 0; round < 2; ++round) {
    for (const Blob& blob : batch.blobs) EXPECT_TRUE(take(journal_->blob(blob.digest)) == blob.bytes);
    reopen();
  }
  EXPECT_EQ(last(), 0U);
}

TEST_P(JournalBlob, SixtyMegabytesComeBack) {
  const Blob document{sample_digest(1), sample_document(60'000'000)};
  const Blob noise{sample_digest(2), random_bytes(60'000'000, 2)};
  take(journal_->append({{}, {document}, {}}));
  Batch with_records = sample_batch(1, 2);
  with_records.blobs.push_back(noise);
  take(journal_->append(with_records));
  reopen();
  EXPECT_TRUE(take(journal_->blob(document.digest)) == document.bytes);
  EXPECT_TRUE(take(journal_->blob(noise.digest)) == noise.bytes);
  EXPECT_EQ(all(), with_records.records);
}

TEST_P(JournalBlob, StoringTheSameAgainChangesNothing) {
  const Blob blob{sample_digest(1), "bytes"};
  take(journal_->append({{}, {blob, blob}, {}}));
  take(journal_->append({{}, {blob}, {}}));
  EXPECT_EQ(take(journal_->blob(blob.digest)), "bytes");
  EXPECT_EQ(store_->select("SELECT count(*) FROM blobs")[0][0], Value(std::int64_t{1}));
}

TEST_P(JournalBlob, AnUnknownDigestOrWhatIsNoneHasNoBlob) {
  take(journal_->append({{}, {{sample_digest(1), "bytes"}}, {}}));
  for (const std::string& digest :
       {sample_digest(2), std::string(), std::string("' OR 1=1 --"), std::string(1'000'000, 'a')}) {
    EXPECT_EQ(take(journal_->blob(digest)), std::nullopt);
  }
}

TEST_P(JournalBlob, ADamagedOneIsAnError) {
  const Blob blob{sample_digest(1), sample_document(100'000)};
  take(journal_->append({{}, {blob}, {}}));
  close();
  store_->damage_blob(blob.digest);
  reopen();
  EXPECT_EQ(code_of(journal_->blob(blob.digest)), "db.damaged");
}

}  // namespace
}  // namespace railweave::db::journal_snapshot_test
