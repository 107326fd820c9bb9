// The store that the configuration names: an SQLite file, or a PostgreSQL database.
#pragma once

#include <memory>

#include "db/journal.h"
#include "services/railweaved/config.h"

namespace railweave {

// postgresql://..., postgres://... or libpq's "host=... dbname=..."
bool is_postgres(const std::string& store);

// Errors: those of open_sqlite_journal and open_postgres_journal.
Result<std::unique_ptr<db::Journal>> open_store(const Config& config);

// For log lines: without a password.
std::string store_name(const std::string& store);

}  // namespace railweave
