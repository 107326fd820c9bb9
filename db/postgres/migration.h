// Bringing a database's schema up to date, one process at a time.
#pragma once

#include <cstdint>
#include <span>

#include "db/migration.h"
#include "db/postgres/session.h"

namespace railweave::db::postgres {

// db/migrations/postgres/V*.sql, embedded at build time, ascending.
std::span<const Migration> embedded_migrations();

// Runs the migrations that the database has not seen, each in a transaction of its own with its entry in the migrations
// table, under an advisory lock: replicas that start together wait for each other. Errors: db.notRailweave (a journal of
// another program is there), db.newer (of a later release), db.migrationDiffers (one that it ran has other text).
Result<void> migrate(Session& session, std::span<const Migration> migrations);

}  // namespace railweave::db::postgres
