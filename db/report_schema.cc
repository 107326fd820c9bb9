#include "db/report_schema.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "db/limits.h"
#include "db/utf8.h"

namespace railweave::db {
namespace {

std::unexpected<Error> invalid_row(std::string message, std::string location) {
  return fail(ErrorKind::invalid, "db.invalid", std::move(message), std::move(location));
}

Result<void> check_value(const ReportColumn& column, const Value& value, const std::string& location) {
  if (std::holds_alternative<std::monostate>(value)) {
    if (column.not_null || column.primary_key) return invalid_row("the column cannot be NULL", location);
    return {};
  }
  if (std::holds_alternative<std::int64_t>(value)) {
    if (column.type == ReportColumn::Type::text) return invalid_row("the column holds text, not a number", location);
    return {};
  }
  if (const auto* number = std::get_if<double>(&value)) {
    if (column.type != ReportColumn::Type::real)
      return invalid_row("the column does not hold fractional numbers", location);
    if (!std::isfinite(*number)) return invalid_row("the number is not finite", location);
    return {};
  }
  const auto& text = std::get<std::string>(value);
  if (column.type != ReportColumn::Type::text) return invalid_row("the column holds numbers, not text", location);
  if (text.size() > kMaxReportTextBytes) {
    return fail(ErrorKind::tooLarge, "db.tooLarge",
                fmt::format("the text is longer than {} bytes", kMaxReportTextBytes), location);
  }
  if (!is_storable_text(text)) return invalid_row("the value is not UTF-8 text without NUL", location);
  return {};
}

}  // namespace

std::string sql_name(std::string_view identifier) {
  std::string text = "\"";
  for (const char c : identifier) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

Result<void> ReportSchema::add(const std::string& table, ReportColumns columns, const std::string& location) {
  bool has_key = false;
  for (const auto& [name, column] : columns) has_key = has_key || column.primary_key;
  if (!has_key) {
    return fail(ErrorKind::internal, "db.damaged", "reporting table " + table + " is missing or without a primary key",
                location, "restore the store from a backup");
  }
  tables_.emplace(table, std::move(columns));
  return {};
}

Result<void> ReportSchema::check(const ReportRow& row) const {
  const auto table = tables_.find(row.table);
  if (table == tables_.end()) {
    std::string known;
    for (const auto& [name, columns] : tables_) known += (known.empty() ? "" : ", ") + name;
    return fail(ErrorKind::invalid, "db.unknownTable", "there is no such reporting table", row.table.substr(0, 80),
                "one of " + known);
  }
  if (row.columns.size() > kMaxReportColumns) return invalid_row("more columns than a table may have", row.table);
  std::set<std::string_view> named;
  for (const auto& [name, value] : row.columns) {
    const std::string location = row.table + "." + name.substr(0, 80);
    const auto column = table->second.find(name);
    if (column == table->second.end()) {
      return fail(ErrorKind::invalid, "db.unknownColumn", "there is no such column", location);
    }
    if (!named.insert(name).second) return invalid_row("the column is named twice", location);
    if (auto checked = check_value(column->second, value, location); !checked) return checked;
  }
  for (const auto& [name, column] : table->second) {
    const bool needed = column.primary_key || (column.not_null && !column.has_default);
    if (needed && !named.contains(name)) return invalid_row("the row lacks this column", row.table + "." + name);
  }
  return {};
}

Result<ReportSchema::Select> ReportSchema::select(const ReportFilter& filter, WriteParameter parameter) const {
  const auto table = tables_.find(filter.table);
  if (table == tables_.end()) {
    return fail(ErrorKind::invalid, "db.unknownTable", "there is no such reporting table", filter.table.substr(0, 80));
  }
  Select select;
  std::string key, names;
  for (const auto& [name, column] : table->second) {
    names += (names.empty() ? "" : ", ") + sql_name(name);
    select.columns.emplace_back(name, column.type);
    if (!column.primary_key) continue;
    if (!key.empty() || column.type != ReportColumn::Type::integer) {
      return invalid_row("the table has no whole number for its primary key", filter.table);
    }
    key = sql_name(name);
  }
  if (filter.limit == 0) return invalid_row("the limit is 0", filter.table);
  const auto next = [&](Value value) {
    const bool is_text = std::holds_alternative<std::string>(value);
    select.parameters.push_back(std::move(value));
    return parameter(select.parameters.size(), is_text);
  };
  const auto known = [&](const std::string& name, ReportColumn::Type type) {
    const auto column = table->second.find(name);
    return column != table->second.end() && column->second.type == type;
  };
  select.sql = "SELECT " + names + " FROM " + sql_name(filter.table) + " WHERE " + key + " > " + next(filter.after);
  for (const auto& [name, text] : filter.equal) {
    if (!known(name, ReportColumn::Type::text)) return invalid_row("there is no such column of text", filter.table);
    // Text that no row can hold matches none; a server would refuse it.
    select.sql += is_storable_text(text) ? " AND " + sql_name(name) + " = " + next(text) : std::string(" AND 1 = 0");
  }
  for (const auto& [name, least] : filter.at_least) {
    if (!known(name, ReportColumn::Type::integer))
      return invalid_row("there is no such column of numbers", filter.table);
    select.sql += " AND " + sql_name(name) + " >= " + next(least);
  }
  const auto limit = static_cast<std::int64_t>(std::min(filter.limit, kMaxReadRecords));
  select.sql += " ORDER BY " + key + " LIMIT " + next(limit);
  return select;
}

}  // namespace railweave::db
