#include "db/postgres/append_statement.h"

#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "db/postgres/binary.h"

namespace railweave::db::postgres {
namespace {

constexpr const char* kLeaseHeld =
    "WITH held AS MATERIALIZED (SELECT 1 FROM lease WHERE id = 1 AND holder = $1::text AND term = $2::bigint"
    " AND expires > clock_timestamp()"
    // A server that lacks the record before was failed over from, and lives on.
    " AND ($3::bigint = 0 OR EXISTS (SELECT FROM journal WHERE seq = $3::bigint AND term = $4::bigint)) FOR SHARE)";

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
  explicit StatementBuilder(const Fence& fence) {
    statement_.sql = kLeaseHeld;
    statement_.parameters = {binary(fence.holder), binary(static_cast<std::int64_t>(fence.term)),
                             binary(static_cast<std::int64_t>(fence.after_seq)),
                             binary(static_cast<std::int64_t>(fence.after_term))};
  }

  void add_records(const Batch& batch, const PackedBatch& packed, std::int64_t nonce);
  void add_reports(const RowGroup& group, const ReportColumns& columns, std::size_t number);
  AppendStatement finish(bool has_records) {
    statement_.sql += std::string(" SELECT (SELECT count(*) FROM held), ") +
                      (has_records ? "(SELECT count(*) FROM stored), pg_notify('railweave', '')" : "0");
    return std::move(statement_);
  }

 private:
  std::string placeholder(std::string bytes, const std::string& type) {
    statement_.parameters.push_back(std::move(bytes));
    return "$" + std::to_string(statement_.parameters.size()) + "::" + type;
  }

  AppendStatement statement_;
};

void StatementBuilder::add_records(const Batch& batch, const PackedBatch& packed, std::int64_t nonce) {
  using enum ElementType;
  std::array<BinaryArray, 12> columns = {BinaryArray(bigint), BinaryArray(bigint), BinaryArray(bigint),
                                         BinaryArray(text),   BinaryArray(text),   BinaryArray(bigint),
                                         BinaryArray(text),   BinaryArray(text),   BinaryArray(bigint),
                                         BinaryArray(bigint), BinaryArray(text),   BinaryArray(bytea)};
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
  static constexpr std::array kTypes = {"bigint[]", "bigint[]", "bigint[]", "text[]",   "text[]", "bigint[]",
                                        "text[]",   "text[]",   "bigint[]", "bigint[]", "text[]", "bytea[]"};
  const std::string written = placeholder(binary(nonce), "bigint");
  std::string arrays;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    arrays += (i == 0 ? "" : ", ") + placeholder(columns[i].bytes(), kTypes[i]);
  }
  statement_.sql +=
      ", stored AS (INSERT INTO journal (seq, term, time_us, actor, kind, version, subject_kind, subject_id, crc32,"
      " payload_bytes, payload, packed, nonce) SELECT u.*, " +
      written + " FROM unnest(" + arrays + ") u WHERE EXISTS (SELECT FROM held) RETURNING 1)";
}

void StatementBuilder::add_reports(const RowGroup& group, const ReportColumns& columns, std::size_t number) {
  std::string names;
  std::string arrays;
  std::string keys;
  std::string changes;
  for (const std::string& name : group.columns) {
    const ReportColumn& column = columns.find(name)->second;
    using Type = ReportColumn::Type;
    const auto element = column.type == Type::integer ? ElementType::bigint
                         : column.type == Type::real  ? ElementType::real
                                                      : ElementType::text;
    BinaryArray values(element);
    for (const Row* row : group.rows) {
      const Value& value = *row->find(name)->second;
      if (const auto* integer = std::get_if<std::int64_t>(&value)) {
        column.type == Type::real ? values.add(static_cast<double>(*integer)) : values.add(*integer);
      } else if (const auto* number_value = std::get_if<double>(&value)) {
        values.add(*number_value);
      } else if (const auto* text = std::get_if<std::string>(&value)) {
        values.add(std::string_view(*text));
      } else {
        values.add_null();
      }
    }
    const char* type = element == ElementType::bigint ? "bigint[]"
                       : element == ElementType::real ? "double precision[]"
                                                      : "text[]";
    const std::string identifier = sql_name(name);
    const char* comma = names.empty() ? "" : ", ";
    names += comma + identifier;
    arrays += comma + placeholder(values.bytes(), type);
    std::string& list = column.primary_key ? keys : changes;
    list += list.empty() ? "" : ", ";
    list += column.primary_key ? identifier : identifier + " = excluded." + identifier;
  }
  statement_.sql += ", reported" + std::to_string(number) + " AS (INSERT INTO " + sql_name(group.table) + " (" + names +
                    ") SELECT u.* FROM unnest(" + arrays + ") u WHERE EXISTS (SELECT FROM held) ON CONFLICT (" + keys +
                    ") DO " + (changes.empty() ? "NOTHING" : "UPDATE SET " + changes) + ")";
}

}  // namespace

AppendStatement append_statement(const Batch& batch, const PackedBatch& packed, std::int64_t nonce, const Fence& fence,
                                 const ReportSchema& schema) {
  StatementBuilder builder(fence);
  if (!batch.records.empty()) builder.add_records(batch, packed, nonce);
  const MergedReports reports(batch.reports, schema);
  std::size_t number = 0;
  for (const RowGroup& group : reports.groups()) builder.add_reports(group, schema.columns(group.table), number++);
  return builder.finish(!batch.records.empty());
}

}  // namespace railweave::db::postgres
