// A whole SQLite store as of one moment; and an SQLite store that is filled from another one.
#pragma once

#include <filesystem>
#include <memory>

#include "db/store_image.h"
#include "db/store_import.h"

namespace railweave::db {

// A reading transaction on a store of this program's newest schema. Errors: those of opening, db.older, db.damaged (SQLite's
// own structures, which are looked through first).
Result<std::unique_ptr<StoreImage>> open_sqlite_image(const std::filesystem::path& path);

// A new store, which gets its name when it is finished. Errors: db.exists (there is a file of that name), db.recordsLost (a
// mark beside it tells of a store that was lost and went further; at finish()), and those of opening and writing.
Result<std::unique_ptr<StoreImport>> make_sqlite_store(const std::filesystem::path& path);

}  // namespace railweave::db
