// The migrations make the schema that schema.sql shows, one transaction each, and keep what an older store holds.
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "db/checksum.h"
#include "db/compression.h"
#include "db/sqlite/migration.h"
#include "db/sqlite/rows.h"
#include "db/sqlite/sqlite_journal.h"
#include "tests/unit/db/results.h"
#include "tests/unit/db/sample_records.h"
#include "tests/unit/db/temp_directory.h"

namespace railweave::db::sqlite::sqlite_migration_test {
namespace {

const std::filesystem::path kMigrations = std::filesystem::path(RAILWEAVE_SOURCE_DIR) / "db/migrations/sqlite";

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Without comments and without blanks that mean nothing.
std::string plain(const std::string& sql) {
  std::string text;
  for (std::size_t i = 0; i < sql.size(); ++i) {
    if (sql.compare(i, 2, "--") == 0) i = std::min(sql.find('\n', i), sql.size());
    const bool blank = i >= sql.size() || std::isspace(static_cast<unsigned char>(sql[i])) != 0;
    if (!blank) {
      text += sql[i];
    } else if (!text.empty() && text.back() != ' ') {
      text += ' ';
    }
  }
  std::string tight;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool beside = (i + 1 < text.size() && std::string("(),").contains(text[i + 1])) ||
                        (!tight.empty() && std::string("(),").contains(tight.back()));
    if (text[i] != ' ' || !beside) tight += text[i];
  }
  return tight;
}

// Every object of the schema, and every row of the list of reporting tables.
std::set<std::string> schema_of(Connection& connection) {
  std::set<std::string> found;
  {
    const auto row = take(connection.prepared("SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema"));
    while (take(row->step("read"))) {
      found.insert(std::string(row->bytes(0)) + " " + std::string(row->bytes(1)) + " on " + std::string(row->bytes(2)) +
                   ": " + plain(std::string(row->bytes(3))));
    }
  }
  const auto row = take(connection.prepared("SELECT name, about FROM reporting_tables"));
  while (take(row->step("read")))
    found.insert("reporting " + std::string(row->bytes(0)) + ": " + std::string(row->bytes(1)));
  return found;
}

TEST(SqliteMigration, AllTogetherMakeExactlyTheSchemaFile) {
  auto migrated = take(Connection::open_in_memory());
  take(migrate(migrated, embedded_migrations(), 0, 1));
  auto shown = take(Connection::open_in_memory());
  take(shown.execute(content_of(kMigrations / "schema.sql"), "read schema.sql"));
  EXPECT_EQ(schema_of(migrated), schema_of(shown));
  EXPECT_GE(schema_of(migrated).size(), 20U);
}

TEST(SqliteMigration, TheProgramHoldsEveryMigrationFileByteForByte) {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kMigrations)) {
    if (entry.path().filename().string().starts_with("V")) files.insert(entry.path().filename());
  }
  ASSERT_FALSE(files.empty());
  ASSERT_EQ(embedded_migrations().size(), files.size());
  auto file = files.begin();
  std::int32_t version = 0;
  for (const Migration& migration : embedded_migrations()) {
    EXPECT_EQ(migration.version, ++version);
    EXPECT_EQ(migration.sql, content_of(kMigrations / *file));
    EXPECT_NE(file->find(migration.name), std::string::npos);
    EXPECT_EQ(migration.sha256.size(), 64U);
    ++file;
  }
}

constexpr std::array<Migration, 3> kSteps = {{
    {1, "first", "a1",
     "CREATE TABLE migrations (version INTEGER PRIMARY KEY, name TEXT, sha256 TEXT, applied_at_us INTEGER)"},
    {2, "second", "b2", "CREATE TABLE second (a); INSERT INTO second VALUES (7)"},
    {3, "third", "c3", "CREATE TABLE third (a); UPDATE second SET a = 8; INSERT INTO missing VALUES (1)"},
}};

TEST(SqliteMigration, OneThatFailsLeavesTheStoreAtTheOneBefore) {
  auto connection = take(Connection::open_in_memory());
  EXPECT_EQ(take(schema_version(connection, kSteps)), 0);
  const auto migrated = migrate(connection, kSteps, 0, 1);
  ASSERT_FALSE(migrated);
  EXPECT_NE(migrated.error().text().find("migration 3 (third)"), std::string::npos) << migrated.error().text();
  EXPECT_EQ(take(schema_version(connection, kSteps)), 2);
  EXPECT_EQ(take(connection.integer("SELECT a FROM second")), 7);
  EXPECT_EQ(take(connection.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'third'")), 0);
  EXPECT_FALSE(connection.in_transaction());

  auto repaired = kSteps;
  repaired[2].sql = "CREATE TABLE third (a); UPDATE second SET a = 8";
  take(migrate(connection, repaired, 2, 1));
  EXPECT_EQ(take(schema_version(connection, repaired)), 3);
  EXPECT_EQ(take(connection.integer("SELECT a FROM second")), 8);
}

TEST(SqliteMigration, AProgramWithFewerOrOtherMigrationsRefuses) {
  auto connection = take(Connection::open_in_memory());
  take(migrate(connection, std::span(kSteps).first(2), 0, 1));
  EXPECT_EQ(take(schema_version(connection, kSteps)), 2);
  EXPECT_EQ(code_of(schema_version(connection, std::span(kSteps).first(1))), "db.newer");
  auto other = kSteps;
  other[1].sha256 = "d4";
  EXPECT_EQ(code_of(schema_version(connection, other)), "db.migrationDiffers");
}

TEST(SqliteMigration, AStoreOfTheFirstReleaseIsBroughtUpToDateWithItsRecords) {
  const TempDirectory directory;
  const auto store = directory / "railweave.db";
  std::ofstream(store).close();
  const Batch batch = sample_batch(1, 10);
  {
    auto connection = take(Connection::open(store, 1000));
    take(migrate(connection, embedded_migrations().first(1), 0, 1));
    for (const Record& record : batch.records) {
      take(insert_record(connection, record, PackedText(record.payload), checksum(record)));
    }
  }
  const auto journal = take(open_sqlite_journal(store));
  EXPECT_EQ(take(journal->read({})), batch.records);
  Batch next = sample_batch(11, 1);
  next.reports.push_back({"job_history", {{"id", "job-1"}}});
  take(journal->append(next));
}

}  // namespace
}  // namespace railweave::db::sqlite::sqlite_migration_test
