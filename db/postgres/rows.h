// Records, snapshots and blobs as rows of PostgreSQL. What is fetched is unpacked by db/stored.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/journal.h"
#include "db/postgres/append_statement.h"
#include "db/postgres/session.h"
#include "db/stored.h"

namespace railweave::db::postgres {

struct FetchedRecords {
  std::vector<StoredRecord> records;
  bool cut_short = false;  // by the limit or by kMaxReadBytes
};

// A filter that was checked. Its cost grows with the records it returns, not with those it skips.
Result<FetchedRecords> fetch_records(Session& session, const ReadFilter& filter);

// Replaces one of the same seq, and forgets all but the newest kKeptSnapshots; false where the lease is not held.
Result<bool> insert_snapshot(Session& session, const Snapshot& snapshot, const PackedText& payload, std::uint32_t crc32,
                             const Fence& fence);
// The same as a part of the caller's transaction.
Result<bool> write_snapshot(Session& session, const Snapshot& snapshot, const PackedText& payload, std::uint32_t crc32,
                            const Fence& fence);
Result<std::vector<std::uint64_t>> fetch_snapshot_seqs(Session& session);  // newest first
Result<std::optional<StoredSnapshot>> fetch_snapshot(Session& session, std::uint64_t seq);

// Nothing when the digest is there with the same bytes; a conflict (db.blobDiffers) when it is there with others.
Result<void> insert_blob(Session& session, const Blob& blob, const std::string& compressed, std::uint32_t crc32);
// Whether the server takes what is written, found out by more than what is left of a table's last page, so that a full disk
// shows. Nothing is kept.
Result<void> write_and_undo(Session& session);
Result<std::optional<StoredBytes>> fetch_blob(Session& session, const std::string& digest);

}  // namespace railweave::db::postgres
