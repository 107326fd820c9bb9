// The store that the configuration names: an SQLite file, or a PostgreSQL database.
#pragma once

#include <functional>
#include <memory>

#include "db/journal.h"
#include "services/railweaved/config.h"

namespace railweave {

// postgresql://..., postgres://... or libpq's "host=... dbname=..."
bool is_postgres(const std::string& store);

// `on_deposed`: called once when another process has taken over a PostgreSQL store. Errors: those of open_sqlite_journal
// and open_postgres_journal.
Result<std::unique_ptr<db::Journal>> open_store(const Config& config, std::function<void()> on_deposed);

// For log lines: without a password.
std::string store_name(const std::string& store);

}  // namespace railweave
