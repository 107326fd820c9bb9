// A process that writes is killed, again and again, at random moments: while it makes the store, while it writes, while
// it recovers. What it acknowledged must be there; what it did not, whole or not at all.
#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "db/sqlite/sqlite_journal.h"
#include "tests/support/seeds.h"
#include "tests/unit/db/planned_store_check.h"
#include "tests/unit/db/results.h"
#include "tests/unit/db/store_process.h"
#include "tests/unit/db/temp_directory.h"

namespace railweave::db::sqlite_crash_test {
namespace {

class SqliteCrash : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, SqliteCrash, ::testing::Range<std::uint64_t>(1, 5));

TEST_P(SqliteCrash, KillingTheWriterLosesNothingAcknowledged) {
  const std::uint64_t seed = GetParam();
  std::mt19937_64 random(seed);
  const TempDirectory directory;
  const auto store = directory / "railweave.db";
  std::uint64_t acknowledged = 0;
  std::uint64_t snapshot = 0;
  for (std::uint64_t round = 0; round < part_of_seeds(20, 2); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    StoreProcess writer("write", store, seed);
    const auto take_note = [&](const std::string& line) {
      const std::uint64_t seq = std::stoull(line.substr(line.find(' ')));
      auto& newest = line.starts_with("append") ? acknowledged : snapshot;
      EXPECT_GT(seq, newest);
      newest = seq;
    };
    // A third of the rounds: soon after its start, so that opening, migrating and recovering are hit as well.
    if (random() % 3 != 0) {
      for (std::uint64_t lines = 1 + random() % 40; lines > 0; --lines) take_note(writer.line().value());
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 8'000));
    ASSERT_TRUE(writer.kill()) << "it ended by itself";
    while (const auto line = writer.line()) take_note(*line);
    if (random() % 3 == 0) continue;  // another crash before the store is read
    const std::uint64_t found = expect_planned_store(store, seed, acknowledged, snapshot);
    if (HasFailure()) return;
    acknowledged = found;
  }
  EXPECT_GT(expect_planned_store(store, seed, acknowledged, snapshot), 100U)
      << "too little was written to mean anything";
}

TEST(SqliteLock, AnotherProcessIsToldWhoHasTheStoreUntilThatOneIsGone) {
  const TempDirectory directory;
  const auto store = directory / "railweave.db";
  StoreProcess holder("hold", store, 0);
  const std::string process = std::to_string(holder.id());
  ASSERT_EQ(holder.line(), "ready");
  const auto second = open_sqlite_journal(store);
  ASSERT_EQ(code_of(second), "db.locked");
  EXPECT_EQ(second.error().kind, ErrorKind::conflict);
  EXPECT_NE(second.error().text().find("process " + process), std::string::npos) << second.error().text();
  ASSERT_TRUE(holder.kill());
  EXPECT_EQ(code_of(open_sqlite_journal(store)), "");
}

}  // namespace
}  // namespace railweave::db::sqlite_crash_test
