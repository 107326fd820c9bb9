#include "db/postgres/migration.h"

#include <string>

#include <fmt/core.h>

#include "db/postgres/binary.h"

namespace railweave::db::postgres {
namespace {

// Any number, as long as all replicas use it: "RLWV".
constexpr const char* kLock = "SELECT pg_advisory_xact_lock(1380734806)";

// How many of `migrations` the database has seen.
Result<std::size_t> seen_migrations(Session& session, std::span<const Migration> migrations) {
  auto there = session.run("SELECT to_regclass('migrations') IS NOT NULL, to_regclass('journal') IS NOT NULL", {},
                           "look for the schema");
  if (!there) return std::unexpected(there.error());
  if (!(*there)[0][0].as<bool>()) {
    if (!(*there)[0][1].as<bool>()) return 0;
    return fail(ErrorKind::invalid, "db.notRailweave", "the database has a table journal that is not this program's",
                session.location(),
                "name another database, or a schema of its own with ?options=-csearch_path%3Drailweave");
  }
  auto rows = session.run("SELECT version, sha256 FROM migrations ORDER BY version", {}, "read the migrations");
  if (!rows) return std::unexpected(rows.error());
  if (static_cast<std::size_t>(rows->size()) > migrations.size()) {
    return fail(
        ErrorKind::precondition, "db.newer",
        fmt::format("the store has schema version {}, this program knows up to {}", rows->size(), migrations.size()),
        session.location(), "start the release that wrote it, or a later one");
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows->size()); ++i) {
    const auto row = (*rows)[static_cast<pqxx::result::size_type>(i)];
    if (row[0].as<std::int32_t>() != migrations[i].version || row[1].c_str() != migrations[i].sha256) {
      return fail(ErrorKind::precondition, "db.migrationDiffers",
                  fmt::format("the store was made by migration {} with other text than this program's", row[0].c_str()),
                  session.location(), "start the release that made the store, or restore one made by this release");
    }
  }
  return static_cast<std::size_t>(rows->size());
}

}  // namespace

Result<void> migrate(Session& session, std::span<const Migration> migrations) {
  bool done = false;
  while (!done) {
    auto ran = session.in_transaction(
        [&]() -> Result<void> {
          if (auto locked = session.execute(kLock, "wait for another migration"); !locked) return locked;
          const auto seen = seen_migrations(session, migrations);
          if (!seen) return std::unexpected(seen.error());
          done = *seen == migrations.size();
          if (done) return {};
          const Migration& next = migrations[*seen];
          const std::string doing = fmt::format("run migration {} ({})", next.version, next.name);
          if (auto applied = session.execute(std::string(next.sql), doing); !applied) return applied;
          auto entered =
              session.run("INSERT INTO migrations (version, name, sha256) VALUES ($1::bigint, $2::text, $3::text)",
                          {binary(std::int64_t{next.version}), binary(next.name), binary(next.sha256)}, doing);
          if (!entered) return std::unexpected(entered.error());
          return {};
        },
        "migrate the schema");
    if (!ran) return ran;
  }
  return {};
}

}  // namespace railweave::db::postgres
