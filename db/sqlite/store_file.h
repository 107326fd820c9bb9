// The store's file before SQLite opens it: whether it exists and may be a store of this program; and the creation of a
// new one that survives a crash.
#pragma once

#include <filesystem>

#include "fabric/base/error.h"

namespace railweave::db::sqlite {

// The absolute path with symbolic links resolved, so that one store has one lock and one WAL however it is named.
// Changes nothing. Errors: db.invalid (a name no file can have), db.noDirectory, db.notAFile (a directory, a device),
// db.hardLinked, db.notADatabase, db.notRailweave (by its header), db.notThere (when it may not be created),
// db.cannotOpen.
Result<std::filesystem::path> find_store_file(const std::filesystem::path& path, bool create);

// Makes an empty file (mode 0640 less umask; WAL and shared memory take the same) unless it is there; its directory
// entry is on the disk when it returns.
Result<void> create_store_file(const std::filesystem::path& path);

}  // namespace railweave::db::sqlite
