// A prepared statement, finalised when it is destroyed.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "fabric/base/error.h"

struct sqlite3_stmt;

namespace railweave::db::sqlite {

// Not thread-safe: used by the thread that holds its connection. Parameters count from 1, columns from 0.
// Bound text and bytes are borrowed until reset().
class Statement {
 public:
  explicit Statement(sqlite3_stmt* handle) : handle_(handle) {}
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;
  ~Statement();

  Statement& bind(int parameter, std::int64_t value);
  Statement& bind_unsigned(int parameter, std::uint64_t value) {
    return bind(parameter, static_cast<std::int64_t>(value));
  }
  Statement& bind(int parameter, double value);
  Statement& bind_text(int parameter, std::string_view value);
  Statement& bind_bytes(int parameter, std::string_view value);
  Statement& bind_null(int parameter);

  // True: a row is there to be read; false: done. `doing` goes into the error: "cannot <doing>: ...".
  [[nodiscard]] Result<bool> step(std::string_view doing);
  // Steps to the end, ignoring rows.
  [[nodiscard]] Result<void> run(std::string_view doing);

  // Columns of the present row; views hold until the next step or reset. NULL reads as 0 or empty.
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::uint64_t unsigned_integer(int column) const { return static_cast<std::uint64_t>(integer(column)); }
  [[nodiscard]] std::string_view bytes(int column) const;
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] int columns() const;
  [[nodiscard]] bool is_blob(int column) const;
  [[nodiscard]] bool is_integer(int column) const;
  [[nodiscard]] bool is_real(int column) const;
  [[nodiscard]] bool is_null(int column) const;

  // Ready for the next use: no row, no parameters.
  void reset();

 private:
  Statement& note(int code);

  sqlite3_stmt* handle_;
  int bind_code_ = 0;  // the first bind that failed; reported by step()
};

// A statement of a connection's cache, reset when the use of it ends.
class StatementUse {
 public:
  explicit StatementUse(Statement& statement) : statement_(&statement) {}
  StatementUse(StatementUse&& other) noexcept : statement_(std::exchange(other.statement_, nullptr)) {}
  StatementUse& operator=(StatementUse&&) = delete;
  ~StatementUse() {
    if (statement_ != nullptr) statement_->reset();
  }
  Statement* operator->() const { return statement_; }
  Statement& operator*() const { return *statement_; }

 private:
  Statement* statement_;
};

}  // namespace railweave::db::sqlite
