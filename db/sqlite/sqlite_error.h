// SQLite's result codes as Errors that say what, where and what to do.
#pragma once

#include <string>
#include <string_view>

#include "fabric/base/error.h"

struct sqlite3;

namespace railweave::db::sqlite {

// code: SQLite's (extended) result code; doing: "append 3 records"; location: the file. `connection` may be null.
Error sqlite_error(sqlite3* connection, int code, std::string_view doing, std::string location);

}  // namespace railweave::db::sqlite
