#include "db/postgres/report_tables.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "db/postgres/binary.h"

namespace railweave::db::postgres {

Result<ReportSchema> load_report_schema(Session& session) {
  auto rows = session.run(
      "SELECT r.name, a.attname, t.typname, a.attnotnull, a.atthasdef,"
      " EXISTS (SELECT FROM pg_index i WHERE i.indrelid = a.attrelid AND i.indisprimary AND a.attnum = ANY (i.indkey))"
      " FROM reporting_tables r LEFT JOIN pg_attribute a ON a.attrelid = to_regclass(quote_ident(r.name))"
      " AND a.attnum > 0 AND NOT a.attisdropped LEFT JOIN pg_type t ON t.oid = a.atttypid ORDER BY r.name, a.attnum",
      {}, "read the reporting tables");
  if (!rows) return std::unexpected(rows.error());
  std::map<std::string, ReportColumns> tables;
  for (const auto& row : *rows) {
    ReportColumns& columns = tables[row[0].c_str()];
    if (row[1].is_null()) continue;
    using Type = ReportColumn::Type;
    ReportColumn column;
    const std::string_view type = row[2].c_str();
    column.type = type == "int8" ? Type::integer : type == "float8" ? Type::real : Type::text;
    column.not_null = row[3].as<bool>();
    column.has_default = row[4].as<bool>();
    column.primary_key = row[5].as<bool>();
    columns.emplace(row[1].c_str(), column);
  }
  ReportSchema schema;
  for (auto& [name, columns] : tables) {
    auto added = schema.add(name, std::move(columns), session.location());
    if (!added) return std::unexpected(added.error());
  }
  return schema;
}

Result<std::vector<ReportRow>> read_report(Session& session, const ReportSchema& schema, const ReportFilter& filter) {
  const auto select = schema.select(filter, [](std::size_t number, bool is_text) {
    return fmt::format("${}{}", number, is_text ? "::text" : "::bigint");
  });
  if (!select) return std::unexpected(select.error());
  std::vector<std::string> parameters;
  for (const auto& value : select->parameters) {
    const auto* text = std::get_if<std::string>(&value);
    parameters.push_back(text != nullptr ? binary(*text) : binary(std::get<std::int64_t>(value)));
  }
  auto fetched = session.run(select->sql, parameters, "read rows of " + filter.table);
  if (!fetched) return std::unexpected(fetched.error());
  std::vector<ReportRow> rows;
  for (const auto& row : *fetched) {
    ReportRow& out = rows.emplace_back(filter.table, std::vector<std::pair<std::string, Value>>{});
    for (pqxx::row::size_type i = 0; const auto& [name, type] : select->columns) {
      const auto field = row[i++];
      Value value;
      if (field.is_null()) {
      } else if (type == ReportColumn::Type::integer) {
        value = field.as<std::int64_t>();
      } else if (type == ReportColumn::Type::real) {
        value = field.as<double>();
      } else {
        value = std::string(field.c_str(), field.size());
      }
      out.columns.emplace_back(name, std::move(value));
    }
  }
  return rows;
}

}  // namespace railweave::db::postgres
