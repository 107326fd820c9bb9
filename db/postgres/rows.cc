#include "db/postgres/rows.h"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "db/limits.h"
#include "db/postgres/binary.h"
#include "db/utf8.h"

namespace railweave::db::postgres {
namespace {

constexpr const char* kColumns =
    "seq, term, time_us, actor, kind, version, subject_kind, subject_id, crc32, payload_bytes, payload, packed";

std::uint64_t unsigned_integer(const pqxx::field& field) {
  return static_cast<std::uint64_t>(field.as<std::int64_t>());
}

std::string text_of(const pqxx::field& field) { return {field.c_str(), field.size()}; }

std::string bytes_of(const pqxx::field& field) {
  const pqxx::binarystring bytes(field);
  return {bytes.get(), bytes.size()};
}

// Columns crc32, bytes, payload, packed, from `first` on.
StoredBytes stored_bytes(const pqxx::row& row, pqxx::row::size_type first) {
  StoredBytes stored;
  stored.crc32 = static_cast<std::uint32_t>(row[first].as<std::int64_t>());
  stored.raw_bytes = unsigned_integer(row[first + 1]);
  stored.compressed = row[first + 2].is_null();
  stored.bytes = stored.compressed ? bytes_of(row[first + 3]) : text_of(row[first + 2]);
  return stored;
}

// A SELECT of seq and payload_bytes, ascending, with its parameters.
struct ReadStatement {
  explicit ReadStatement(const ReadFilter& filter);
  std::string sql;
  std::vector<std::string> parameters;
};

ReadStatement::ReadStatement(const ReadFilter& filter) {
  parameters = {binary(static_cast<std::int64_t>(std::min(filter.after_seq, kMaxSeq))),
                binary(static_cast<std::int64_t>(std::min(filter.up_to_seq, kMaxSeq))),
                binary(static_cast<std::int64_t>(std::min(filter.limit, kMaxReadRecords)))};
  const auto text = [&](std::string_view value) {
    parameters.push_back(binary(value));
    return fmt::format("${}::text", parameters.size());
  };
  std::string select = "SELECT seq, payload_bytes FROM journal WHERE seq > $1::bigint AND seq <= $2::bigint";
  if (!filter.subject_kind.empty()) select += " AND subject_kind = " + text(filter.subject_kind);
  if (!filter.subject_id.empty()) select += " AND subject_id = " + text(filter.subject_id);
  const std::string end = " ORDER BY seq LIMIT $3::bigint";
  const std::set<std::string_view> kinds(filter.kinds.begin(), filter.kinds.end());
  if (kinds.empty()) {
    sql = select + end;
    return;
  }
  // Each part is read in order of the index by kind, and the parts are merged lazily.
  std::string all;
  for (const std::string_view kind : kinds) {
    all += (all.empty() ? "(" : " UNION ALL (") + select + " AND kind = " + text(kind) + end + ")";
  }
  sql = "SELECT seq, payload_bytes FROM (" + all + ") kinds" + end;
}

}  // namespace

Result<FetchedRecords> fetch_records(Session& session, const ReadFilter& filter) {
  // Text that no record can hold matches none; the server would refuse it.
  const auto storable = [](const std::string& text) { return is_storable_text(text); };
  if (!storable(filter.subject_kind) || !storable(filter.subject_id) || !std::ranges::all_of(filter.kinds, storable)) {
    return FetchedRecords{};
  }
  ReadStatement inner(filter);
  // Which records follow and how long they are; then those that fit into one answer, payloads and all.
  inner.parameters.push_back(binary(static_cast<std::int64_t>(kMaxReadBytes)));
  const std::string budget = fmt::format("${}::bigint", inner.parameters.size());
  auto rows = session.run(
      "WITH chosen AS MATERIALIZED (SELECT seq, count(*) OVER () AS found, row_number() OVER w AS place,"
      " sum(payload_bytes) OVER w AS bytes FROM (" +
          inner.sql + ") page WINDOW w AS (ORDER BY seq)) SELECT " + kColumns +
          ", found FROM chosen JOIN journal USING (seq) WHERE bytes <= " + budget + " OR place = 1 ORDER BY seq",
      inner.parameters, "read the journal");
  if (!rows) return std::unexpected(rows.error());
  FetchedRecords fetched;
  fetched.records.reserve(rows->size());
  for (const auto& row : *rows) {
    StoredRecord& stored = fetched.records.emplace_back();
    Record& record = stored.record;
    record.seq = unsigned_integer(row[0]);
    record.term = unsigned_integer(row[1]);
    record.time_us = row[2].as<std::int64_t>();
    record.actor = text_of(row[3]);
    record.kind = text_of(row[4]);
    record.version = static_cast<std::uint32_t>(row[5].as<std::int64_t>());
    record.subject_kind = text_of(row[6]);
    record.subject_id = text_of(row[7]);
    stored.payload = stored_bytes(row, 8);
  }
  const std::size_t found = rows->empty() ? 0 : (*rows)[0][12].as<std::size_t>();
  fetched.cut_short = found > fetched.records.size() || found == std::min(filter.limit, kMaxReadRecords);
  return fetched;
}

Result<bool> write_snapshot(Session& session, const Snapshot& snapshot, const PackedText& payload, std::uint32_t crc32,
                            const Fence& fence) {
  const std::string doing = fmt::format("write snapshot {}", snapshot.seq);
  auto written = session.run(
      fmt::format(
          "INSERT INTO snapshots (seq, term, time_us, version, crc32, payload_bytes, payload, packed) "
          "SELECT $3::bigint,"
          " $4::bigint, $5::bigint, $6::bigint, $7::bigint, $8::bigint, {} FROM lease WHERE id = 1 AND holder = "
          "$1::text AND term = $2::bigint AND expires > clock_timestamp() "
          "FOR SHARE"
          " ON CONFLICT (seq) DO UPDATE SET term = excluded.term, time_us = excluded.time_us, version = "
          "excluded.version,"
          " crc32 = excluded.crc32, payload_bytes = excluded.payload_bytes, payload = excluded.payload, packed = "
          "excluded.packed",
          payload.compressed() ? "NULL, $9::bytea" : "$9::text, NULL"),
      {binary(fence.holder), binary(static_cast<std::int64_t>(fence.term)),
       binary(static_cast<std::int64_t>(snapshot.seq)), binary(static_cast<std::int64_t>(snapshot.term)),
       binary(snapshot.time_us), binary(std::int64_t{snapshot.version}), binary(std::int64_t{crc32}),
       binary(static_cast<std::int64_t>(payload.raw_bytes())), binary(payload.bytes())},
      doing);
  if (!written) return std::unexpected(written.error());
  auto forgotten = session.run(
      "DELETE FROM snapshots WHERE seq NOT IN (SELECT seq FROM snapshots ORDER BY seq DESC LIMIT $1::bigint)",
      {binary(std::int64_t{kKeptSnapshots})}, doing);
  if (!forgotten) return std::unexpected(forgotten.error());
  return written->affected_rows() == 1;
}

Result<bool> insert_snapshot(Session& session, const Snapshot& snapshot, const PackedText& payload, std::uint32_t crc32,
                             const Fence& fence) {
  bool held = false;
  auto stored = session.in_transaction(
      [&]() -> Result<void> {
        const auto written = write_snapshot(session, snapshot, payload, crc32, fence);
        if (!written) return std::unexpected(written.error());
        held = *written;
        return {};
      },
      fmt::format("write snapshot {}", snapshot.seq));
  if (!stored) return std::unexpected(stored.error());
  return held;
}

Result<std::vector<std::uint64_t>> fetch_snapshot_seqs(Session& session) {
  auto rows = session.run("SELECT seq FROM snapshots ORDER BY seq DESC LIMIT $1::bigint",
                          {binary(std::int64_t{kKeptSnapshots})}, "read the snapshots");
  if (!rows) return std::unexpected(rows.error());
  std::vector<std::uint64_t> seqs;
  for (const auto& row : *rows) seqs.push_back(unsigned_integer(row[0]));
  return seqs;
}

Result<std::optional<StoredSnapshot>> fetch_snapshot(Session& session, std::uint64_t seq) {
  auto rows = session.run(
      "SELECT seq, term, time_us, version, crc32, payload_bytes, payload, packed FROM snapshots WHERE seq = $1::bigint",
      {binary(static_cast<std::int64_t>(seq))}, fmt::format("read snapshot {}", seq));
  if (!rows) return std::unexpected(rows.error());
  if (rows->empty()) return std::nullopt;
  const auto row = (*rows)[0];
  StoredSnapshot stored;
  stored.snapshot.seq = unsigned_integer(row[0]);
  stored.snapshot.term = unsigned_integer(row[1]);
  stored.snapshot.time_us = row[2].as<std::int64_t>();
  stored.snapshot.version = static_cast<std::uint32_t>(row[3].as<std::int64_t>());
  stored.payload = stored_bytes(row, 4);
  return stored;
}

Result<void> insert_blob(Session& session, const Blob& blob, const std::string& compressed, std::uint32_t crc32) {
  const std::string doing = "write blob " + blob.digest;
  auto written = session.run(
      "INSERT INTO blobs (digest, crc32, data_bytes, data) VALUES ($1::text, $2::bigint, $3::bigint, $4::bytea)"
      " ON CONFLICT (digest) DO NOTHING",
      {binary(blob.digest), binary(std::int64_t{crc32}), binary(static_cast<std::int64_t>(blob.bytes.size())),
       compressed},
      doing);
  if (!written) return std::unexpected(written.error());
  if (written->affected_rows() != 0) return {};
  auto there = session.run("SELECT crc32, data_bytes FROM blobs WHERE digest = $1::text", {binary(blob.digest)}, doing);
  if (!there) return std::unexpected(there.error());
  if (!there->empty() && (*there)[0][0].as<std::int64_t>() == crc32 &&
      unsigned_integer((*there)[0][1]) == blob.bytes.size()) {
    return {};
  }
  return fail(ErrorKind::conflict, "db.blobDiffers", "the digest is stored with other bytes", "blob " + blob.digest,
              "compute the digest (SHA-256) from the bytes");
}

Result<void> write_and_undo(Session& session) {
  constexpr std::size_t kDigestDigits = 64, kBytes = std::size_t{64} << 10U;
  constexpr const char* kUndone = "db.undone";
  const Blob blob{std::string(kDigestDigits, '0'), std::string(kBytes, '\0')};
  const auto written = session.in_transaction(
      [&]() -> Result<void> {
        if (auto inserted = insert_blob(session, blob, blob.bytes, 0); !inserted) return inserted;
        return fail(ErrorKind::conflict, kUndone, "it is not to be kept");
      },
      "try to write");
  if (!written && written.error().code != kUndone) return written;
  return {};
}

Result<std::optional<StoredBytes>> fetch_blob(Session& session, const std::string& digest) {
  auto rows = session.run("SELECT crc32, data_bytes, NULL::text, data FROM blobs WHERE digest = $1::text",
                          {binary(digest)}, "read blob " + digest);
  if (!rows) return std::unexpected(rows.error());
  if (rows->empty()) return std::nullopt;
  return stored_bytes((*rows)[0], 0);
}

}  // namespace railweave::db::postgres
