#include "db/sqlite/report_tables.h"

#include <cmath>
#include <set>

#include "db/limits.h"
#include "db/utf8.h"

namespace railweave::db::sqlite {
namespace {

std::unexpected<Error> invalid(std::string message, std::string location) {
  return fail(ErrorKind::invalid, "db.invalid", std::move(message), std::move(location));
}

std::string sql_name(std::string_view identifier) {
  std::string text = "\"";
  for (const char c : identifier) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

}  // namespace

Result<ReportTables> ReportTables::load(Connection& connection) {
  std::vector<std::string> names;
  {
    auto statement = connection.prepared("SELECT name FROM reporting_tables ORDER BY name");
    if (!statement) return std::unexpected(statement.error());
    while (true) {
      const auto row = (*statement)->step("read the list of reporting tables");
      if (!row) return std::unexpected(row.error());
      if (!*row) break;
      names.emplace_back((*statement)->bytes(0));
    }
  }
  ReportTables tables;
  for (const std::string& name : names) {
    auto columns = load_columns(connection, name);
    if (!columns) return std::unexpected(columns.error());
    tables.tables_.emplace(name, std::move(*columns));
  }
  return tables;
}

Result<ReportTables::Columns> ReportTables::load_columns(Connection& connection, const std::string& table) {
  auto statement = connection.prepared("SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_info(?1)");
  if (!statement) return std::unexpected(statement.error());
  (*statement)->bind_text(1, table);
  Columns columns;
  bool has_key = false;
  while (true) {
    const auto row = (*statement)->step("read the columns of " + table);
    if (!row) return std::unexpected(row.error());
    if (!*row) break;
    Column column;
    const std::string type((*statement)->bytes(1));
    column.type = type == "INTEGER" ? Type::integer : type == "REAL" ? Type::real : Type::text;
    column.not_null = (*statement)->integer(2) != 0;
    column.has_default = !(*statement)->is_null(3);
    column.primary_key = (*statement)->integer(4) != 0;
    has_key = has_key || column.primary_key;
    columns.emplace((*statement)->bytes(0), column);
  }
  if (!has_key) {
    return fail(ErrorKind::internal, "db.damaged", "reporting table " + table + " is missing or without a primary key",
                connection.location(), "restore the store from a backup");
  }
  return columns;
}

Result<void> ReportTables::check(const ReportRow& row) const {
  const auto table = tables_.find(row.table);
  if (table == tables_.end()) {
    std::string known;
    for (const auto& [name, columns] : tables_) known += (known.empty() ? "" : ", ") + name;
    return fail(ErrorKind::invalid, "db.unknownTable", "there is no such reporting table", row.table.substr(0, 80),
                "one of " + known);
  }
  if (row.columns.size() > kMaxReportColumns) return invalid("more columns than a table may have", row.table);
  std::set<std::string_view> named;
  for (const auto& [name, value] : row.columns) {
    const std::string location = row.table + "." + name.substr(0, 80);
    const auto column = table->second.find(name);
    if (column == table->second.end()) {
      return fail(ErrorKind::invalid, "db.unknownColumn", "there is no such column", location);
    }
    if (!named.insert(name).second) return invalid("the column is named twice", location);
    if (auto checked = check_value(column->second, value, location); !checked) return checked;
  }
  for (const auto& [name, column] : table->second) {
    const bool needed = column.primary_key || (column.not_null && !column.has_default);
    if (needed && !named.contains(name)) return invalid("the row lacks this column", row.table + "." + name);
  }
  return {};
}

Result<void> ReportTables::check_value(const Column& column, const Value& value, const std::string& location) {
  if (std::holds_alternative<std::monostate>(value)) {
    if (column.not_null || column.primary_key) return invalid("the column cannot be NULL", location);
    return {};
  }
  if (std::holds_alternative<std::int64_t>(value)) {
    if (column.type == Type::text) return invalid("the column holds text, not a number", location);
    return {};
  }
  if (const auto* number = std::get_if<double>(&value)) {
    if (column.type != Type::real) return invalid("the column does not hold fractional numbers", location);
    if (!std::isfinite(*number)) return invalid("the number is not finite", location);
    return {};
  }
  const auto& text = std::get<std::string>(value);
  if (column.type != Type::text) return invalid("the column holds numbers, not text", location);
  if (text.size() > kMaxReportTextBytes) {
    return fail(ErrorKind::tooLarge, "db.tooLarge",
                "the text is longer than " + std::to_string(kMaxReportTextBytes) + " bytes", location);
  }
  if (!is_storable_text(text)) return invalid("the value is not UTF-8 text without NUL", location);
  return {};
}

std::string ReportTables::upsert_sql(const ReportRow& row) const {
  const Columns& columns = tables_.find(row.table)->second;
  std::string names;
  std::string values;
  std::string keys;
  std::string changes;
  for (std::size_t i = 0; i < row.columns.size(); ++i) {
    const std::string& name = row.columns[i].first;
    const std::string identifier = sql_name(name);
    names += (i == 0 ? "" : ", ") + identifier;
    values += (i == 0 ? "?" : ", ?") + std::to_string(i + 1);
    if (columns.find(name)->second.primary_key) {
      keys += (keys.empty() ? "" : ", ") + identifier;
    } else {
      changes += (changes.empty() ? "" : ", ") + identifier + " = excluded." + identifier;
    }
  }
  return "INSERT INTO " + sql_name(row.table) + " (" + names + ") VALUES (" + values + ") ON CONFLICT (" + keys +
         ") DO " + (changes.empty() ? "NOTHING" : "UPDATE SET " + changes);
}

Result<void> ReportTables::upsert(Connection& connection, const ReportRow& row) const {
  auto statement = connection.prepared(upsert_sql(row));
  if (!statement) return std::unexpected(statement.error());
  for (std::size_t i = 0; i < row.columns.size(); ++i) {
    const int parameter = static_cast<int>(i + 1);
    const Value& value = row.columns[i].second;
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      (*statement)->bind(parameter, *integer);
    } else if (const auto* number = std::get_if<double>(&value)) {
      (*statement)->bind(parameter, *number);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      (*statement)->bind_text(parameter, *text);
    } else {
      (*statement)->bind_null(parameter);
    }
  }
  return (*statement)->run("write a row of " + row.table);
}

}  // namespace railweave::db::sqlite
