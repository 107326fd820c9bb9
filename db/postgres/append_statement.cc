#include "db/postgres/append_statement.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "db/postgres/binary.h"

namespace railweave::db::postgres {
namespace {

using Row = std::map<std::string, const Value*, std::less<>>;

// Rows of one table that name the same columns.
struct RowGroup {
  std::string table;
  std::vector<std::string> columns;
  std::vector<const Row*> rows;
};

// One statement may touch a row once: rows of the same key become one, the later value of a column counts. That is what
// writing them one after the other would leave.
class MergedReports {
 public:
  MergedReports(const std::vector<ReportRow>& reports, const ReportSchema& schema) {
    for (const ReportRow& report : reports) {
      std::vector<Value> key;
      for (const auto& [name, column] : schema.columns(report.table)) {
        if (!column.primary_key) continue;
        for (const auto& [named, value] : report.columns) {
          if (named == name) key.push_back(value);
        }
      }
      Row& row = rows_[{report.table, std::move(key)}];
      for (const auto& [name, value] : report.columns) row[name] = &value;
    }
  }

  [[nodiscard]] std::vector<RowGroup> groups() const {
    std::map<std::pair<std::string, std::vector<std::string>>, std::vector<const Row*>> by_columns;
    for (const auto& [key, row] : rows_) {
      std::vector<std::string> names;
      for (const auto& [name, value] : row) names.push_back(name);
      by_columns[{key.first, std::move(names)}].push_back(&row);
    }
    std::vector<RowGroup> groups;
    for (auto& [key, rows] : by_columns) groups.push_back({key.first, key.second, std::move(rows)});
    return groups;
  }

 private:
  std::map<std::pair<std::string, std::vector<Value>>, Row> rows_;
};

class StatementBuilder {
 public:
  // tells: others are told when the transaction commits. single: of each table there is one row at most.
  StatementBuilder(const Fence& fence, bool tells, bool single) : single_(single) {
    statement_.sql = "WITH held AS MATERIALIZED (SELECT ";
    statement_.sql += tells ? "pg_notify('railweave', '')" : "1";
    statement_.sql += " FROM lease WHERE id = 1 AND holder = " + placeholder(binary(fence.holder), "text") +
                      " AND term = " + number(fence.term) + " AND expires > clock_timestamp()";
    if (fence.after_seq != 0) {
      statement_.sql += " AND EXISTS (SELECT FROM journal WHERE seq = " + number(fence.after_seq) +
                        " AND term = " + number(fence.after_term) + ")";
    }
    statement_.sql += " FOR SHARE)";
  }

  void add_records(const Batch& batch, const PackedBatch& packed, std::int64_t nonce);
  void add_reports(const RowGroup& group, const ReportColumns& columns, std::size_t number);
  AppendStatement finish() {
    statement_.sql += " SELECT count(*) FROM held";
    return std::move(statement_);
  }

 private:
  std::string placeholder(std::string bytes, std::string_view type) {
    statement_.parameters.push_back(std::move(bytes));
    return fmt::format("${}::{}", statement_.parameters.size(), type);
  }
  std::string number(std::uint64_t value) { return placeholder(binary(static_cast<std::int64_t>(value)), "bigint"); }
  static std::string null_of(const BinaryArray& column) { return "NULL::" + std::string(type_name(column.type())); }
  // In the target list: in FROM, arrays would be written to a temporary store first. A single value is sent as it is.
  std::string values(BinaryArray column) {
    const std::string type(type_name(column.type()));
    if (!single_) return "unnest(" + placeholder(std::move(column).bytes(), type + "[]") + ")";
    return column.has_only_nulls() ? null_of(column) : placeholder(std::move(column).single(), type);
  }

