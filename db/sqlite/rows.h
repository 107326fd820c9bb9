// Records, snapshots and blobs as rows of SQLite. What is fetched is unpacked by db/stored.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/compression.h"
#include "db/journal.h"
#include "db/sqlite/connection.h"
#include "db/stored.h"

namespace railweave::db::sqlite {

struct FetchedRecords {
  std::vector<StoredRecord> records;
  bool cut_short = false;  // by the limit or by kMaxReadBytes
};

Result<void> insert_record(Connection& connection, const Record& record, const PackedText& payload,
                           std::uint32_t crc32);
Result<FetchedRecords> fetch_records(Connection& connection, const ReadFilter& filter);

// Replaces one of the same seq, and forgets all but the newest kKeptSnapshots.
Result<void> insert_snapshot(Connection& connection, const Snapshot& snapshot, const PackedText& payload,
                             std::uint32_t crc32);
// Removes the oldest records up to `seq`, at most `limit` of them: the number of the last one removed, ever.
// with_reports: and rows of reporting tables that tell of nothing later.
Result<std::uint64_t> remove_records(Connection& connection, std::uint64_t seq, std::uint64_t limit, bool with_reports);
Result<std::uint64_t> fetch_floor(Connection& connection);
Result<std::vector<std::uint64_t>> fetch_snapshot_seqs(Connection& connection);  // newest first
Result<std::optional<StoredSnapshot>> fetch_snapshot(Connection& connection, std::uint64_t seq);

// Nothing when the digest is there with the same bytes; a conflict (db.blobDiffers) when it is there with others.
Result<void> insert_blob(Connection& connection, const Blob& blob, std::string_view compressed, std::uint32_t crc32);
Result<std::optional<StoredBytes>> fetch_blob(Connection& connection, const std::string& digest);

}  // namespace railweave::db::sqlite
