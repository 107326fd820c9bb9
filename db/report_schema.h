// The reporting tables as a store's schema has them, and what a row may hold: only tables that are listed, only their
// columns, values of their types. Each store fills it when it opens. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "db/journal.h"

namespace railweave::db {

struct ReportColumn {
  enum class Type { integer, real, text };
  Type type = Type::text;
  bool not_null = false;
  bool has_default = false;
  bool primary_key = false;
};

using ReportColumns = std::map<std::string, ReportColumn, std::less<>>;

// Constant after it was filled, so it may be used from any thread.
class ReportSchema {
 public:
  // Internal: db.damaged, where the table has no primary key. `location`: the store.
  Result<void> add(const std::string& table, ReportColumns columns, const std::string& location);

  // Invalid: db.unknownTable, db.unknownColumn, db.invalid (primary key not named, a column twice, a value of another
  // type, NULL where there is none, text that is too long or not UTF-8, a number that is not finite).
  [[nodiscard]] Result<void> check(const ReportRow& row) const;

  // A SELECT of all columns in the order of `columns`, with its parameters. `parameter` writes the n-th one, from 1 on.
  // Invalid: as above.
  struct Select {
    std::string sql;
    std::vector<Value> parameters;
    std::vector<std::pair<std::string, ReportColumn::Type>> columns;
  };
  using WriteParameter = std::string (*)(std::size_t number, bool is_text);
  [[nodiscard]] Result<Select> select(const ReportFilter& filter, WriteParameter parameter) const;

  [[nodiscard]] const std::map<std::string, ReportColumns, std::less<>>& tables() const { return tables_; }

  // Of a row that was checked.
  [[nodiscard]] const ReportColumns& columns(const std::string& table) const { return tables_.find(table)->second; }

 private:
  std::map<std::string, ReportColumns, std::less<>> tables_;
};

// Quoted for SQL.
std::string sql_name(std::string_view identifier);

}  // namespace railweave::db