  const bool single_;
  AppendStatement statement_;
};

void StatementBuilder::add_records(const Batch& batch, const PackedBatch& packed, std::int64_t nonce) {
  using enum ElementType;
  std::array<BinaryArray, 12> columns = {BinaryArray(bigint), BinaryArray(bigint), BinaryArray(bigint),
                                         BinaryArray(text),   BinaryArray(text),   BinaryArray(bigint),
                                         BinaryArray(text),   BinaryArray(text),   BinaryArray(bigint),
                                         BinaryArray(bigint), BinaryArray(text),   BinaryArray(bytea)};
  std::size_t payload_bytes = 0;
  for (const PackedText& payload : packed.payloads) payload_bytes += payload.bytes().size() + 8;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns[i].reserve(i == 10 ? payload_bytes : 24 * batch.records.size());
  }
  for (std::size_t i = 0; i < batch.records.size(); ++i) {
    const Record& record = batch.records[i];
    const PackedText& payload = packed.payloads[i];
    columns[0].add(static_cast<std::int64_t>(record.seq));
    columns[1].add(static_cast<std::int64_t>(record.term));
    columns[2].add(record.time_us);
    columns[3].add(record.actor);
    columns[4].add(record.kind);
    columns[5].add(std::int64_t{record.version});
    columns[6].add(record.subject_kind);
    columns[7].add(record.subject_id);
    columns[8].add(std::int64_t{packed.record_checksums[i]});
    columns[9].add(static_cast<std::int64_t>(payload.raw_bytes()));
    BinaryArray& present = columns[payload.compressed() ? 11 : 10];
    BinaryArray& absent = columns[payload.compressed() ? 10 : 11];
    present.add(payload.bytes());
    absent.add_null();
  }
  statement_.sql +=
      ", stored AS (INSERT INTO journal (nonce, seq, term, time_us, actor, kind, version, subject_kind, subject_id, "
      "crc32,"
      " payload_bytes, payload, packed) SELECT " +
      placeholder(binary(nonce), "bigint");
  for (BinaryArray& column : columns) {
    statement_.sql += ", " + (column.has_only_nulls() ? null_of(column) : values(std::move(column)));
  }
  statement_.sql += " FROM held)";
}

void StatementBuilder::add_reports(const RowGroup& group, const ReportColumns& columns, std::size_t number) {
  std::string names;
  std::string row_values;
  std::string keys;
  std::string changes;
  for (const std::string& name : group.columns) {
    const ReportColumn& column = columns.find(name)->second;
    using Type = ReportColumn::Type;
    const auto element = column.type == Type::integer ? ElementType::bigint
                         : column.type == Type::real  ? ElementType::real
                                                      : ElementType::text;
    BinaryArray cells(element);
    for (const Row* row : group.rows) {
      const Value& value = *row->find(name)->second;
      if (const auto* integer = std::get_if<std::int64_t>(&value)) {
        column.type == Type::real ? cells.add(static_cast<double>(*integer)) : cells.add(*integer);
      } else if (const auto* number_value = std::get_if<double>(&value)) {
        cells.add(*number_value);
      } else if (const auto* text = std::get_if<std::string>(&value)) {
        cells.add(std::string_view(*text));
      } else {
        cells.add_null();
      }
    }
    const std::string identifier = sql_name(name);
    const char* comma = names.empty() ? "" : ", ";
    names += comma + identifier;
    row_values += comma + values(std::move(cells));
    std::string& list = column.primary_key ? keys : changes;
    list += list.empty() ? "" : ", ";
    list += column.primary_key ? identifier : identifier + " = excluded." + identifier;
  }
  statement_.sql += fmt::format(", reported{} AS (INSERT INTO {} ({}) SELECT {} FROM held ON CONFLICT ({}) DO {})",
                                number, sql_name(group.table), names, row_values, keys,
                                changes.empty() ? "NOTHING" : "UPDATE SET " + changes);
}

}  // namespace

AppendStatement append_statement(const Batch& batch, const PackedBatch& packed, std::int64_t nonce, const Fence& fence,
                                 const ReportSchema& schema) {
  const MergedReports reports(batch.reports, schema);
  const auto groups = reports.groups();
  const bool single = batch.records.size() <= 1 &&
                      std::ranges::all_of(groups, [](const auto& group) { return group.rows.size() == 1; });
  StatementBuilder builder(fence, !batch.records.empty(), single);
  if (!batch.records.empty()) builder.add_records(batch, packed, nonce);
  std::size_t number = 0;
  for (const RowGroup& group : groups) builder.add_reports(group, schema.columns(group.table), number++);
  return builder.finish();
}

}  // namespace railweave::db::postgres
