#include "db/sqlite/connection.h"

#include <algorithm>

#include <sqlite3.h>

#include "db/sqlite/sqlite_error.h"

// STRICT tables came with 3.37.
static_assert(SQLITE_VERSION_NUMBER >= 3037000);

namespace railweave::db::sqlite {

void Connection::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }

Result<Connection> Connection::open(const std::filesystem::path& absolute_path, std::int64_t busy_timeout_ms) {
  return open(absolute_path.string(), SQLITE_OPEN_READWRITE, busy_timeout_ms);
}

Result<Connection> Connection::open_in_memory() { return open(":memory:", SQLITE_OPEN_READWRITE, 0); }

Result<Connection> Connection::open(const std::string& name, int flags, std::int64_t busy_timeout_ms) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  Connection connection(handle, name);
  if (code != SQLITE_OK) return std::unexpected(sqlite_error(handle, code, "open the store", name));
  sqlite3_busy_timeout(handle, static_cast<int>(std::clamp<std::int64_t>(busy_timeout_ms, 0, 3'600'000)));
  // A file is input: its schema may not run what SQLite calls untrusted, nor may SQL rewrite the schema behind SQLite.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DDL, 0, nullptr);
  return connection;
}

Result<StatementUse> Connection::prepared(std::string_view sql) {
  const std::string key(sql);
  if (const auto found = statements_.find(key); found != statements_.end())
    return StatementUse(found->second.statement);
  sqlite3_stmt* handle = nullptr;
  const int code = sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &handle, nullptr);
  if (code != SQLITE_OK) {
    return std::unexpected(sqlite_error(handle_.get(), code, "prepare " + key.substr(0, 120), location_));
  }
  if (statements_.size() >= kMaxStatements) forget_the_oldest_statement();
  const auto [at, fresh] = statements_.emplace(key, Cached{Statement(handle), ++statements_made_});
  return StatementUse(at->second.statement);
}

void Connection::forget_the_oldest_statement() {
  statements_.erase(std::ranges::min_element(statements_, {}, [](const auto& entry) { return entry.second.made; }));
}

Result<void> Connection::execute(const std::string& sql, std::string_view doing) {
  const int code = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return std::unexpected(sqlite_error(handle_.get(), code, doing, location_));
  return {};
}

Result<std::int64_t> Connection::integer(std::string_view sql) {
  auto statement = prepared(sql);
  if (!statement) return std::unexpected(statement.error());
  const auto row = (*statement)->step("read the store");
  if (!row) return std::unexpected(row.error());
  return *row ? (*statement)->integer(0) : 0;
}

Result<std::string> Connection::text(std::string_view sql) {
  auto statement = prepared(sql);
  if (!statement) return std::unexpected(statement.error());
  const auto row = (*statement)->step("read the store");
  if (!row) return std::unexpected(row.error());
  return *row ? std::string((*statement)->bytes(0)) : std::string();
}

bool Connection::in_transaction() const { return sqlite3_get_autocommit(handle_.get()) == 0; }
bool Connection::read_only() const { return sqlite3_db_readonly(handle_.get(), "main") == 1; }
std::int64_t Connection::changes() const { return sqlite3_changes64(handle_.get()); }
std::int64_t Connection::total_changes() const { return sqlite3_total_changes64(handle_.get()); }

}  // namespace railweave::db::sqlite
