// What a store accepts at most, so that no input can make it take memory or disk without end. The same for every store.
#pragma once

#include <cstddef>
#include <cstdint>

namespace railweave::db {

inline constexpr std::size_t kMaxBatchRecords = 65'536;
inline constexpr std::size_t kMaxBatchReports = 65'536;
inline constexpr std::size_t kMaxBatchBlobs = 64;
inline constexpr std::size_t kMaxNameBytes = 512;                // actor, kind, subject_kind, subject_id
inline constexpr std::size_t kMaxPayloadBytes = 64ULL << 20U;    // of one record
inline constexpr std::size_t kMaxBatchBytes = 256ULL << 20U;     // payloads of one batch's records
inline constexpr std::size_t kMaxSnapshotBytes = 512ULL << 20U;  // SQLite and PostgreSQL end at 1 GB per value
inline constexpr std::size_t kMaxBlobBytes = 512ULL << 20U;
inline constexpr std::size_t kMaxReportColumns = 64;
inline constexpr std::size_t kMaxReportTextBytes = 1ULL << 20U;  // one value
inline constexpr std::size_t kMaxReadRecords = 100'000;          // a larger limit is read as this
inline constexpr std::size_t kMaxReadBytes = 64ULL << 20U;       // payloads of one answer, unless its first is larger
inline constexpr std::size_t kMaxReadKinds = 32;
inline constexpr std::uint64_t kMaxSeq = INT64_MAX;                // stores have signed integers only
inline constexpr std::size_t kCompressAboveBytes = 256ULL << 10U;  // payloads larger than this are stored compressed
inline constexpr std::size_t kKeptSnapshots = 2;

}  // namespace railweave::db
