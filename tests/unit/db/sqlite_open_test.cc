// What open_sqlite_journal refuses, and that what it refuses stays as it was.
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "db/sqlite/connection.h"
#include "db/sqlite/migration.h"
#include "db/sqlite/sqlite_journal.h"
#include "tests/unit/db/results.h"
#include "tests/unit/db/sample_records.h"
#include "tests/unit/db/store_process.h"
#include "tests/unit/db/temp_directory.h"

namespace railweave::db::sqlite_open_test {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const fs::path& path, const std::string& content) { std::ofstream(path, std::ios::binary) << content; }

class SqliteOpen : public ::testing::Test {
 protected:
  void make_store() { take(take(open_sqlite_journal(store_))->append(sample_batch(1, 3))); }
  void change(const std::string& sql) const {
    take(take(sqlite::Connection::open(store_, 1000)).execute(sql, "change"));
  }
  // Refused with this code, a message, a place and advice.
  static Error refusal(const fs::path& path, const std::string& code, const SqliteOptions& options = {}) {
    const auto opened = open_sqlite_journal(path, options);
    EXPECT_EQ(code_of(opened), code);
    if (opened) return {};
    EXPECT_FALSE(opened.error().message.empty());
    EXPECT_FALSE(opened.error().location.empty()) << opened.error().text();
    EXPECT_FALSE(opened.error().hint.empty()) << opened.error().text();
    return opened.error();
  }

  TempDirectory directory_;
  fs::path store_ = directory_ / "railweave.db";
};

TEST_F(SqliteOpen, ANewStoreIsMadeAndOpenedAgain) {
  make_store();
  EXPECT_EQ(take(take(open_sqlite_journal(store_))->read({})), sample_batch(1, 3).records);
}

TEST_F(SqliteOpen, AnEmptyFileBecomesAStore) {
  write_file(store_, "");
  make_store();
}

TEST_F(SqliteOpen, TheDirectoryMustExist) {
  const Error error = refusal(directory_ / "missing" / "railweave.db", "db.noDirectory");
  EXPECT_NE(error.hint.find("mkdir -p"), std::string::npos);
  EXPECT_FALSE(fs::exists(directory_ / "missing"));
  write_file(directory_ / "file", "text");
  refusal(directory_ / "file" / "railweave.db", "db.noDirectory");
}

TEST_F(SqliteOpen, ADirectoryOrADeviceIsNoStore) {
  refusal(directory_.path(), "db.notAFile");
  refusal("/dev/null", "db.notAFile");
}

TEST_F(SqliteOpen, NoNameOrOneThatNoFileCanHaveIsRefused) {
  EXPECT_EQ(code_of(open_sqlite_journal("")), "db.invalid");
  EXPECT_EQ(code_of(open_sqlite_journal(std::string("a\0b", 3))), "db.invalid");
  EXPECT_FALSE(open_sqlite_journal(directory_ / std::string(300, 'a')));
}

TEST_F(SqliteOpen, NamesThatMeanSomethingToSqliteAreFiles) {
  const fs::path before = fs::current_path();
  fs::current_path(directory_.path());
  for (const std::string name : {":memory:", "file:x?mode=memory", "file:y"}) {
    take(open_sqlite_journal(name));
    EXPECT_TRUE(fs::exists(directory_ / name)) << name;
  }
  fs::current_path(before);
}

TEST_F(SqliteOpen, WithoutCreateAMissingStoreIsNotMade) {
  SqliteOptions options;
  options.create = false;
  refusal(store_, "db.notThere", options);
  EXPECT_TRUE(fs::is_empty(directory_.path()));
  make_store();
  EXPECT_EQ(code_of(open_sqlite_journal(store_, options)), "");
}

