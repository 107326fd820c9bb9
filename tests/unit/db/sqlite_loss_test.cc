// Stores that are removed, renamed, emptied or replaced, open or not: nothing is acknowledged into a file that is gone,
// and no store starts as if nothing had been there. And what helps then: the check, backups, retention.
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "db/replay.h"
#include "db/sqlite/connection.h"
#include "db/sqlite/sqlite_journal.h"
#include "db/sqlite/store_check.h"
#include "tests/unit/db/results.h"
#include "tests/unit/db/sample_records.h"
#include "tests/unit/db/temp_directory.h"

namespace railweave::db::sqlite_loss_test {
namespace {

namespace fs = std::filesystem;

class SqliteLoss : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path beside(const char* suffix) const { return store_.string() + suffix; }
  static std::uint64_t first_kept(Journal& journal) { return take(journal.read({.limit = 1})).at(0).seq; }

  TempDirectory directory_;
  fs::path store_ = directory_ / "railweave.db";
};

TEST_F(SqliteLoss, NothingIsAcknowledgedIntoAFileThatIsGone) {
  const std::map<std::string, std::function<void()>> losses = {
      {"removed", [&] { fs::remove(store_); }},
      {"renamed", [&] { fs::rename(store_, directory_ / "elsewhere.db"); }},
      {"emptied", [&] { ASSERT_EQ(::truncate(store_.c_str(), 0), 0); }},
      {"replaced",
       [&] {
         fs::copy_file(store_, directory_ / "copy.db", fs::copy_options::overwrite_existing);
         fs::rename(directory_ / "copy.db", store_);
       }},
      {"WAL removed", [&] { fs::remove(beside("-wal")); }},
      {"WAL emptied", [&] { ASSERT_EQ(::truncate(beside("-wal").c_str(), 0), 0); }},
      {"all removed",
       [&] {
         for (const char* suffix : {"", "-wal", "-shm", ".lock"}) fs::remove(beside(suffix));
       }},
  };
  ASSERT_EQ(losses.size(), 7U);
  for (const auto& [name, lose] : losses) {
    SCOPED_TRACE(name);
    const TempDirectory fresh;
    store_ = fresh / "railweave.db";
    const auto journal = take(open_sqlite_journal(store_));
    take(journal->append(sample_batch(1, 3)));
    EXPECT_EQ(take(journal->last_seq()), 3U);
    lose();
    // An empty WAL is in order until something was written to it.
    EXPECT_EQ(code_of(journal->last_seq()), name == "WAL emptied" ? "" : "db.lost");
    const auto appended = journal->append(sample_batch(4, 1));
    ASSERT_FALSE(appended) << "acknowledged, and lost";
    EXPECT_EQ(code_of(journal->append(sample_batch(4, 1))),
              appended.error().code == "db.lost" ? "db.failed" : "db.lost");
  }
}

TEST_F(SqliteLoss, AStoreBehindItsMarkIsRefused) {
  take(take(open_sqlite_journal(store_))->append(sample_batch(1, 3)));
  fs::copy_file(store_, directory_ / "older.db");
  take(take(open_sqlite_journal(store_))->append(sample_batch(4, 2)));
  const auto refused = [&](const char* what) {
    SCOPED_TRACE(what);
    const auto opened = open_sqlite_journal(store_);
    ASSERT_EQ(code_of(opened), "db.recordsLost");
    EXPECT_NE(opened.error().text().find("record 5 was acknowledged"), std::string::npos) << opened.error().text();
    EXPECT_NE(opened.error().hint.find("railweave.db.mark"), std::string::npos);
  };
  fs::rename(store_, directory_ / "kept.db");
  refused("missing");
  EXPECT_FALSE(fs::exists(store_)) << "no empty store is left in its place";
  std::ofstream(store_) << "";
  refused("empty");
  fs::copy_file(directory_ / "older.db", store_, fs::copy_options::overwrite_existing);
  refused("older");
  EXPECT_EQ(code_of(check_sqlite_store(store_)), "db.recordsLost");
  fs::remove(beside("-wal"));
  fs::remove(beside("-shm"));
  fs::rename(directory_ / "kept.db", store_);
  EXPECT_EQ(take(take(open_sqlite_journal(store_))->last_seq()), 5U);
  fs::copy_file(directory_ / "older.db", store_, fs::copy_options::overwrite_existing);
  fs::remove(beside(".mark"));
  EXPECT_EQ(take(take(open_sqlite_journal(store_))->last_seq()), 3U) << "as the operator decided";
}

TEST_F(SqliteLoss, AMarkThatCannotBeReadRefusesNothing) {
  take(take(open_sqlite_journal(store_))->append(sample_batch(1, 3)));
  std::ofstream(beside(".mark")) << "";
  EXPECT_EQ(take(take(open_sqlite_journal(store_))->last_seq()), 3U);
  std::ifstream mark(beside(".mark"));
  std::uint64_t seq = 0;
  EXPECT_TRUE(mark >> seq && seq == 3);
}

TEST_F(SqliteLoss, ADamagedStoreIsRefusedAtItsStart) {
  {
    const auto journal = take(open_sqlite_journal(store_));
    for (std::uint64_t i = 0; i < 20; ++i) take(journal->append(sample_batch(1 + i * 100, 100)));
  }
  const auto size = fs::file_size(store_);
  ASSERT_GT(size, 40'960U);
  std::fstream file(store_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(size / 2 / 4096 * 4096));
  file << std::string(4096, '\x7f');
  file.close();
  EXPECT_EQ(code_of(open_sqlite_journal(store_)), "db.damaged");
  EXPECT_EQ(code_of(check_sqlite_store(store_)), "db.damaged");
}

TEST_F(SqliteLoss, TheCheckReadsEverythingAndSeesOneChangedByte) {
  {
    const auto journal = take(open_sqlite_journal(store_));
    Batch batch = sample_batch(1, 50);
    batch.blobs.push_back({sample_digest(1), sample_document(50'000)});
    take(journal->append(batch));
    take(journal->save_snapshot({40, 1, 0, 1, random_text(20'000, 1)}));
    const auto condition = take(check_sqlite_store(store_));  // beside the open store
    EXPECT_EQ(condition.records, 50U);
    EXPECT_EQ(condition.first_seq, 1U);
    EXPECT_EQ(condition.last_seq, 50U);
    EXPECT_EQ(condition.snapshots, 1U);
    EXPECT_EQ(condition.blobs, 1U);
  }
  for (const char* sql :
       {"UPDATE snapshots SET payload = replace(payload, 'a', 'b')", "UPDATE blobs SET crc32 = crc32 + 1",
        "DROP TRIGGER journal_is_never_updated; UPDATE journal SET actor = 'other' WHERE seq = 17",
        "DROP TRIGGER journal_is_deleted_behind_the_floor_only; DELETE FROM journal WHERE seq = 17"}) {
    SCOPED_TRACE(sql);
    const auto copy = directory_ / "copy.db";
    fs::copy_file(store_, copy, fs::copy_options::overwrite_existing);
    take(check_sqlite_store(copy));
    take(take(sqlite::Connection::open(copy, 1000)).execute(sql, "change"));
    EXPECT_EQ(code_of(check_sqlite_store(copy)), "db.damaged");
  }
}

TEST_F(SqliteLoss, ABackupMadeWhileWritingIsAWholeStore) {
  const auto journal = take(open_sqlite_journal(store_));
  take(journal->append(sample_batch(1, 1000)));
  std::atomic<bool> enough = false;
  std::thread writer([&] {
    for (std::uint64_t seq = 1001; !enough; ++seq) take(journal->append(sample_batch(seq, 1)));
  });
  for (int i = 0; i < 5; ++i) {
    const auto copy = directory_ / ("backup-" + std::to_string(i) + ".db");
    const std::uint64_t before = take(journal->last_seq());
    take(back_up_sqlite_store(store_, copy));
    EXPECT_EQ(code_of(back_up_sqlite_store(store_, copy)), "db.exists");
    const auto condition = take(check_sqlite_store(copy));
    EXPECT_GE(condition.last_seq, before);
    const auto restored = take(open_sqlite_journal(copy));
    EXPECT_EQ(take(replay(*restored, 0, [](const Record&) -> Result<void> { return {}; })), condition.last_seq);
  }
  enough = true;
  writer.join();
}

TEST_F(SqliteLoss, RecordsAreRemovedBehindTheOlderSnapshotOnly) {
  {
    const auto journal = take(open_sqlite_journal(store_, {.keep_records = 20}));
    take(journal->append(sample_batch(1, 100)));
    take(journal->save_snapshot({60, 1, 0, 1, "{}"}));
    EXPECT_EQ(first_kept(*journal), 1U) << "one snapshot is not enough";
    take(journal->save_snapshot({100, 1, 0, 1, "{}"}));
    EXPECT_EQ(first_kept(*journal), 61U);
    EXPECT_EQ(take(journal->read({.after_seq = 0})).size(), 40U);
    EXPECT_EQ(take(journal->read({.after_seq = 70})).size(), 30U);
    take(journal->append(sample_batch(101, 10)));
    take(journal->save_snapshot({110, 1, 0, 1, "{}"}));
    EXPECT_EQ(first_kept(*journal), 91U) << "as many as are to be kept";
  }
  const auto condition = take(check_sqlite_store(store_));
  EXPECT_EQ(condition.first_seq, 91U);
  EXPECT_EQ(condition.records, 20U);
  take(take(sqlite::Connection::open(store_, 1000))
           .execute("DELETE FROM journal WHERE seq <= 90", "remove what is gone"));
  EXPECT_FALSE(
      take(sqlite::Connection::open(store_, 1000)).execute("DELETE FROM journal WHERE seq = 91", "remove more"));
  const auto journal = take(open_sqlite_journal(store_));
  EXPECT_EQ(first_kept(*journal), 91U);
  EXPECT_EQ(take(journal->latest_snapshot())->seq, 110U);
  take(journal->append(sample_batch(111, 1)));
}

TEST_F(SqliteLoss, WithoutALimitAllRecordsAreKept) {
  const auto journal = take(open_sqlite_journal(store_));
  take(journal->append(sample_batch(1, 100)));
  take(journal->save_snapshot({60, 1, 0, 1, "{}"}));
  take(journal->save_snapshot({100, 1, 0, 1, "{}"}));
  EXPECT_EQ(first_kept(*journal), 1U);
}

}  // namespace
}  // namespace railweave::db::sqlite_loss_test
