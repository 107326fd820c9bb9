// The schema's numbered steps, and running those that a store has not seen yet.
#pragma once

#include <cstdint>
#include <span>

#include "db/migration.h"
#include "db/sqlite/connection.h"

namespace railweave::db::sqlite {

// PRAGMA application_id of our files: "RLWV".
inline constexpr std::int32_t kApplicationId = 0x524C5756;

// db/migrations/sqlite/V*.sql, embedded at build time, ascending.
std::span<const Migration> embedded_migrations();

// What the database is: 0 for one without any table (a new file), else its newest migration. Changes nothing. Errors:
// db.notRailweave (another program's), db.newer (of a later release), db.migrationDiffers (one that it ran has other
// text than ours), db.damaged.
Result<std::int32_t> schema_version(Connection& connection, std::span<const Migration> migrations);

// Runs the migrations after `from_version`, each in a transaction of its own with its entry in the migrations table.
Result<void> migrate(Connection& connection, std::span<const Migration> migrations, std::int32_t from_version,
                     std::int64_t now_us);

}  // namespace railweave::db::sqlite
