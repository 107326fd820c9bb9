// For operators: an examination of a whole store, and a copy of it, both while a service may be writing it.
#pragma once

#include <filesystem>

#include "db/store_copy.h"
#include "fabric/base/error.h"

namespace railweave::db {

// Reads everything: SQLite's own structures, every record, snapshot and blob with its checksum, that no record is
// missing, and that the store is not behind its mark. Changes nothing. Error: the first thing that is wrong (db.damaged,
// db.recordsLost, and those of opening).
Result<StoreContents> check_sqlite_store(const std::filesystem::path& path, const StoreProgress& progress = {});

// Copies the store, as of one moment, to a file that must not be there. The copy is a store by itself: put it in the
// place of a lost one, without the `.mark` of that one. Errors: db.exists, and those of opening and writing.
Result<void> back_up_sqlite_store(const std::filesystem::path& path, const std::filesystem::path& to);

}  // namespace railweave::db
