// Disks that are full or read-only, and directories of another user.
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db/sqlite/sqlite_journal.h"
#include "tests/unit/db/results.h"
#include "tests/unit/db/sample_records.h"
#include "tests/unit/db/temp_directory.h"

namespace railweave::db::sqlite_file_system_test {
namespace {

// Appends until refused: the seq of the last record that was accepted, and the refusal.
std::pair<std::uint64_t, Error> fill(Journal& journal) {
  std::uint64_t seq = take(journal.last_seq());
  for (int i = 0; i < 10'000; ++i) {
    Batch batch = sample_batch(seq + 1, 2);
    batch.records[1].payload = random_text(100'000, seq);
    if (auto appended = journal.append(batch); !appended) return {seq, appended.error()};
    seq += 2;
  }
  return {seq, {}};
}

TEST(SqliteFull, AtItsSizeLimitTheStoreRefusesWholeBatchesAndCanBeRead) {
  const TempDirectory directory;
  SqliteOptions options;
  options.max_bytes = 2'000'000;
  {
    const auto journal = take(open_sqlite_journal(directory / "railweave.db", options));
    const auto [last, error] = fill(*journal);
    EXPECT_EQ(error.code, "db.full");
    EXPECT_EQ(error.kind, ErrorKind::unavailable);
    EXPECT_GT(last, 10U);
    EXPECT_EQ(take(journal->read({})).size(), last);
    EXPECT_EQ(code_of(journal->save_snapshot({last, 1, 0, 1, random_text(200'000, 1)})), "db.full");
    EXPECT_EQ(code_of(journal->append({{}, {{sample_digest(1), random_bytes(200'000, 1)}}, {}})), "db.full");
    EXPECT_EQ(take(journal->blob(sample_digest(1))), std::nullopt);
  }
  options.max_bytes = 0;
  const auto journal = take(open_sqlite_journal(directory / "railweave.db", options));
  take(journal->append(sample_batch(take(journal->last_seq()) + 1, 100)));
}

TEST(SqliteFull, AStoreThatCannotEvenHoldItsSchemaIsRefused) {
  const TempDirectory directory;
  SqliteOptions options;
  options.max_bytes = 4096;
  EXPECT_EQ(code_of(open_sqlite_journal(directory / "railweave.db", options)), "db.full");
  options.max_bytes = 0;
  EXPECT_EQ(code_of(open_sqlite_journal(directory / "railweave.db", options)), "");
}

constexpr int kCannotMount = 77;

// Runs `body` in a process that has `directory` on a small file system of its own; returns its exit code. An empty
// message is success.
int on_a_small_file_system(const std::filesystem::path& directory, const std::function<std::string()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool mounted = (::unshare(CLONE_NEWNS) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) &&
                         ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         ::mount("tmpfs", directory.c_str(), "tmpfs", 0, "size=3m") == 0;
    if (!mounted) ::_exit(kCannotMount);
    std::string message;
    try {
      message = body();
    } catch (const std::exception& error) {
      message = error.what();
    }
    if (!message.empty()) std::fprintf(stderr, "%s\n", message.c_str());
    ::_exit(message.empty() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(SqliteFull, OnAFullDiskBatchesAreRefusedWholeUntilThereIsSpaceAgain) {
  const TempDirectory directory;
  const int code = on_a_small_file_system(directory.path(), [&]() -> std::string {
    const auto ballast = directory / "ballast";
    std::FILE* file = std::fopen(ballast.c_str(), "w");
    std::fwrite(random_bytes(1'000'000, 1).data(), 1, 1'000'000, file);
    std::fclose(file);
    const auto journal = take(open_sqlite_journal(directory / "railweave.db"));
    const auto [last, error] = fill(*journal);
    if (error.code != "db.full") return "refused with " + error.code + ": " + error.text();
    if (last < 4) return "nothing could be written";
    if (take(journal->read({})).size() != last) return "a refused batch is there";
    std::filesystem::remove(ballast);
    if (const auto tried = journal->try_writing(); !tried) return "there is space, but: " + tried.error().text();
    take(journal->append(sample_batch(last + 1, 3)));
    if (take(journal->read({})).size() != last + 3) return "the store does not go on";
    return {};
  });
  if (code == kCannotMount) GTEST_SKIP() << "may not mount a small file system here";
  EXPECT_EQ(code, 0);
}

TEST(SqliteReadOnly, OnAReadOnlyFileSystemAStoreIsRefusedClearly) {
  const TempDirectory directory;
  const int code = on_a_small_file_system(directory.path(), [&]() -> std::string {
    take(take(open_sqlite_journal(directory / "railweave.db"))->append(sample_batch(1, 3)));
    if (::mount("none", directory.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0)
      return "cannot remount";
    for (const std::string name : {"railweave.db", "new.db"}) {
      const auto refused = open_sqlite_journal(directory / name);
      if (code_of(refused) != "db.readOnly") return name + ": " + (refused ? "opened" : refused.error().text());
    }
    return {};
  });
  if (code == kCannotMount) GTEST_SKIP() << "may not mount a small file system here";
  EXPECT_EQ(code, 0);
}

// Root may write anywhere, so it gives up its privileges for a while.
class WithoutPrivileges {
 public:
  WithoutPrivileges() : was_root_(::geteuid() == 0) {
    if (was_root_ && (::setegid(65534) != 0 || ::seteuid(65534) != 0))
      throw std::runtime_error("cannot give up privileges");
  }
  ~WithoutPrivileges() {
    if (was_root_ && (::seteuid(0) != 0 || ::setegid(0) != 0)) std::abort();
  }

 private:
  bool was_root_;
};

TEST(SqliteReadOnly, ADirectoryOrAFileThatMayNotBeWrittenIsRefused) {
  namespace fs = std::filesystem;
  const TempDirectory directory;
  const auto store = directory / "railweave.db";
  fs::permissions(directory.path(), fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
  if (::geteuid() != 0) fs::permissions(directory.path(), fs::perms::owner_read | fs::perms::owner_exec);
  {
    const WithoutPrivileges unprivileged;
    EXPECT_EQ(code_of(open_sqlite_journal(store)), "db.readOnly");
  }
  fs::permissions(directory.path(), fs::perms::all);
  take(take(open_sqlite_journal(store))->append(sample_batch(1, 3)));
  fs::remove(directory / "railweave.db.lock");
  fs::permissions(store, fs::perms::owner_read | fs::perms::others_read);
  {
    const WithoutPrivileges unprivileged;
    const auto refused = open_sqlite_journal(store);
    EXPECT_EQ(code_of(refused), "db.readOnly") << (refused ? "" : refused.error().text());
  }
  fs::permissions(store, fs::perms::all);
  EXPECT_EQ(take(take(open_sqlite_journal(store))->last_seq()), 3U);
}

}  // namespace
}  // namespace railweave::db::sqlite_file_system_test
