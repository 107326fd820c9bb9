// Records, snapshots and blobs as a store keeps them. Reading has two steps, so that a connection is held for the first
// only: fetch the row as it is stored, then unpack it, which decompresses and compares checksums. Used by every store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "db/compression.h"
#include "db/journal.h"

namespace railweave::db {

// A payload as stored.
struct StoredBytes {
  std::string bytes;
  std::uint64_t raw_bytes = 0;
  std::uint32_t crc32 = 0;
  bool compressed = false;
};

struct StoredRecord {
  Record record;  // without its payload
  StoredBytes payload;
};
struct StoredSnapshot {
  Snapshot snapshot;  // without its payload
  StoredBytes payload;
};

// Errors: db.damaged, naming what is damaged.
Result<Record> unpack(StoredRecord&& stored);
Result<Snapshot> unpack(StoredSnapshot&& stored);
Result<Blob> unpack(const std::string& digest, StoredBytes&& stored);

// A batch's parts as they go into rows; borrows from the batch.
struct PackedBatch {
  explicit PackedBatch(const Batch& batch);
  std::vector<PackedText> payloads;
  std::vector<std::uint32_t> record_checksums;
  std::vector<std::string> blobs;
  std::vector<std::uint32_t> blob_checksums;
};

}  // namespace railweave::db
