#include "services/railweaved/store.h"

#include <chrono>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "db/postgres/postgres_journal.h"
#include "db/sqlite/sqlite_journal.h"

namespace railweave {

bool is_postgres(const std::string& store) { return db::is_postgres_url(store); }

Result<Store> open_store(const Config& config, const std::string& replica, const log::Log& log,
                         std::function<void()> on_deposed) {
  const auto warn = [log](const Error& warning) { log.warn("{}", warning.text()); };
  if (is_postgres(config.store)) {
    db::PostgresOptions options;
    options.on_warning = warn;
    options.log = log;
    options.on_deposed = std::move(on_deposed);
    options.holder = fmt::format("{}, process {}", replica, ::getpid());
    options.lease = std::chrono::seconds(config.replica.lease_seconds);
    auto journal = db::open_shared_postgres_journal(config.store, options);
    if (!journal) return std::unexpected(journal.error());
    auto* shared = journal->get();
    return Store{std::move(*journal), shared, [shared] { return shared->try_writing(); }};
  }
  db::SqliteOptions options;
  options.keep_records = config.kept.events;
  options.keep_reports = config.kept.reports;
  options.on_warning = warn;
  auto journal = db::open_sqlite_journal(config.store, options);
  if (!journal) return std::unexpected(journal.error());
  auto* own = journal->get();
  return Store{std::move(*journal), nullptr, [own] { return own->try_writing(); }};
}

std::string store_name(const std::string& store) { return is_postgres(store) ? db::redacted_url(store) : store; }

}  // namespace railweave
