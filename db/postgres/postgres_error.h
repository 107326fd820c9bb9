// PostgreSQL's error codes as Errors that say what, where and what to do.
#pragma once

#include <string>
#include <string_view>

#include "fabric/base/error.h"

namespace railweave::db::postgres {

// sqlstate: five characters, https://www.postgresql.org/docs/15/errcodes-appendix.html.
Error postgres_error(std::string_view sqlstate, std::string_view doing, std::string_view said, std::string location);

// db.pooler: what a session holds, such as its prepared statements, is not its own between transactions.
Error pooled_session(std::string_view why, std::string location);

// db.connectionLost: what was under way may have been done or not.
Error connection_lost(std::string_view doing, std::string_view said, std::string location);

}  // namespace railweave::db::postgres
