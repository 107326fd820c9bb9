// A whole PostgreSQL store as of one moment; and a PostgreSQL store that is filled from another one.
#pragma once

#include <memory>
#include <string>

#include "db/store_image.h"
#include "db/store_import.h"

namespace railweave::db {

// A reading transaction on a store of this program's newest schema. Errors: db.cannotConnect, db.encoding, db.notThere, db.older,
// db.newer, and those of reading.
Result<std::unique_ptr<StoreImage>> open_postgres_image(const std::string& url);

// The database's store, which it makes and which must be empty; no service can write it until the import is over. Errors:
// db.exists (it holds something), db.locked (a service has it), and those of open_postgres_journal.
Result<std::unique_ptr<StoreImport>> import_postgres_store(const std::string& url);

}  // namespace railweave::db
