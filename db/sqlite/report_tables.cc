#include "db/sqlite/report_tables.h"

#include <utility>

#include <fmt/core.h>

namespace railweave::db::sqlite {

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
    auto added = tables.schema_.add(name, std::move(*columns), connection.location());
    if (!added) return std::unexpected(added.error());
  }
  return tables;
}

Result<ReportColumns> ReportTables::load_columns(Connection& connection, const std::string& table) {
  auto statement = connection.prepared("SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_info(?1)");
  if (!statement) return std::unexpected(statement.error());
  (*statement)->bind_text(1, table);
  ReportColumns columns;
  while (true) {
    const auto row = (*statement)->step("read the columns of " + table);
    if (!row) return std::unexpected(row.error());
    if (!*row) return columns;
    using Type = ReportColumn::Type;
    ReportColumn column;
    const std::string type((*statement)->bytes(1));
    column.type = type == "INTEGER" ? Type::integer : type == "REAL" ? Type::real : Type::text;
    column.not_null = (*statement)->integer(2) != 0;
    column.has_default = !(*statement)->is_null(3);
    column.primary_key = (*statement)->integer(4) != 0;
    columns.emplace((*statement)->bytes(0), column);
  }
}

std::string ReportTables::upsert_sql(const ReportRow& row) const {
  const ReportColumns& columns = schema_.columns(row.table);
  std::string names;
  std::string values;
  std::string keys;
  std::string changes;
  for (std::size_t i = 0; i < row.columns.size(); ++i) {
    const std::string& name = row.columns[i].first;
    const std::string identifier = sql_name(name);
    names += (i == 0 ? "" : ", ") + identifier;
    values += fmt::format("{}{}", i == 0 ? "?" : ", ?", i + 1);
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
    bind(**statement, static_cast<int>(i + 1), row.columns[i].second);
  }
  return (*statement)->run("write a row of " + row.table);
}

void ReportTables::bind(Statement& statement, int parameter, const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    statement.bind(parameter, *integer);
  } else if (const auto* number = std::get_if<double>(&value)) {
    statement.bind(parameter, *number);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    statement.bind_text(parameter, *text);
  } else {
    statement.bind_null(parameter);
  }
}

Result<std::vector<ReportRow>> ReportTables::read(Connection& connection, const ReportFilter& filter) const {
  const auto select = schema_.select(filter, [](std::size_t number, bool) { return fmt::format("?{}", number); });
  if (!select) return std::unexpected(select.error());
  auto statement = connection.prepared(select->sql);
  if (!statement) return std::unexpected(statement.error());
  for (std::size_t i = 0; i < select->parameters.size(); ++i) {
    bind(**statement, static_cast<int>(i + 1), select->parameters[i]);
  }
  std::vector<ReportRow> rows;
  while (true) {
    const auto there = (*statement)->step("read rows of " + filter.table);
    if (!there) return std::unexpected(there.error());
    if (!*there) return rows;
    ReportRow& row = rows.emplace_back(filter.table, std::vector<std::pair<std::string, Value>>{});
    for (int i = 0; const auto& [name, type] : select->columns) {
      Value value;
      if ((*statement)->is_null(i)) {
      } else if (type == ReportColumn::Type::integer) {
        value = (*statement)->integer(i);
      } else if (type == ReportColumn::Type::real) {
        value = (*statement)->real(i);
      } else {
        value = std::string((*statement)->bytes(i));
      }
      row.columns.emplace_back(name, std::move(value));
      ++i;
    }
  }
}

}  // namespace railweave::db::sqlite
