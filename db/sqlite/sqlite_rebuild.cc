#include "db/sqlite/sqlite_rebuild.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "db/sqlite/connection.h"
#include "db/sqlite/migration.h"
#include "db/sqlite/report_tables.h"
#include "db/sqlite/store_file.h"
#include "db/sqlite/store_lock.h"
#include "db/sqlite/transaction.h"

namespace railweave::db {
namespace {

using sqlite::Connection;
constexpr std::int64_t kBusyTimeout_ms = 5000;

class SqliteRebuild final : public ReportRebuild {
 public:
  SqliteRebuild(sqlite::StoreLock lock, std::unique_ptr<Connection> writer, sqlite::ReportTables tables,
                sqlite::Transaction transaction)
      : lock_(std::move(lock)),
        writer_(std::move(writer)),
        tables_(std::move(tables)),
        transaction_(std::move(transaction)) {}

  Result<void> put(const std::vector<ReportRow>& rows) override {
    for (const ReportRow& row : rows) {
      if (auto checked = tables_.check(row); !checked) return checked;
      if (auto written = tables_.upsert(*writer_, row); !written) return written;
    }
    return {};
  }
  Result<void> remove(const std::string& table, const std::string& column, const Value& key) override {
    auto statement = writer_->prepared("DELETE FROM " + sql_name(table) + " WHERE " + sql_name(column) + " = ?1");
    if (!statement) return std::unexpected(statement.error());
    sqlite::ReportTables::bind(**statement, 1, key);
    return (*statement)->run("remove a row of " + table);
  }
  Result<void> finish() override { return transaction_.commit(); }

 private:
  sqlite::StoreLock lock_;  // given back last
  std::unique_ptr<Connection> writer_;
  sqlite::ReportTables tables_;
  sqlite::Transaction transaction_;
};

}  // namespace

Result<std::unique_ptr<ReportRebuild>> rebuild_sqlite_reports(const std::filesystem::path& path) {
  const auto file = sqlite::find_store_file(path, false);
  if (!file) return std::unexpected(file.error());
  auto lock = sqlite::StoreLock::acquire(*file);
  if (!lock) return std::unexpected(lock.error());
  auto opened = Connection::open(*file, kBusyTimeout_ms);
  if (!opened) return std::unexpected(opened.error());
  auto writer = std::make_unique<Connection>(std::move(*opened));
  const auto version = sqlite::schema_version(*writer, sqlite::embedded_migrations());
  if (!version) return std::unexpected(version.error());
  if (auto set = writer->execute("PRAGMA synchronous = FULL", "configure the store"); !set)
    return std::unexpected(set.error());
  auto tables = sqlite::ReportTables::load(*writer);
  if (!tables) return std::unexpected(tables.error());
  auto transaction = sqlite::Transaction::begin(*writer);
  if (!transaction) return std::unexpected(transaction.error());
  return std::make_unique<SqliteRebuild>(std::move(*lock), std::move(writer), std::move(*tables),
                                         std::move(*transaction));
}

}  // namespace railweave::db
