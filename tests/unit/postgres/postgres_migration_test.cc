// The migrations make the schema that schema.sql shows, one process at a time; a newer or another schema is refused.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "db/postgres/migration.h"
#include "db/postgres/postgres_journal.h"
#include "tests/unit/db/results.h"
#include "tests/unit/db/sample_records.h"
#include "tests/unit/postgres/test_database.h"

namespace railweave::db::postgres::postgres_migration_test {
namespace {

std::unique_ptr<Session> session_of(const TestDatabase& database) { return take(Session::connect(database.url(), {})); }

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::set<std::string> lines(const pqxx::result& rows) {
  std::set<std::string> found;
  for (const auto& row : rows) found.insert(row[0].c_str());
  return found;
}

// Columns, constraints, indexes, triggers, functions and the list of reporting tables.
std::set<std::string> schema_of(const TestDatabase& database) {
  return lines(database.run(
      "SELECT 'column ' || c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' ' || "
      "a.attnotnull::text"
      " || ' ' || a.attstorage::text || ' ' || coalesce(pg_get_expr(d.adbin, d.adrelid), '') FROM pg_attribute a"
      " JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum"
      " WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0"
      " UNION ALL SELECT 'constraint ' || conrelid::regclass || ' ' || pg_get_constraintdef(oid) FROM pg_constraint"
      " WHERE connamespace = 'public'::regnamespace"
      " UNION ALL SELECT 'index ' || indexdef FROM pg_indexes WHERE schemaname = 'public'"
      " UNION ALL SELECT 'trigger ' || pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal"
      " UNION ALL SELECT 'function ' || pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = "
      "'public'::regnamespace"
      " UNION ALL SELECT 'reporting ' || name || ' ' || about FROM reporting_tables"
      " UNION ALL SELECT 'lease ' || id::text || holder || term::text || expires::text FROM lease"));
}

TEST(PostgresMigration, AllTogetherMakeExactlyTheSchemaFile) {
  const TestDatabase migrated;
  take(migrate(*session_of(migrated), embedded_migrations()));
  const TestDatabase shown;
  shown.run(content_of(std::string(RAILWEAVE_MIGRATIONS) + "/schema.sql"));
  EXPECT_EQ(schema_of(migrated), schema_of(shown));
  EXPECT_GE(schema_of(migrated).size(), 60U);
}

TEST(PostgresMigration, ReplicasThatStartTogetherMigrateOnce) {
  const TestDatabase database;
  std::vector<std::jthread> replicas;
  for (int i = 0; i < 6; ++i)
    replicas.emplace_back([&] { take(migrate(*session_of(database), embedded_migrations())); });
  replicas.clear();
  EXPECT_EQ(database.run("SELECT 1 FROM migrations").size(), embedded_migrations().size());
}

TEST(PostgresMigration, OneThatFailsLeavesTheStoreAtTheOneBefore) {
  const TestDatabase database;
  const auto session = session_of(database);
  std::vector<Migration> steps(embedded_migrations().begin(), embedded_migrations().end());
  const auto number = static_cast<std::int32_t>(steps.size() + 1);
  steps.push_back({number, "broken", "ff", "CREATE TABLE third (a integer); INSERT INTO missing VALUES (1)"});
  const auto migrated = migrate(*session, steps);
  ASSERT_FALSE(migrated);
  EXPECT_NE(migrated.error().text().find("(broken)"), std::string::npos) << migrated.error().text();
  EXPECT_TRUE(database.run("SELECT to_regclass('third')")[0][0].is_null());
  take(migrate(*session, embedded_migrations()));
}

TEST(PostgresMigration, AnotherProgramsDatabaseANewerAndAnotherSchemaAreRefused) {
  const TestDatabase other;
  other.run("CREATE TABLE journal (words text)");
  EXPECT_EQ(code_of(open_postgres_journal(other.url())), "db.notRailweave");

  const TestDatabase newer;
  take(migrate(*session_of(newer), embedded_migrations()));
  newer.run("INSERT INTO migrations (version, name, sha256) VALUES (99, 'later', 'aa')");
  EXPECT_EQ(code_of(open_postgres_journal(newer.url())), "db.newer");

  const TestDatabase differing;
  take(migrate(*session_of(differing), embedded_migrations()));
  differing.run("UPDATE migrations SET sha256 = 'aa' WHERE version = 1");
  EXPECT_EQ(code_of(open_postgres_journal(differing.url())), "db.migrationDiffers");
}

TEST(PostgresMigration, AnotherEncodingIsRefused) {
  const TestDatabase database;
  const std::string name = database.name() + "_latin";
  database.run("CREATE DATABASE " + name + " TEMPLATE template0 ENCODING 'LATIN1'");
  const std::string url = database.url() + "_latin";
  EXPECT_EQ(code_of(open_postgres_journal(url)), "db.encoding");
  database.run("DROP DATABASE " + name + " WITH (FORCE)");
}

}  // namespace
}  // namespace railweave::db::postgres::postgres_migration_test
