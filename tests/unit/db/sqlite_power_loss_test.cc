// The machine loses its power at random moments: what append acknowledged must have been synced, not only written.
#include <memory>
#include <random>

#include <gtest/gtest.h>

#include "db/sqlite/connection.h"
#include "db/sqlite/sqlite_journal.h"
#include "tests/unit/db/planned_batch.h"
#include "tests/unit/db/planned_store_check.h"
#include "tests/unit/db/power_loss_disk.h"
#include "tests/unit/db/results.h"
#include "tests/unit/db/temp_directory.h"

namespace railweave::db::sqlite_power_loss_test {
namespace {

// An image taken at some moment, and what had been acknowledged by then.
struct PowerLoss {
  std::unique_ptr<TempDirectory> image = std::make_unique<TempDirectory>();
  std::uint64_t acknowledged = 0;
  std::uint64_t snapshot = 0;
};

class SqlitePowerLoss : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, SqlitePowerLoss, ::testing::Range<std::uint64_t>(1, 4));

TEST_P(SqlitePowerLoss, NothingAcknowledgedIsLost) {
  const std::uint64_t seed = GetParam();
  std::mt19937_64 random(seed);
  const TempDirectory directory;
  std::vector<PowerLoss> losses;
  std::uint64_t acknowledged = 0;
  std::uint64_t snapshot = 0;
  {
    PowerLossDisk disk(std::filesystem::canonical(directory.path()));
    std::uint64_t one_in = 10;  // often while the store is made and migrated, then rarely
    const auto lose_power = [&] {
      PowerLoss& loss = losses.emplace_back();
      loss.acknowledged = acknowledged;
      loss.snapshot = snapshot;
      disk.write_image(loss.image->path(), random);
    };
    disk.before_operation = [&] {
      if (random() % one_in == 0) lose_power();
    };
    for (int life = 0; life < 3; ++life) {
      const auto journal = take(open_sqlite_journal(directory / "railweave.db"));
      one_in = 900;
      for (int i = 0; i < 40; ++i) {
        const Batch batch = planned_batch(seed, acknowledged + 1);
        take(journal->append(batch));
        acknowledged = batch.records.back().seq;
        if (const auto planned = planned_snapshot(seed, acknowledged)) {
          take(journal->save_snapshot(*planned));
          snapshot = acknowledged;
        }
        if (random() % 8 == 0) lose_power();
        if (random() % 8 == 0) {  // rewrites the database file, then starts a new WAL
          auto other = take(sqlite::Connection::open(directory / "railweave.db", 1000));
          take(other.execute(random() % 2 == 0 ? "PRAGMA wal_checkpoint(RESTART)" : "PRAGMA wal_checkpoint(PASSIVE)",
                             "checkpoint"));
        }
      }
      one_in = 50;
    }
  }
  EXPECT_GT(losses.size(), 30U);
  for (std::size_t i = 0; i < losses.size() && !HasFailure(); ++i) {
    SCOPED_TRACE("power loss " + std::to_string(i) + " of " + std::to_string(losses.size()));
    expect_planned_store(*losses[i].image / "railweave.db", seed, losses[i].acknowledged, losses[i].snapshot);
  }
  expect_planned_store(directory / "railweave.db", seed, acknowledged, snapshot);
}

}  // namespace
}  // namespace railweave::db::sqlite_power_loss_test
