#include "db/sqlite/statement.h"

#include <utility>

#include <sqlite3.h>

#include "db/sqlite/sqlite_error.h"

namespace railweave::db::sqlite {
namespace {

// A null pointer would bind NULL.
const char* data_of(std::string_view value) { return value.data() != nullptr ? value.data() : ""; }

std::string file_of(sqlite3* connection) {
  const char* name = sqlite3_db_filename(connection, "main");
  return name != nullptr ? name : "";
}

}  // namespace

Statement::Statement(Statement&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), bind_code_(other.bind_code_) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(bind_code_, other.bind_code_);
  return *this;
}

Statement::~Statement() { sqlite3_finalize(handle_); }

Statement& Statement::note(int code) {
  if (bind_code_ == SQLITE_OK) bind_code_ = code;
  return *this;
}

Statement& Statement::bind(int parameter, std::int64_t value) {
  return note(sqlite3_bind_int64(handle_, parameter, value));
}

Statement& Statement::bind(int parameter, double value) { return note(sqlite3_bind_double(handle_, parameter, value)); }

Statement& Statement::bind_text(int parameter, std::string_view value) {
  return note(sqlite3_bind_text64(handle_, parameter, data_of(value), value.size(), SQLITE_STATIC, SQLITE_UTF8));
}

Statement& Statement::bind_bytes(int parameter, std::string_view value) {
  return note(sqlite3_bind_blob64(handle_, parameter, data_of(value), value.size(), SQLITE_STATIC));
}

Statement& Statement::bind_null(int parameter) { return note(sqlite3_bind_null(handle_, parameter)); }

Result<bool> Statement::step(std::string_view doing) {
  const int code = bind_code_ != SQLITE_OK ? bind_code_ : sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  sqlite3* connection = sqlite3_db_handle(handle_);
  return std::unexpected(sqlite_error(connection, code, doing, file_of(connection)));
}

Result<void> Statement::run(std::string_view doing) {
  while (true) {
    const auto row = step(doing);
    if (!row) return std::unexpected(row.error());
    if (!*row) return {};
  }
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(handle_, column); }

std::string_view Statement::bytes(int column) const {
  // column_blob gives text's bytes as they are, too; it must be called before column_bytes.
  const void* data = sqlite3_column_blob(handle_, column);
  const int size = sqlite3_column_bytes(handle_, column);
  if (data == nullptr || size <= 0) return {};
  return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

double Statement::real(int column) const { return sqlite3_column_double(handle_, column); }
int Statement::columns() const { return sqlite3_column_count(handle_); }
bool Statement::is_integer(int column) const { return sqlite3_column_type(handle_, column) == SQLITE_INTEGER; }
bool Statement::is_real(int column) const { return sqlite3_column_type(handle_, column) == SQLITE_FLOAT; }
bool Statement::is_blob(int column) const { return sqlite3_column_type(handle_, column) == SQLITE_BLOB; }
bool Statement::is_null(int column) const { return sqlite3_column_type(handle_, column) == SQLITE_NULL; }

void Statement::reset() {
  sqlite3_reset(handle_);  // repeats the error of the last step, which was reported then
  sqlite3_clear_bindings(handle_);
  bind_code_ = SQLITE_OK;
}

}  // namespace railweave::db::sqlite
