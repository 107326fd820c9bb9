#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "db/checksum.h"
#include "db/journal_rules.h"
#include "db/postgres/append_statement.h"
#include "db/postgres/exclusive.h"
#include "db/postgres/migration.h"
#include "db/postgres/postgres_image.h"
#include "db/postgres/report_tables.h"
#include "db/postgres/rows.h"
#include "db/postgres/session.h"
#include "db/stored.h"

namespace railweave::db {
namespace {

using postgres::Session;

postgres::SessionOptions import_limits() { return {.statement_patience = std::chrono::minutes(5)}; }

// One transaction that holds the lease's row.
class PostgresImport final : public StoreImport {
 public:
  PostgresImport(std::unique_ptr<Session> session, ReportSchema schema)
      : session_(std::move(session)), schema_(std::move(schema)) {}

  Result<void> begin() {
    if (auto begun = session_->execute("BEGIN", "begin the import"); !begun) return begun;
    auto fence = postgres::take_store(*session_);
    if (!fence) return std::unexpected(fence.error());
    fence_ = std::move(*fence);
    std::string any =
        "SELECT EXISTS (SELECT FROM journal) OR EXISTS (SELECT FROM snapshots) OR EXISTS (SELECT FROM blobs)";
    for (const auto& [table, columns] : schema_.tables()) any += " OR EXISTS (SELECT FROM " + sql_name(table) + ")";
    const auto held = session_->run(any, {}, "look whether the store is empty");
    if (!held) return std::unexpected(held.error());
    if ((*held)[0][0].as<bool>()) {
      return fail(ErrorKind::conflict, "db.exists", "the store is not empty", session_->location(),
                  "name a new database; one that is not needed any more is removed with DROP DATABASE");
    }
    return {};
  }

  Result<void> add(const Batch& batch) override {
    if (auto checked = check_batch(batch); !checked) return checked;
    for (const ReportRow& row : batch.reports) {
      if (auto checked = schema_.check(row); !checked) return checked;
    }
    if (!batch.records.empty()) {
      if (last_seq_ == 0) last_seq_ = batch.records.front().seq - 1;
      if (auto checked = check_continues(batch.records, last_seq_, last_term_); !checked) return checked;
      last_seq_ = batch.records.back().seq;
      last_term_ = batch.records.back().term;
    }
    const PackedBatch packed(batch);
    for (std::size_t i = 0; i < batch.blobs.size(); ++i) {
      auto written = postgres::insert_blob(*session_, batch.blobs[i], packed.blobs[i], packed.blob_checksums[i]);
      if (!written) return written;
    }
    if (batch.records.empty() && batch.reports.empty()) return {};
    const auto statement = postgres::append_statement(batch, packed, 0, fence_, schema_);
    const auto done = session_->run(statement.sql, statement.parameters, "write the store");
    if (!done) return std::unexpected(done.error());
    return held((*done)[0][0].as<std::int64_t>() == 1);
  }

  Result<void> add(const Snapshot& snapshot) override {
    if (auto checked = check_snapshot(snapshot); !checked) return checked;
    const auto written =
        postgres::write_snapshot(*session_, snapshot, PackedText(snapshot.payload), checksum(snapshot), fence_);
    if (!written) return std::unexpected(written.error());
    return held(*written);
  }

  // Terms of later writers are above those of the records.
  Result<void> finish() override {
    if (auto given = postgres::give_store_back(*session_, std::max(fence_.term, last_term_)); !given) return given;
    return session_->execute("COMMIT", "commit the import");
  }

 private:
  Result<void> held(bool is) const {
    if (is) return {};
    return fail(ErrorKind::unavailable, "db.deposed", "the import took more than a day", session_->location());
  }

  std::unique_ptr<Session> session_;
  ReportSchema schema_;
  postgres::Fence fence_;
  std::uint64_t last_seq_ = 0;
  std::uint64_t last_term_ = 0;
};

}  // namespace

Result<std::unique_ptr<StoreImport>> import_postgres_store(const std::string& url) {
  auto session = Session::connect(url, import_limits());
  if (!session) return std::unexpected(session.error());
  if (auto migrated = postgres::migrate(**session, postgres::embedded_migrations()); !migrated) {
    return std::unexpected(migrated.error());
  }
  auto schema = postgres::load_report_schema(**session);
  if (!schema) return std::unexpected(schema.error());
  auto made = std::make_unique<PostgresImport>(std::move(*session), std::move(*schema));
  if (auto begun = made->begin(); !begun) return std::unexpected(begun.error());
  return made;
}

}  // namespace railweave::db
