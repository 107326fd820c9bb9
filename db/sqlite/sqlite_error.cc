#include "db/sqlite/sqlite_error.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fmt/core.h>
#include <sqlite3.h>

namespace railweave::db::sqlite {
namespace {

struct Meaning {
  ErrorKind kind;
  const char* code;
  const char* message;
  const char* hint;
};

Meaning meaning(int primary_code) {
  switch (primary_code) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorKind::unavailable, "db.busy", "another program holds the database locked",
              "close database shells and backups that write to it"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return {ErrorKind::unavailable, "db.readOnly", "the database cannot be written",
              "give the service's user write permission on the file and its directory, on a writable file system"};
    case SQLITE_FULL:
      return {ErrorKind::unavailable, "db.full", "the disk, or the store's size limit, is full; nothing was written",
              "free space on the file system or raise the limit"};
    case SQLITE_CANTOPEN:
      return {ErrorKind::unavailable, "db.cannotOpen", "the database cannot be opened",
              "check that its directory exists and that the service's user may read and write it"};
    case SQLITE_CORRUPT:
      return {ErrorKind::internal, "db.damaged", "the database file is damaged",
              "stop the service, check the disk and restore the store from a backup"};
    case SQLITE_NOTADB:
      return {ErrorKind::invalid, "db.notADatabase", "the file is not an SQLite database",
              "name another file; nothing was changed in this one"};
    case SQLITE_IOERR:
      return {ErrorKind::internal, "db.io", "the disk or file system failed",
              "check the disk and the system log, then restart the service"};
    case SQLITE_TOOBIG:
      return {ErrorKind::tooLarge, "db.tooLarge", "a value is larger than SQLite can store", ""};
    case SQLITE_CONSTRAINT:
      return {ErrorKind::invalid, "db.constraint", "a value breaks a rule of its table", ""};
    default:
      return {ErrorKind::internal, "db.sqlite", "SQLite failed", ""};
  }
}

// A full disk (or a file size limit) that SQLite calls an I/O error, as when it cannot enlarge the shared memory. Not
// when syncing: then the kernel may have dropped pages.
bool is_full(int code, int system_error) {
  return (code & 0xFF) == SQLITE_IOERR && code != SQLITE_IOERR_FSYNC && code != SQLITE_IOERR_DIR_FSYNC &&
         (system_error == ENOSPC || system_error == EDQUOT || system_error == EFBIG);
}

}  // namespace

Error sqlite_error(sqlite3* connection, int code, std::string_view doing, std::string location) {
  const int system_error = connection != nullptr ? sqlite3_system_errno(connection) : 0;
  const int primary = is_full(code, system_error) ? SQLITE_FULL : code & 0xFF;
  const Meaning found = meaning(primary);
  const bool latest = connection != nullptr && sqlite3_extended_errcode(connection) == code;
  std::string message = fmt::format("cannot {}: {} (SQLite {}: ", doing, found.message, code);
  message += latest ? sqlite3_errmsg(connection) : sqlite3_errstr(code);
  if (system_error != 0 && (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN || primary == SQLITE_FULL)) {
    message += "; system: " + std::generic_category().message(system_error);
  }
  message += ")";
  return Error{found.kind, found.code, std::move(message), std::move(location), found.hint};
}

}  // namespace railweave::db::sqlite
