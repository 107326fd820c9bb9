// The journal in one SQLite file (WAL mode, synchronous=FULL): the embedded store. Its schema, with what each table is
// for, is db/migrations/sqlite/schema.sql. `path`.lock, `path`.mark, `path`-wal and `path`-shm lie beside it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

#include "db/journal.h"
#include "fabric/base/error.h"

namespace railweave::db {

struct SqliteOptions {
  bool create = true;                   // make the file when there is none; its directory must exist
  std::int64_t busy_timeout_ms = 5000;  // how long to wait for another program that locks the file
  std::uint64_t keep_records = 0;       // older ones are removed once two snapshots stand for them; 0: all stay
  bool keep_reports = true;             // rows of reporting tables whose records were removed; else they go with them
  std::uint64_t max_bytes = 0;          // size at which appends are refused (db.full); 0: as large as the disk
  std::function<void(const Error&)> on_warning;  // e.g. a damaged snapshot was skipped; called from the caller's thread
};

class SqliteStore : public Journal {
 public:
  // Whether the store takes records, found out by a transaction that changes nothing.
  [[nodiscard]] virtual Result<void> try_writing() = 0;
};

// Opens the store, brings its schema up to date, and holds it alone until the Journal is destroyed. Errors, all naming
// the file and what to do: db.noDirectory, db.notThere, db.notAFile, db.hardLinked, db.readOnly, db.full, db.locked
// (another service has it), db.notADatabase, db.notRailweave, db.newer, db.migrationDiffers, db.damaged, db.recordsLost
// (the store is missing or behind its mark), db.busy, db.io, db.cannotOpen, db.invalid. A file of another program is left
// unchanged.
//
// Beside the errors of journal.h, append and save_snapshot return db.full, db.busy and db.readOnly, after which they
// may be tried again, and db.io and db.lost (the file was removed, renamed, replaced or cut while it is open), after
// which the store refuses to write (db.failed) until it is opened again: the kernel may have dropped what it could not
// write, or what was written is in no file that the next start would find. last_seq returns db.lost too.
Result<std::unique_ptr<SqliteStore>> open_sqlite_journal(const std::filesystem::path& path, SqliteOptions options = {});

}  // namespace railweave::db
