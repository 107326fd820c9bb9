#include "db/postgres/postgres_rebuild.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "db/postgres/append_statement.h"
#include "db/postgres/binary.h"
#include "db/postgres/exclusive.h"
#include "db/postgres/report_tables.h"
#include "db/postgres/session.h"
#include "db/stored.h"

namespace railweave::db {
namespace {

using postgres::Session;

// One transaction that holds the lease's row.
class PostgresRebuild final : public ReportRebuild {
 public:
  PostgresRebuild(std::unique_ptr<Session> session, ReportSchema schema, postgres::Fence fence)
      : session_(std::move(session)), schema_(std::move(schema)), fence_(std::move(fence)) {}

  Result<void> put(const std::vector<ReportRow>& rows) override {
    if (rows.empty()) return {};
    Batch batch;
    batch.reports = rows;
    for (const ReportRow& row : rows) {
      if (auto checked = schema_.check(row); !checked) return checked;
    }
    const auto statement = postgres::append_statement(batch, PackedBatch(batch), 0, fence_, schema_);
    const auto done = session_->run(statement.sql, statement.parameters, "write the reporting tables");
    if (!done) return std::unexpected(done.error());
    if ((*done)[0][0].as<std::int64_t>() == 1) return {};
    return fail(ErrorKind::unavailable, "db.deposed", "it took more than a day", session_->location());
  }
  Result<void> remove(const std::string& table, const std::string& column, const Value& key) override {
    const auto* text = std::get_if<std::string>(&key);
    const auto done =
        session_->run("DELETE FROM " + sql_name(table) + " WHERE " + sql_name(column) +
                          (text != nullptr ? " = $1::text" : " = $1::bigint"),
                      {text != nullptr ? postgres::binary(*text) : postgres::binary(std::get<std::int64_t>(key))},
                      "remove a row of " + table);
    if (!done) return std::unexpected(done.error());
    return {};
  }
  Result<void> finish() override {
    if (auto given = postgres::give_store_back(*session_, fence_.term); !given) return given;
    return session_->execute("COMMIT", "commit the reporting tables");
  }

 private:
  std::unique_ptr<Session> session_;
  ReportSchema schema_;
  postgres::Fence fence_;
};

}  // namespace

Result<std::unique_ptr<ReportRebuild>> rebuild_postgres_reports(const std::string& url) {
  auto session = Session::connect(url, {.statement_patience = std::chrono::minutes(5)});
  if (!session) return std::unexpected(session.error());
  // The transaction waits while the journal is read.
  if (auto set = (*session)->execute("SET idle_in_transaction_session_timeout = 0", "configure the session"); !set)
    return std::unexpected(set.error());
  auto schema = postgres::load_report_schema(**session);
  if (!schema) return std::unexpected(schema.error());
  if (auto begun = (*session)->execute("BEGIN", "begin a transaction"); !begun) return std::unexpected(begun.error());
  auto fence = postgres::take_store(**session);
  if (!fence) return std::unexpected(fence.error());
  return std::make_unique<PostgresRebuild>(std::move(*session), std::move(*schema), std::move(*fence));
}

}  // namespace railweave::db
