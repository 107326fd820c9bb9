// Files with bytes changed or cut off, by seed: an error, or what was written; never other data, never a crash.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include <gtest/gtest.h>

#include "db/replay.h"
#include "db/sqlite/sqlite_journal.h"
#include "tests/unit/db/planned_batch.h"
#include "tests/unit/db/planned_store_check.h"
#include "tests/unit/db/results.h"
#include "tests/unit/db/sample_records.h"
#include "tests/unit/db/store_process.h"
#include "tests/unit/db/temp_directory.h"

namespace railweave::db::sqlite_damage_test {
namespace {

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

// A few bytes changed, a stretch of zeros, or the end cut off.
std::string damaged(std::string content, std::mt19937_64& random) {
  switch (random() % 4) {
    case 0:
      content.resize(random() % content.size());
      break;
    case 1: {
      const std::size_t at = random() % content.size();
      const std::size_t size = std::min<std::size_t>(content.size() - at, 1 + random() % 5000);
      content.replace(at, size, size, '\0');
      break;
    }
    default:
      for (std::uint64_t n = 1 + random() % 8; n > 0; --n) {
        content[random() % content.size()] = static_cast<char>(random());
      }
  }
  return content;
}

TEST(SqliteDamage, AChangedDatabaseFileGivesAnErrorOrWhatWasWritten) {
  const TempDirectory directory;
  const auto store = directory / "railweave.db";
  const Batch batch = [] {
    Batch made = sample_batch(1, 150);
    made.records[20].payload = sample_document(500'000);
    made.records[30].payload = random_text(9'000, 30);
    made.blobs.push_back({sample_digest(1), sample_document(300'000)});
    return made;
  }();
  const Snapshot older{100, 1, 0, 1, random_text(20'000, 1)};
  const Snapshot newer{140, 1, 0, 1, sample_document(400'000)};
  {
    const auto journal = take(open_sqlite_journal(store));
    take(journal->append(batch));
    take(journal->save_snapshot(older));
    take(journal->save_snapshot(newer));
  }
  const std::string whole = content_of(store);
  std::size_t noticed = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    write_file(store, damaged(whole, random));
    std::filesystem::remove(directory / "railweave.db-wal");
    std::filesystem::remove(directory / "railweave.db-shm");
    std::size_t warnings = 0;
    SqliteOptions options;
    options.on_warning = [&](const Error&) { ++warnings; };
    const auto opened = open_sqlite_journal(store, options);
    if (!opened) {
      ++noticed;
      EXPECT_FALSE(opened.error().message.empty());
      continue;
    }
    Journal& journal = **opened;
    std::size_t at = 0;
    const auto replayed = replay(journal, 0, [&](const Record& record) -> Result<void> {
      EXPECT_TRUE(at < batch.records.size() && record == batch.records[at]) << "record " << record.seq;
      ++at;
      return {};
    });
    const auto blob = journal.blob(sample_digest(1));
    EXPECT_TRUE(!blob || !*blob || **blob == batch.blobs[0].bytes);
    const auto snapshot = journal.latest_snapshot();
    EXPECT_TRUE(!snapshot || !*snapshot || **snapshot == newer || **snapshot == older);
    if (!replayed || !blob || !snapshot || warnings != 0) ++noticed;
    (void)journal.append(sample_batch(at + 1, 1));
    (void)journal.save_snapshot({at, 1, 0, 1, "{}"});
  }
  EXPECT_GT(noticed, 100U) << "too little was damaged to mean anything";
}

class SqliteWalDamage : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, SqliteWalDamage, ::testing::Range<std::uint64_t>(1, 4));

TEST_P(SqliteWalDamage, ACutOrChangedWalGivesWholeBatches) {
  const std::uint64_t seed = GetParam();
  const TempDirectory directory;
  const auto store = directory / "railweave.db";
  {
    StoreProcess writer("write", store, seed);
    for (int i = 0; i < 40; ++i) ASSERT_TRUE(writer.line());
    ASSERT_TRUE(writer.kill());
  }
  const std::string database = content_of(store);
  const std::string wal = content_of(directory / "railweave.db-wal");
  ASSERT_GT(wal.size(), 100'000U);
  std::mt19937_64 random(seed);
  for (int trial = 0; trial < 25 && !HasFailure(); ++trial) {
    SCOPED_TRACE(trial);
    const TempDirectory copy;
    write_file(copy / "railweave.db", database);
    if (trial != 0) write_file(copy / "railweave.db-wal", damaged(wal, random));
    if (trial == 0 && database.size() < 4096) continue;
    const std::uint64_t found = expect_planned_store(copy / "railweave.db", seed, 0, 0);
    // It goes on from there.
    const auto journal = take(open_sqlite_journal(copy / "railweave.db"));
    take(journal->append(planned_batch(seed, found + 1)));
  }
}

}  // namespace
}  // namespace railweave::db::sqlite_damage_test
