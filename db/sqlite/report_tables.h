// The reporting tables as the schema has them, and writing rows into them: only tables that reporting_tables names,
// only their columns, values of their types, always bound.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "db/journal.h"
#include "db/sqlite/connection.h"

namespace railweave::db::sqlite {

// Constant after load, so it may be used from any thread.
class ReportTables {
 public:
  static Result<ReportTables> load(Connection& connection);

  // Invalid: db.unknownTable, db.unknownColumn, db.invalid (primary key not named, a column twice, a value of another
  // type, NULL where there is none, text that is too long or not UTF-8, a number that is not finite).
  [[nodiscard]] Result<void> check(const ReportRow& row) const;

  // Of a row that was checked.
  [[nodiscard]] Result<void> upsert(Connection& connection, const ReportRow& row) const;

 private:
  enum class Type { integer, real, text };
  struct Column {
    Type type = Type::text;
    bool not_null = false;
    bool has_default = false;
    bool primary_key = false;
  };
  using Columns = std::map<std::string, Column, std::less<>>;

  static Result<Columns> load_columns(Connection& connection, const std::string& table);
  static Result<void> check_value(const Column& column, const Value& value, const std::string& location);
  [[nodiscard]] std::string upsert_sql(const ReportRow& row) const;

  std::map<std::string, Columns, std::less<>> tables_;
};

}  // namespace railweave::db::sqlite
