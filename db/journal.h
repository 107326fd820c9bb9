// The durable store: an append-only journal of records, snapshots that bound its replay, large immutable documents, and
// reporting tables for people's SQL, written in the same transaction. It knows no domain type: payloads are opaque
// text. SQLite is behind it in sqlite/; tests/unit/db holds the conformance tests that every store must pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "fabric/base/error.h"

namespace railweave::db {

// Text fields are UTF-8 without NUL; limits are in limits.h.
struct Record {
  std::uint64_t seq = 0;      // 1, 2, 3, ... without a gap
  std::uint64_t term = 0;     // of the leader that wrote it; never goes back
  std::int64_t time_us = 0;   // since 1970-01-01 UTC
  std::string actor;          // who caused it
  std::string kind;           // "job.placed"; never empty
  std::uint32_t version = 1;  // of the payload's form, by kind
  std::string subject_kind;   // "job"
  std::string subject_id;
  std::string payload;   // JSON text
  bool damaged = false;  // in the place of one that cannot be read: ReadFilter::with_damaged
  friend bool operator==(const Record&, const Record&) = default;
};

// A large immutable document (a topology), stored compressed. Storing one that is there already changes nothing.
struct Blob {
  std::string digest;  // SHA-256 of bytes, 64 lower-case hexadecimal digits; computed by the caller, not checked here
  std::string bytes;
};

// What a reporting table holds in one column; monostate is NULL.
using Value = std::variant<std::monostate, std::int64_t, double, std::string>;

// Inserts a row into a reporting table, or, where a row has its primary key, changes the columns named and no others.
struct ReportRow {
  std::string table;
  std::vector<std::pair<std::string, Value>> columns;  // must name the whole primary key, and no column twice
};

// Rows of a reporting table that has one whole number for its primary key.
struct ReportFilter {
  std::string table;
  std::int64_t after = 0;                                      // rows with a larger key, in its order
  std::size_t limit = 100;                                     // at least 1
  std::vector<std::pair<std::string, std::string>> equal;      // columns of text
  std::vector<std::pair<std::string, std::int64_t>> at_least;  // columns of whole numbers
};

struct Batch {
  std::vector<Record> records;
  std::vector<Blob> blobs;
  std::vector<ReportRow> reports;
};

// The state after record seq (0: before the first).
struct Snapshot {
  std::uint64_t seq = 0;
  std::uint64_t term = 0;
  std::int64_t time_us = 0;
  std::uint32_t version = 1;
  std::string payload;
  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

// Records with after_seq < seq <= up_to_seq that match every filter that is not empty.
struct ReadFilter {
  std::uint64_t after_seq = 0;
  std::uint64_t up_to_seq = UINT64_MAX;
  std::size_t limit = 1000;        // at least 1
  std::vector<std::string> kinds;  // any of these
  std::string subject_kind;
  std::string subject_id;  // needs subject_kind
  // In the place of a record that is damaged or missing comes one of its number that is damaged and of kDamagedKind, with the
  // time of the last one before it that can be read and nothing else of what is stored. Without this such a record is an error.
  bool with_damaged = false;
};
inline constexpr const char* kDamagedKind = "event.damaged";

// Every call may come from any thread; reads do not wait for appends, nor appends for reads. No call throws, except
// std::bad_alloc. Errors carry codes "db.*" (each store's header lists its own).
class Journal {
 public:
  Journal() = default;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  virtual ~Journal() = default;

  // One transaction: all of the batch or nothing, durable on the disk when it returns without an error. After an error
  // nothing of it is stored, except that a machine failing inside the call (db.failed, db.io) may leave the batch,
  // whole, to be seen after a restart. Conflict: records that do not continue the journal (db.gap), a term older than
  // the last record's (db.termBehind), a blob whose digest holds other bytes (db.blobDiffers). Invalid: everything else
  // that breaks a rule above.
  [[nodiscard]] virtual Result<void> append(const Batch& batch) = 0;

  // Ascending seq. May return fewer than limit although more follow (an answer is bounded in bytes too): the end is
  // reached when the answer is empty, and only then. Records that a store has removed because snapshots stand for them
  // are left out: only the oldest ones can be. db/replay.h reads on to the end. A record that is damaged or
  // missing is an error (or is told: ReadFilter::with_damaged), never left out (of the newest ones only: a loss shows when a
  // snapshot lies beyond the end, and otherwise not at all).
  [[nodiscard]] virtual Result<std::vector<Record>> read(const ReadFilter& filter) = 0;

  // 0 while the journal is empty.
  [[nodiscard]] virtual Result<std::uint64_t> last_seq() = 0;

  // Of the oldest record that was not removed; 0 while the journal is empty.
  [[nodiscard]] virtual Result<std::uint64_t> first_seq() {
    auto oldest = read({.limit = 1, .kinds = {}, .subject_kind = {}, .subject_id = {}});
    if (!oldest) return std::unexpected(std::move(oldest.error()));
    return oldest->empty() ? 0 : oldest->front().seq;
  }

  // Durable when it returns. Keeps the newest 2; one of the same seq is replaced. Conflict: seq beyond the journal's
  // last (db.snapshotAhead) or older than the newest snapshot (db.snapshotBehind).
  [[nodiscard]] virtual Result<void> save_snapshot(const Snapshot& snapshot) = 0;

  // The newest snapshot whose checksum holds. A damaged one is reported as a warning (see each store's options) and the
  // one before is returned; nullopt when there is none whole: replay then starts at the journal's beginning, if that
  // was not removed.
  [[nodiscard]] virtual Result<std::optional<Snapshot>> latest_snapshot() = 0;

  // Rows with all their columns, in the order of the key. Invalid: a table or a column that there is not, or of another kind.
  [[nodiscard]] virtual Result<std::vector<ReportRow>> read_report(const ReportFilter& filter) {
    return fail(ErrorKind::unavailable, "db.noReports", "this store keeps no reporting tables", filter.table);
  }

  // nullopt when no blob has that digest.
  [[nodiscard]] virtual Result<std::optional<std::string>> blob(const std::string& digest) = 0;

  // False: another writer has taken over, or may have. What acts outside the store, on switches above all, must not act
  // then. Cheap.
  [[nodiscard]] virtual bool leads() const { return true; }

  // Of this writer, for the records it appends; 0 where there is only ever one.
  [[nodiscard]] virtual std::uint64_t term() const { return 0; }
};

}  // namespace railweave::db
