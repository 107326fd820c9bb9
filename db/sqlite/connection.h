// One SQLite connection and its prepared statements, closed when it is destroyed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "db/sqlite/statement.h"
#include "fabric/base/error.h"

struct sqlite3;

namespace railweave::db::sqlite {

// Not thread-safe: its owner guards it (SQLite's own mutex is off).
class Connection {
 public:
  // An existing file, at an absolute path (so that SQLite takes no name for a URI or for memory). Changes nothing in
  // it.
  static Result<Connection> open(const std::filesystem::path& absolute_path, std::int64_t busy_timeout_ms);
  // A database in memory, for schema checks.
  static Result<Connection> open_in_memory();

  // Prepared once and kept. At most kMaxStatements are kept, the oldest go first; so hold at most a few at a time.
  [[nodiscard]] Result<StatementUse> prepared(std::string_view sql);
  // Any number of statements, without results.
  [[nodiscard]] Result<void> execute(const std::string& sql, std::string_view doing);
  // The first column of the first row; 0 or empty when there is none.
  [[nodiscard]] Result<std::int64_t> integer(std::string_view sql);
  [[nodiscard]] Result<std::string> text(std::string_view sql);

  [[nodiscard]] bool in_transaction() const;
  [[nodiscard]] bool read_only() const;
  [[nodiscard]] std::int64_t changes() const;        // rows changed by the last statement that was run
  [[nodiscard]] std::int64_t total_changes() const;  // rows changed since it was opened
  [[nodiscard]] const std::string& location() const { return location_; }

 private:
  static constexpr std::size_t kMaxStatements = 256;
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  struct Cached {
    Statement statement;
    std::uint64_t made = 0;
  };

  Connection(sqlite3* handle, std::string location) : handle_(handle), location_(std::move(location)) {}
  static Result<Connection> open(const std::string& name, int flags, std::int64_t busy_timeout_ms);
  void forget_the_oldest_statement();

  std::unique_ptr<sqlite3, Close> handle_;  // closed after the statements below are gone
  std::string location_;
  std::unordered_map<std::string, Cached> statements_;
  std::uint64_t statements_made_ = 0;
};

}  // namespace railweave::db::sqlite
