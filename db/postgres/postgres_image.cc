#include "db/postgres/postgres_image.h"

#include <utility>
#include <vector>

#include <fmt/core.h>

#include "db/postgres/binary.h"
#include "db/postgres/migration.h"
#include "db/postgres/report_tables.h"
#include "db/postgres/rows.h"
#include "db/postgres/session.h"

namespace railweave::db {
namespace {

using postgres::Session;

postgres::SessionOptions image_limits() { return {.statement_patience = std::chrono::minutes(5)}; }

Value value_of(const pqxx::field& field, ReportColumn::Type type) {
  if (field.is_null()) return std::monostate{};
  if (type == ReportColumn::Type::integer) return field.as<std::int64_t>();
  if (type == ReportColumn::Type::real) return field.as<double>();
  return std::string(field.c_str(), field.size());
}

class PostgresPages final : public ReportPages {
 public:
  PostgresPages(std::string table, const ReportColumns& columns, Session& session, std::string cursor)
      : table_(std::move(table)), columns_(columns), session_(session), cursor_(std::move(cursor)) {}

  Result<std::vector<ReportRow>> next() override {
    const auto rows = session_.run("FETCH 1000 FROM " + cursor_, {}, "read " + table_);
    if (!rows) return std::unexpected(rows.error());
    std::vector<ReportRow> page;
    for (const auto& found : *rows) {
      ReportRow& row = page.emplace_back(table_, std::vector<std::pair<std::string, Value>>{});
      pqxx::row::size_type at = 0;
      for (const auto& [name, column] : columns_) row.columns.emplace_back(name, value_of(found[at++], column.type));
    }
    return page;
  }

 private:
  const std::string table_;
  const ReportColumns& columns_;  // of the image
  Session& session_;              // of the image
  const std::string cursor_;
};

class PostgresImage final : public StoreImage {
 public:
  PostgresImage(std::unique_ptr<Session> session, ReportSchema schema, Extent extent)
      : session_(std::move(session)), schema_(std::move(schema)), extent_(extent) {}

  const Extent& extent() const override { return extent_; }
  const std::string& location() const override { return session_->location(); }

  Result<std::vector<StoredRecord>> records(std::uint64_t after_seq) override {
    ReadFilter filter;
    filter.after_seq = after_seq;
    filter.limit = 4096;
    auto page = postgres::fetch_records(*session_, filter);
    if (!page) return std::unexpected(page.error());
    return std::move(page->records);
  }
  Result<std::vector<std::uint64_t>> snapshots() override { return postgres::fetch_snapshot_seqs(*session_); }
  Result<std::optional<StoredSnapshot>> snapshot(std::uint64_t seq) override {
    return postgres::fetch_snapshot(*session_, seq);
  }
  Result<std::vector<std::string>> digests() override {
    const auto rows = session_->run("SELECT digest FROM blobs ORDER BY digest COLLATE \"C\"", {}, "read the documents");
    if (!rows) return std::unexpected(rows.error());
    std::vector<std::string> found;
    for (const auto& row : *rows) found.emplace_back(row[0].c_str());
    return found;
  }
  Result<std::optional<StoredBytes>> blob(const std::string& digest) override {
    return postgres::fetch_blob(*session_, digest);
  }
  const ReportSchema& report_schema() const override { return schema_; }
  Result<std::unique_ptr<ReportPages>> report_pages(const std::string& table) override {
    const ReportColumns& columns = schema_.columns(table);
    std::string names;
    std::string keys;
    for (const auto& [name, column] : columns) {
      names += (names.empty() ? "" : ", ") + sql_name(name);
      if (!column.primary_key) continue;
      keys += (keys.empty() ? "" : ", ") + sql_name(name);
      if (column.type == ReportColumn::Type::text) keys += " COLLATE \"C\"";
    }
    // A table may be read more than once, each time through a cursor of its own.
    const std::string cursor = sql_name(fmt::format("rows {} of {}", ++cursors_, table));
    auto declared = session_->execute("DECLARE " + cursor + " NO SCROLL CURSOR FOR SELECT " + names + " FROM " +
                                          sql_name(table) + " ORDER BY " + keys,
                                      "read " + table);
    if (!declared) return std::unexpected(declared.error());
    return std::make_unique<PostgresPages>(table, columns, *session_, cursor);
  }

 private:
  std::unique_ptr<Session> session_;
  ReportSchema schema_;
  const Extent extent_;
  std::size_t cursors_ = 0;
};

}  // namespace

Result<std::unique_ptr<StoreImage>> open_postgres_image(const std::string& url) {
  auto connected = Session::connect(url, image_limits());
  if (!connected) return std::unexpected(connected.error());
  Session& session = **connected;
  const auto there = session.run("SELECT to_regclass('migrations') IS NOT NULL", {}, "look for a store");
  if (!there) return std::unexpected(there.error());
  if (!(*there)[0][0].as<bool>()) {
    return fail(ErrorKind::notFound, "db.notThere", "there is no store in this database", session.location(),
                "check the name of the database");
  }
  const auto version = session.run("SELECT max(version) FROM migrations", {}, "read the schema's version");
  if (!version) return std::unexpected(version.error());
  const auto newest = static_cast<std::int64_t>(postgres::embedded_migrations().size());
  if (const auto found = (*version)[0][0].as<std::int64_t>(0); found != newest) {
    return fail(
        ErrorKind::precondition, found < newest ? "db.older" : "db.newer",
        fmt::format("the store has schema version {}, this program's is {}", found, newest), session.location(),
        found < newest ? "start the service once, which brings it up to date" : "use the release that wrote it");
  }
  auto begun = session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "read the store as of one moment");
  if (!begun) return std::unexpected(begun.error());
  auto schema = postgres::load_report_schema(session);
  if (!schema) return std::unexpected(schema.error());
  const auto ends = session.run("SELECT coalesce(min(seq), 0), coalesce(max(seq), 0) FROM journal", {},
                                "read the ends of the journal");
  if (!ends) return std::unexpected(ends.error());
  const StoreImage::Extent extent{static_cast<std::uint64_t>((*ends)[0][0].as<std::int64_t>()),
                                  static_cast<std::uint64_t>((*ends)[0][1].as<std::int64_t>())};
  return std::make_unique<PostgresImage>(std::move(*connected), std::move(*schema), extent);
}

}  // namespace railweave::db
