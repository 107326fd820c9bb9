// Reading a whole store and comparing every checksum, and copying it into an empty one of either kind.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "db/store_image.h"
#include "db/store_import.h"

namespace railweave::db {

struct StoreContents {
  std::uint64_t first_seq = 0;  // of the oldest record that is kept; 0: there is none
  std::uint64_t last_seq = 0;
  std::uint64_t records = 0;
  std::uint64_t snapshots = 0;
  std::uint64_t blobs = 0;
  std::uint64_t reports = 0;
  std::uint64_t bytes = 0;   // of payloads and blobs, uncompressed
  std::uint64_t digest = 0;  // of all of it, the same for both kinds of stores
  friend bool operator==(const StoreContents&, const StoreContents&) = default;
};

// How far: "records", 3000, 10000. Called often; 0 as `of`: it is not known.
using StoreProgress = std::function<void(std::string_view what, std::uint64_t done, std::uint64_t of)>;

// Everything, with its checksums; that no record is missing and that snapshots stand for those that were removed. Error: the
// first thing that is wrong (db.damaged, and those of reading).
Result<StoreContents> read_store(StoreImage& image, const StoreProgress& progress);

// The same, and writes it all to `to`, which it finishes.
Result<StoreContents> copy_store(StoreImage& from, StoreImport& to, const StoreProgress& progress);

}  // namespace railweave::db
