#include "db/postgres/report_tables.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>

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

}  // namespace railweave::db::postgres