TEST_F(SqliteOpen, AFileThatIsNoDatabaseIsLeftAlone) {
  for (const std::string& content :
       {std::string("root:x:0:0\n"), random_bytes(100'000, 1), std::string("SQLite format 3"),
        std::string("SQLite format 3\0", 16) + std::string(50, '\0')}) {
    write_file(store_, content);
    refusal(store_, "db.notADatabase");
    EXPECT_TRUE(content_of(store_) == content);
    EXPECT_EQ(std::distance(fs::directory_iterator(directory_.path()), {}), 1) << "a file was left beside it";
  }
  write_file(directory_ / "railweave.db.lock", "");  // as if it had been a store once
  refusal(store_, "db.notADatabase");
}

TEST_F(SqliteOpen, AnotherProgramsDatabaseIsLeftAlone) {
  for (const std::string application : {"0", "1196444487"}) {
    fs::remove(directory_ / "railweave.db.lock");
    write_file(store_, "");
    change("PRAGMA application_id = " + application +
           "; CREATE TABLE IF NOT EXISTS theirs (a); INSERT INTO theirs VALUES (1)");
    const std::string content = content_of(store_);
    refusal(store_, "db.notRailweave");
    refusal(store_, "db.notRailweave");
    EXPECT_TRUE(content_of(store_) == content);
  }
}

TEST_F(SqliteOpen, AStoreOfALaterReleaseIsRefusedAndKept) {
  make_store();
  const auto version = std::to_string(sqlite::embedded_migrations().size());
  change("PRAGMA user_version = 99");
  const Error error = refusal(store_, "db.newer");
  EXPECT_NE(error.message.find("99"), std::string::npos);
  change("PRAGMA user_version = " + version);
  EXPECT_EQ(take(take(open_sqlite_journal(store_))->last_seq()), 3U);
}

TEST_F(SqliteOpen, AStoreMadeByOtherMigrationsIsRefused) {
  make_store();
  change("UPDATE migrations SET sha256 = 'other' WHERE version = 2");
  const Error error = refusal(store_, "db.migrationDiffers");
  EXPECT_NE(error.message.find("reporting"), std::string::npos);
  change("DELETE FROM migrations WHERE version = 2");
  refusal(store_, "db.damaged");
  change("DROP TABLE migrations");
  EXPECT_FALSE(open_sqlite_journal(store_));
  change("PRAGMA user_version = 0");
  refusal(store_, "db.damaged");
  change("PRAGMA user_version = -5");
  refusal(store_, "db.damaged");
}

TEST_F(SqliteOpen, AReportingTableThatIsGoneIsDamage) {
  make_store();
  change("DROP TABLE job_history");
  refusal(store_, "db.damaged");
}

TEST_F(SqliteOpen, ASnapshotBeyondTheJournalIsDamage) {
  make_store();
  take(take(open_sqlite_journal(store_))->save_snapshot({3, 1, 0, 1, "{}"}));
  change("DROP TRIGGER journal_is_deleted_behind_the_floor_only; DELETE FROM journal WHERE seq = 3");
  refusal(store_, "db.damaged");
}

TEST_F(SqliteOpen, ASecondOpenerOfTheSameProcessIsRefusedHoweverItNamesTheStore) {
  auto first = take(open_sqlite_journal(store_));
  refusal(store_, "db.locked");
  fs::create_symlink(store_, directory_ / "alias.db");
  refusal(directory_ / "alias.db", "db.locked");
  refusal(directory_ / "." / ".." / directory_.path().filename() / "railweave.db", "db.locked");
  // The refused openers must not have taken the first one's locks: another program must still not remove its WAL.
  take(first->append(sample_batch(1, 3)));
  EXPECT_EQ(StoreProcess("shell", store_, 0).line(), "closed");
  EXPECT_TRUE(fs::exists(directory_ / "railweave.db-wal"));
  first.reset();
  EXPECT_EQ(take(take(open_sqlite_journal(directory_ / "alias.db"))->last_seq()), 3U);
}

TEST_F(SqliteOpen, AFileWithAHardLinkIsRefused) {
  make_store();
  fs::create_hard_link(store_, directory_ / "other-name.db");
  refusal(store_, "db.hardLinked");
  fs::remove(directory_ / "other-name.db");
  EXPECT_EQ(code_of(open_sqlite_journal(store_)), "");
}

TEST_F(SqliteOpen, AShellThatHoldsTheStoreMakesItBusyForAWhile) {
  make_store();
  SqliteOptions options;
  options.busy_timeout_ms = 10;
  auto shell = take(sqlite::Connection::open(store_, 1000));
  {
    const auto journal = take(open_sqlite_journal(store_, options));
    take(shell.execute("BEGIN IMMEDIATE", "lock"));
    EXPECT_EQ(code_of(journal->append(sample_batch(4, 1))), "db.busy");
    EXPECT_EQ(code_of(journal->save_snapshot({3, 1, 0, 1, "{}"})), "db.busy");
    EXPECT_EQ(take(journal->read({})).size(), 3U);
    take(shell.execute("ROLLBACK", "unlock"));
    take(journal->append(sample_batch(4, 1)));
  }
  take(shell.execute("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE", "lock"));
  refusal(store_, "db.busy", options);
}

TEST_F(SqliteOpen, PeoplesSqlCannotChangeTheJournal) {
  make_store();
  auto shell = take(sqlite::Connection::open(store_, 1000));
  for (const std::string sql : {"UPDATE journal SET actor = 'another actor'", "DELETE FROM journal",
                                "DELETE FROM journal WHERE seq = 3", "INSERT INTO journal SELECT * FROM journal"}) {
    EXPECT_FALSE(shell.execute(sql, "change")) << sql;
  }
  EXPECT_EQ(take(take(open_sqlite_journal(store_))->read({})), sample_batch(1, 3).records);
}

}  // namespace
}  // namespace railweave::db::sqlite_open_test
