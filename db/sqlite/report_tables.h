// Reading the reporting tables' schema from SQLite, and writing rows into them: values are always bound.
#pragma once

#include <string>

#include "db/journal.h"
#include "db/report_schema.h"
#include "db/sqlite/connection.h"

namespace railweave::db::sqlite {

// Constant after load, so it may be used from any thread.
class ReportTables {
 public:
  static Result<ReportTables> load(Connection& connection);

  [[nodiscard]] Result<void> check(const ReportRow& row) const { return schema_.check(row); }

  [[nodiscard]] const ReportSchema& schema() const { return schema_; }

  // Takes a row that was checked.
  [[nodiscard]] Result<void> upsert(Connection& connection, const ReportRow& row) const;

  [[nodiscard]] Result<std::vector<ReportRow>> read(Connection& connection, const ReportFilter& filter) const;

  static void bind(Statement& statement, int parameter, const Value& value);

 private:
  static Result<ReportColumns> load_columns(Connection& connection, const std::string& table);
  [[nodiscard]] std::string upsert_sql(const ReportRow& row) const;

  ReportSchema schema_;
};

}  // namespace railweave::db::sqlite
