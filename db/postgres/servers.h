// The servers that a connection string names, where it names several: a primary and those that may become one.
#pragma once

#include <string>
#include <vector>

#include "fabric/base/error.h"

namespace railweave::db::postgres {

// A connection string for each, in order; one that names a single server is returned as it is. Error: db.cannotConnect, for
// text that libpq does not understand.
Result<std::vector<std::string>> servers_of(const std::string& url);

}  // namespace railweave::db::postgres
