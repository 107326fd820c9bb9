#include "db/sqlite/sqlite_image.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "db/sqlite/connection.h"
#include "db/sqlite/migration.h"
#include "db/sqlite/report_tables.h"
#include "db/sqlite/rows.h"
#include "db/sqlite/store_file.h"

namespace railweave::db {
namespace {

using sqlite::Connection;
constexpr std::int64_t kImageBusyTimeout_ms = 5000;

Value value_at(const sqlite::Statement& row, int column, ReportColumn::Type type) {
  if (row.is_null(column)) return std::monostate{};
  if (type == ReportColumn::Type::integer) return row.integer(column);
  if (type == ReportColumn::Type::real) return row.real(column);
  return std::string(row.bytes(column));
}

class SqlitePages final : public ReportPages {
 public:
  SqlitePages(std::string table, const ReportColumns& columns, sqlite::StatementUse rows)
      : table_(std::move(table)), columns_(columns), rows_(std::move(rows)) {}

  Result<std::vector<ReportRow>> next() override {
    constexpr std::size_t kRows = 1000;
    std::vector<ReportRow> page;
    while (!at_end_ && page.size() < kRows) {
      const auto more = rows_->step("read " + table_);
      if (!more) return std::unexpected(more.error());
      at_end_ = !*more;
      if (at_end_) break;
      ReportRow& row = page.emplace_back(table_, std::vector<std::pair<std::string, Value>>{});
      int at = 0;
      for (const auto& [name, column] : columns_) row.columns.emplace_back(name, value_at(*rows_, at++, column.type));
    }
    return page;
  }

 private:
  const std::string table_;
  const ReportColumns& columns_;  // of the image
  sqlite::StatementUse rows_;
  bool at_end_ = false;
};

class SqliteImage final : public StoreImage {
 public:
  SqliteImage(Connection reader, ReportSchema schema, Extent extent)
      : reader_(std::move(reader)), schema_(std::move(schema)), extent_(extent) {}

  const Extent& extent() const override { return extent_; }
  const std::string& location() const override { return reader_.location(); }

  Result<std::vector<StoredRecord>> records(std::uint64_t after_seq) override {
    ReadFilter filter;
    filter.after_seq = after_seq;
    filter.limit = 4096;
    auto page = sqlite::fetch_records(reader_, filter);
    if (!page) return std::unexpected(page.error());
    return std::move(page->records);
  }
  Result<std::vector<std::uint64_t>> snapshots() override { return sqlite::fetch_snapshot_seqs(reader_); }
  Result<std::optional<StoredSnapshot>> snapshot(std::uint64_t seq) override {
    return sqlite::fetch_snapshot(reader_, seq);
  }
  Result<std::vector<std::string>> digests() override {
    auto statement = reader_.prepared("SELECT digest FROM blobs ORDER BY digest");
    if (!statement) return std::unexpected(statement.error());
    std::vector<std::string> found;
    while (true) {
      const auto more = (*statement)->step("read the documents");
      if (!more) return std::unexpected(more.error());
      if (!*more) return found;
      found.emplace_back((*statement)->bytes(0));
    }
  }
  Result<std::optional<StoredBytes>> blob(const std::string& digest) override {
    return sqlite::fetch_blob(reader_, digest);
  }
  const ReportSchema& report_schema() const override { return schema_; }
  Result<std::unique_ptr<ReportPages>> report_pages(const std::string& table) override {
    const ReportColumns& columns = schema_.columns(table);
    std::string names;
    std::string keys;
    for (const auto& [name, column] : columns) {
      names += (names.empty() ? "" : ", ") + sql_name(name);
      if (column.primary_key) keys += (keys.empty() ? "" : ", ") + sql_name(name);
    }
    auto rows = reader_.prepared("SELECT " + names + " FROM " + sql_name(table) + " ORDER BY " + keys);
    if (!rows) return std::unexpected(rows.error());
    return std::make_unique<SqlitePages>(table, columns, std::move(*rows));
  }

 private:
  Connection reader_;
  ReportSchema schema_;
  const Extent extent_;
};

}  // namespace

Result<std::unique_ptr<StoreImage>> open_sqlite_image(const std::filesystem::path& path) {
  const auto file = sqlite::find_store_file(path, false);
  if (!file) return std::unexpected(file.error());
  auto reader = Connection::open(*file, kImageBusyTimeout_ms);
  if (!reader) return std::unexpected(reader.error());
  const auto version = sqlite::schema_version(*reader, sqlite::embedded_migrations());
  if (!version) return std::unexpected(version.error());
  if (static_cast<std::size_t>(*version) < sqlite::embedded_migrations().size()) {
    return fail(ErrorKind::precondition, "db.older",
                fmt::format("the store has schema version {}, older than this program's", *version), path.string(),
                "start the service once, which brings it up to date");
  }
  if (auto begun = reader->execute("BEGIN", "read the store as of one moment"); !begun)
    return std::unexpected(begun.error());
  const auto structure = reader->text("PRAGMA integrity_check(1)");
  if (!structure) return std::unexpected(structure.error());
  if (*structure != "ok") {
    return fail(ErrorKind::internal, "db.damaged", *structure, file->string(), "restore the store from a backup");
  }
  auto tables = sqlite::ReportTables::load(*reader);
  if (!tables) return std::unexpected(tables.error());
  const auto last = reader->integer("SELECT max(seq) FROM journal");
  if (!last) return std::unexpected(last.error());
  const auto floor = sqlite::fetch_floor(*reader);
  if (!floor) return std::unexpected(floor.error());
  StoreImage::Extent extent;
  extent.last_seq = static_cast<std::uint64_t>(*last);
  extent.first_seq = extent.last_seq == 0 ? 0 : *floor + 1;
  return std::make_unique<SqliteImage>(std::move(*reader), tables->schema(), extent);
}

}  // namespace railweave::db
