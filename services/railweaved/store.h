// The store that the configuration names: an SQLite file, or a PostgreSQL database.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "db/shared_journal.h"
#include "services/railweaved/config.h"

namespace railweave {

// postgresql://..., postgres://... or libpq's "host=... dbname=..."
bool is_postgres(const std::string& store);

struct Store {
  std::unique_ptr<db::Journal> journal;
  db::SharedJournal* shared = nullptr;             // the same, where other processes may share it
  std::function<Result<void>()> try_writing = {};  // whether it takes records; borrows from the journal
};

// replica: this process, as others are told. on_deposed: called once when another process has taken over a PostgreSQL
// store. Errors: those of open_sqlite_journal and open_shared_postgres_journal.
Result<Store> open_store(const Config& config, const std::string& replica, const log::Log& log,
                         std::function<void()> on_deposed);

// For log lines: without a password.
std::string store_name(const std::string& store);

}  // namespace railweave
