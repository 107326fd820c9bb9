#include "db/stored.h"

#include <optional>
#include <utility>

#include <fmt/core.h>

#include "db/checksum.h"
#include "db/limits.h"

namespace railweave::db {
namespace {

std::unexpected<Error> damaged(const std::string& what) {
  return fail(ErrorKind::internal, "db.damaged", what + " is damaged: what is stored does not match its checksum", what,
              "stop the service, check the disk and restore the store from a backup");
}

// The bytes as they were, or nothing when they cannot be what was stored.
std::optional<std::string> unpack_bytes(StoredBytes&& stored, std::size_t limit) {
  if (stored.raw_bytes > limit) return std::nullopt;
  if (!stored.compressed) {
    if (stored.bytes.size() != stored.raw_bytes) return std::nullopt;
    return std::move(stored.bytes);
  }
  auto raw = decompress(stored.bytes, stored.raw_bytes);
  if (!raw) return std::nullopt;
  return std::move(*raw);
}

}  // namespace

Result<Record> unpack(StoredRecord&& stored) {
  const std::uint32_t expected = stored.payload.crc32;
  auto payload = unpack_bytes(std::move(stored.payload), kMaxPayloadBytes);
  if (!payload) return damaged(fmt::format("record {}", stored.record.seq));
  stored.record.payload = std::move(*payload);
  if (checksum(stored.record) != expected) return damaged(fmt::format("record {}", stored.record.seq));
  return std::move(stored.record);
}

Result<Snapshot> unpack(StoredSnapshot&& stored) {
  const std::uint32_t expected = stored.payload.crc32;
  auto payload = unpack_bytes(std::move(stored.payload), kMaxSnapshotBytes);
  if (!payload) return damaged(fmt::format("snapshot {}", stored.snapshot.seq));
  stored.snapshot.payload = std::move(*payload);
  if (checksum(stored.snapshot) != expected) return damaged(fmt::format("snapshot {}", stored.snapshot.seq));
  return std::move(stored.snapshot);
}

Result<Blob> unpack(const std::string& digest, StoredBytes&& stored) {
  const std::uint32_t expected = stored.crc32;
  auto bytes = unpack_bytes(std::move(stored), kMaxBlobBytes);
  if (!bytes) return damaged("blob " + digest);
  Blob blob{digest, std::move(*bytes)};
  if (checksum(blob) != expected) return damaged("blob " + digest);
  return blob;
}

PackedBatch::PackedBatch(const Batch& batch) {
  payloads.reserve(batch.records.size());
  for (const Record& record : batch.records) {
    payloads.emplace_back(record.payload);
    record_checksums.push_back(checksum(record));
  }
  for (const Blob& blob : batch.blobs) {
    blobs.push_back(compress(blob.bytes));
    blob_checksums.push_back(checksum(blob));
  }
}

}  // namespace railweave::db
