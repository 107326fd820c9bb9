#include "services/railweaved/store.h"

#include <spdlog/spdlog.h>

#include "db/postgres/postgres_journal.h"
#include "db/sqlite/sqlite_journal.h"

namespace railweave {

bool is_postgres(const std::string& store) {
  return store.starts_with("postgresql://") || store.starts_with("postgres://") || store.contains("dbname=");
}

Result<std::unique_ptr<db::Journal>> open_store(const Config& config, std::function<void()> on_deposed) {
  const auto warn = [](const Error& warning) { spdlog::warn("store: {}", warning.text()); };
  if (is_postgres(config.store)) {
    db::PostgresOptions options;
    options.on_warning = warn;
    options.on_deposed = std::move(on_deposed);
    return db::open_postgres_journal(config.store, options);
  }
  db::SqliteOptions options;
  options.keep_records = config.keep_events;
  options.on_warning = warn;
  return db::open_sqlite_journal(config.store, options);
}

std::string store_name(const std::string& store) { return is_postgres(store) ? db::redacted_url(store) : store; }

}  // namespace railweave
