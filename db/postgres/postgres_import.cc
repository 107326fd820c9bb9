#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "db/checksum.h"
#include "db/journal_rules.h"
#include "db/postgres/append_statement.h"
#include "db/postgres/binary.h"
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
constexpr const char* kImporter = "railweave admin";

// One transaction that holds the lease's row.
class PostgresImport final : public StoreImport {
 public:
  PostgresImport(std::unique_ptr<Session> session, ReportSchema schema)
      : session_(std::move(session)), schema_(std::move(schema)) {}

  Result<void> begin() {
    if (auto begun = session_->execute("BEGIN", "begin the import"); !begun) return begun;
    const auto lease = session_->run(
        "SELECT holder, term, expires > clock_timestamp() FROM lease WHERE id = 1 FOR UPDATE", {}, "read the lease");
    if (!lease) return std::unexpected(lease.error());
    if (lease->empty() || (*lease)[0][2].as<bool>()) {
      return fail(ErrorKind::conflict, "db.locked",
                  "the store is in use by " + std::string(lease->empty() ? "another process" : (*lease)[0][0].c_str()),
                  session_->location(), "stop the service that has it, or name another store");
    }
    term_ = static_cast<std::uint64_t>((*lease)[0][1].as<std::int64_t>());
    std::string any =
        "SELECT EXISTS (SELECT FROM journal) OR EXISTS (SELECT FROM snapshots) OR EXISTS (SELECT FROM blobs)";
    for (const auto& [table, columns] : schema_.tables()) any += " OR EXISTS (SELECT FROM " + sql_name(table) + ")";
    const auto held = session_->run(any, {}, "look whether the store is empty");
    if (!held) return std::unexpected(held.error());
    if ((*held)[0][0].as<bool>()) {
      return fail(ErrorKind::conflict, "db.exists", "the store is not empty", session_->location(),
                  "name a new database; one that is not needed any more is removed with DROP DATABASE");
    }
    const auto taken =
        session_->run("UPDATE lease SET holder = $1::text, expires = clock_timestamp() + interval '1 day' WHERE id = 1",
                      {postgres::binary(kImporter)}, "take the lease");
    if (!taken) return std::unexpected(taken.error());
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
    const auto statement = postgres::append_statement(batch, packed, 0, {kImporter, term_}, schema_);
    const auto done = session_->run(statement.sql, statement.parameters, "write the store");
    if (!done) return std::unexpected(done.error());
    return held((*done)[0][0].as<std::int64_t>() == 1);
  }

  Result<void> add(const Snapshot& snapshot) override {
    if (auto checked = check_snapshot(snapshot); !checked) return checked;
    const auto written = postgres::write_snapshot(*session_, snapshot, PackedText(snapshot.payload), checksum(snapshot),
                                                  {kImporter, term_});
    if (!written) return std::unexpected(written.error());
    return held(*written);
  }

  // Terms of later writers are above those of the records.
  Result<void> finish() override {
    const auto given = session_->run(
        "UPDATE lease SET holder = '', term = $1::bigint, expires = '-infinity' WHERE id = 1",
        {postgres::binary(static_cast<std::int64_t>(std::max(term_, last_term_)))}, "give the lease back");
    if (!given) return std::unexpected(given.error());
    return session_->execute("COMMIT", "commit the import");
  }

 private:
  Result<void> held(bool is) const {
    if (is) return {};
    return fail(ErrorKind::unavailable, "db.deposed", "the import took more than a day", session_->location());
  }

  std::unique_ptr<Session> session_;
  ReportSchema schema_;
  std::uint64_t term_ = 0;
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
