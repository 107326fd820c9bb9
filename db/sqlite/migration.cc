#include "db/sqlite/migration.h"

#include <string>

#include <fmt/core.h>

#include "db/sqlite/transaction.h"

namespace railweave::db::sqlite {
namespace {

Result<void> check_applied(Connection& connection, std::span<const Migration> migrations, std::int64_t version) {
  auto statement = connection.prepared("SELECT version, sha256 FROM migrations ORDER BY version");
  if (!statement) return std::unexpected(statement.error());
  std::int64_t seen = 0;
  while (true) {
    const auto row = (*statement)->step("read the migrations");
    if (!row) return std::unexpected(row.error());
    if (!*row) break;
    ++seen;
    if ((*statement)->integer(0) != seen || seen > version) break;
    const Migration& ours = migrations[static_cast<std::size_t>(seen - 1)];
    if ((*statement)->bytes(1) != ours.sha256) {
      return fail(
          ErrorKind::precondition, "db.migrationDiffers",
          fmt::format("the store was made by migration {} ({}) with other text than this program's", seen, ours.name),
          connection.location(), "start the release that made the store, or restore one made by this release");
    }
  }
  if (seen != version) {
    return fail(ErrorKind::internal, "db.damaged",
                fmt::format("the header says schema version {}, the migrations table says otherwise", version),
                connection.location(), "restore the store from a backup");
  }
  return {};
}

Result<void> apply(Connection& connection, const Migration& migration, std::int64_t now_us) {
  const std::string doing = fmt::format("run migration {} ({})", migration.version, migration.name);
  auto transaction = Transaction::begin(connection);
  if (!transaction) return std::unexpected(transaction.error());
  if (auto ran = connection.execute(std::string(migration.sql), doing); !ran) return ran;
  {
    auto entry =
        connection.prepared("INSERT INTO migrations (version, name, sha256, applied_at_us) VALUES (?1, ?2, ?3, ?4)");
    if (!entry) return std::unexpected(entry.error());
    (*entry)
        ->bind(1, std::int64_t{migration.version})
        .bind_text(2, migration.name)
        .bind_text(3, migration.sha256)
        .bind(4, now_us);
    if (auto ran = (*entry)->run(doing); !ran) return ran;
  }
  const std::string header =
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, migration.version);
  if (auto ran = connection.execute(header, doing); !ran) return ran;
  return transaction->commit();
}

}  // namespace

Result<std::int32_t> schema_version(Connection& connection, std::span<const Migration> migrations) {
  const auto application = connection.integer("PRAGMA application_id");
  if (!application) return std::unexpected(application.error());
  if (*application != kApplicationId) {
    const auto objects = connection.integer("SELECT count(*) FROM sqlite_schema");
    if (!objects) return std::unexpected(objects.error());
    if (*application == 0 && *objects == 0) return 0;
    return fail(ErrorKind::invalid, "db.notRailweave", "the file is an SQLite database of another program",
                connection.location(), "name another file; nothing was changed in this one");
  }
  const auto version = connection.integer("PRAGMA user_version");
  if (!version) return std::unexpected(version.error());
  const auto newest = static_cast<std::int64_t>(migrations.size());
  if (*version > newest) {
    return fail(ErrorKind::precondition, "db.newer",
                fmt::format("the store has schema version {}, this program knows up to {}", *version, newest),
                connection.location(), "start the release that wrote it, or a later one");
  }
  if (*version < 1) {
    return fail(ErrorKind::internal, "db.damaged", fmt::format("the header says schema version {}", *version),
                connection.location(), "restore the store from a backup");
  }
  if (auto checked = check_applied(connection, migrations, *version); !checked) return std::unexpected(checked.error());
  return static_cast<std::int32_t>(*version);
}

Result<void> migrate(Connection& connection, std::span<const Migration> migrations, std::int32_t from_version,
                     std::int64_t now_us) {
  for (const Migration& migration : migrations) {
    if (migration.version <= from_version) continue;
    if (auto applied = apply(connection, migration, now_us); !applied) return applied;
  }
  return {};
}

}  // namespace railweave::db::sqlite
