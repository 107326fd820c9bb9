#include "db/sqlite/rows.h"

#include <algorithm>

#include <fmt/core.h>

#include "db/limits.h"
#include "db/sqlite/read_query.h"

namespace railweave::db::sqlite {
namespace {

Statement& bind_payload(Statement& statement, int parameter, const PackedText& payload) {
  return payload.compressed() ? statement.bind_bytes(parameter, payload.bytes())
                              : statement.bind_text(parameter, payload.bytes());
}

// Columns crc32, bytes, payload, from `first` on.
StoredBytes stored_bytes(const Statement& row, int first) {
  StoredBytes stored;
  stored.crc32 = static_cast<std::uint32_t>(row.integer(first));
  stored.raw_bytes = row.unsigned_integer(first + 1);
  stored.compressed = row.is_blob(first + 2);
  stored.bytes = row.bytes(first + 2);
  return stored;
}

}  // namespace

Result<void> insert_record(Connection& connection, const Record& record, const PackedText& payload,
                           std::uint32_t crc32) {
  auto statement = connection.prepared(
      "INSERT INTO journal (seq, term, time_us, actor, kind, version, subject_kind, subject_id, crc32, payload_bytes, "
      "payload)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)");
  if (!statement) return std::unexpected(statement.error());
  (*statement)->bind_unsigned(1, record.seq).bind_unsigned(2, record.term).bind(3, record.time_us);
  (*statement)->bind_text(4, record.actor).bind_text(5, record.kind).bind(6, std::int64_t{record.version});
  (*statement)->bind_text(7, record.subject_kind).bind_text(8, record.subject_id);
  (*statement)->bind(9, std::int64_t{crc32}).bind_unsigned(10, payload.raw_bytes());
  return bind_payload(**statement, 11, payload).run(fmt::format("write record {}", record.seq));
}

Result<FetchedRecords> fetch_records(Connection& connection, const ReadFilter& filter) {
  const ReadQuery query(filter);
  auto statement = connection.prepared(query.sql());
  if (!statement) return std::unexpected(statement.error());
  Statement& row = **statement;
  const std::size_t limit = std::min(filter.limit, kMaxReadRecords);
  query.bind(row, limit);
  FetchedRecords fetched;
  std::uint64_t bytes = 0;
  while (true) {
    const auto more = row.step("read the journal");
    if (!more) return std::unexpected(more.error());
    if (!*more) break;
    const std::uint64_t size = std::min<std::uint64_t>(row.unsigned_integer(9), kMaxPayloadBytes);
    if (!fetched.records.empty() && bytes + size > kMaxReadBytes) {
      fetched.cut_short = true;
      break;
    }
    bytes += size;
    StoredRecord& stored = fetched.records.emplace_back();
    Record& record = stored.record;
    record.seq = row.unsigned_integer(0);
    record.term = row.unsigned_integer(1);
    record.time_us = row.integer(2);
    record.actor = row.bytes(3);
    record.kind = row.bytes(4);
    record.version = static_cast<std::uint32_t>(row.integer(5));
    record.subject_kind = row.bytes(6);
    record.subject_id = row.bytes(7);
    stored.payload = stored_bytes(row, 8);
  }
  if (fetched.records.size() == limit) fetched.cut_short = true;
  return fetched;
}

Result<void> insert_snapshot(Connection& connection, const Snapshot& snapshot, const PackedText& payload,
                             std::uint32_t crc32) {
  const std::string doing = fmt::format("write snapshot {}", snapshot.seq);
  {
    auto statement = connection.prepared(
        "INSERT OR REPLACE INTO snapshots (seq, term, time_us, version, crc32, payload_bytes, payload)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)");
    if (!statement) return std::unexpected(statement.error());
    (*statement)->bind_unsigned(1, snapshot.seq).bind_unsigned(2, snapshot.term).bind(3, snapshot.time_us);
    (*statement)->bind(4, std::int64_t{snapshot.version}).bind(5, std::int64_t{crc32});
    (*statement)->bind_unsigned(6, payload.raw_bytes());
    if (auto ran = bind_payload(**statement, 7, payload).run(doing); !ran) return ran;
  }
  auto statement = connection.prepared(
      "DELETE FROM snapshots WHERE seq NOT IN (SELECT seq FROM snapshots ORDER BY seq DESC LIMIT ?1)");
  if (!statement) return std::unexpected(statement.error());
  return (*statement)->bind_unsigned(1, kKeptSnapshots).run(doing);
}

Result<std::uint64_t> fetch_floor(Connection& connection) {
  const auto floor = connection.integer("SELECT seq FROM journal_floor");
  if (!floor) return std::unexpected(floor.error());
  return static_cast<std::uint64_t>(*floor);
}

namespace {

// What ended before that record. Of the audit trail, at most `limit` rows: there may be many when this is first set.
Result<void> remove_reports(Connection& connection, std::uint64_t to, std::uint64_t limit) {
  {
    auto statement = connection.prepared(
        "DELETE FROM audit_trail WHERE seq <= ?1 AND seq < (SELECT min(seq) FROM audit_trail) + ?2");
    if (!statement) return std::unexpected(statement.error());
    (*statement)->bind_unsigned(1, to).bind_unsigned(2, limit);
    if (auto ran = (*statement)->run("remove old rows of audit_trail"); !ran) return ran;
  }
  auto time = connection.prepared("SELECT time_us FROM journal WHERE seq = ?1");
  if (!time) return std::unexpected(time.error());
  const auto found = (*time)->bind_unsigned(1, to).step("read the time of a record");
  if (!found) return std::unexpected(found.error());
  if (!*found) return {};
  for (const char* sql : {"DELETE FROM job_history WHERE submitted_at_us < ?1 AND ended_at_us < ?1",
                          "DELETE FROM fabric_incidents WHERE time_us < ?1 AND ended_at_us < ?1",
                          "DELETE FROM guarantee_breaches WHERE began_at_us < ?1 AND ended_at_us < ?1"}) {
    auto statement = connection.prepared(sql);
    if (!statement) return std::unexpected(statement.error());
    if (auto ran = (*statement)->bind(1, (*time)->integer(0)).run("remove old rows of reporting tables"); !ran)
      return ran;
  }
  return {};
}

}  // namespace

Result<std::uint64_t> remove_records(Connection& connection, std::uint64_t seq, std::uint64_t limit,
                                     bool with_reports) {
  const auto floor = fetch_floor(connection);
  if (!floor) return floor;
  const std::uint64_t to = std::min(seq, *floor + limit);
  if (to <= *floor) return floor;
  if (with_reports) {
    if (auto removed = remove_reports(connection, to, limit); !removed) return std::unexpected(removed.error());
  }
  for (const char* sql : {"UPDATE journal_floor SET seq = ?1", "DELETE FROM journal WHERE seq <= ?1"}) {
    auto statement = connection.prepared(sql);
    if (!statement) return std::unexpected(statement.error());
    (*statement)->bind_unsigned(1, to);
    if (auto ran = (*statement)->run("remove old records"); !ran) return std::unexpected(ran.error());
  }
  return to;
}

Result<std::vector<std::uint64_t>> fetch_snapshot_seqs(Connection& connection) {
  auto statement = connection.prepared("SELECT seq FROM snapshots ORDER BY seq DESC LIMIT ?1");
  if (!statement) return std::unexpected(statement.error());
  (*statement)->bind_unsigned(1, kKeptSnapshots);
  std::vector<std::uint64_t> seqs;
  while (true) {
    const auto more = (*statement)->step("read the snapshots");
    if (!more) return std::unexpected(more.error());
    if (!*more) return seqs;
    seqs.push_back((*statement)->unsigned_integer(0));
  }
}

Result<std::optional<StoredSnapshot>> fetch_snapshot(Connection& connection, std::uint64_t seq) {
  auto statement = connection.prepared(
      "SELECT seq, term, time_us, version, crc32, payload_bytes, payload FROM snapshots WHERE seq = ?1");
  if (!statement) return std::unexpected(statement.error());
  Statement& row = (*statement)->bind_unsigned(1, seq);
  const auto found = row.step(fmt::format("read snapshot {}", seq));
  if (!found) return std::unexpected(found.error());
  if (!*found) return std::nullopt;
  StoredSnapshot stored;
  stored.snapshot.seq = row.unsigned_integer(0);
  stored.snapshot.term = row.unsigned_integer(1);
  stored.snapshot.time_us = row.integer(2);
  stored.snapshot.version = static_cast<std::uint32_t>(row.integer(3));
  stored.payload = stored_bytes(row, 4);
  return stored;
}

Result<void> insert_blob(Connection& connection, const Blob& blob, std::string_view compressed, std::uint32_t crc32) {
  {
    auto statement = connection.prepared(
        "INSERT INTO blobs (digest, crc32, data_bytes, data) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (digest) DO NOTHING");
    if (!statement) return std::unexpected(statement.error());
    (*statement)->bind_text(1, blob.digest).bind(2, std::int64_t{crc32});
    (*statement)->bind_unsigned(3, blob.bytes.size()).bind_bytes(4, compressed);
    if (auto ran = (*statement)->run("write blob " + blob.digest); !ran) return ran;
    if (connection.changes() != 0) return {};
  }
  auto statement = connection.prepared("SELECT crc32, data_bytes FROM blobs WHERE digest = ?1");
  if (!statement) return std::unexpected(statement.error());
  const auto found = (*statement)->bind_text(1, blob.digest).step("read blob " + blob.digest);
  if (!found) return std::unexpected(found.error());
  if (*found && (*statement)->integer(0) == crc32 && (*statement)->unsigned_integer(1) == blob.bytes.size()) return {};
  return fail(ErrorKind::conflict, "db.blobDiffers", "the digest is stored with other bytes", "blob " + blob.digest,
              "compute the digest (SHA-256) from the bytes");
}

Result<std::optional<StoredBytes>> fetch_blob(Connection& connection, const std::string& digest) {
  auto statement = connection.prepared("SELECT crc32, data_bytes, data FROM blobs WHERE digest = ?1");
  if (!statement) return std::unexpected(statement.error());
  const auto found = (*statement)->bind_text(1, digest).step("read blob " + digest);
  if (!found) return std::unexpected(found.error());
  if (!*found) return std::nullopt;
  return stored_bytes(**statement, 0);
}

}  // namespace railweave::db::sqlite
