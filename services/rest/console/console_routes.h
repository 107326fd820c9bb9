// Serves the operator's console below /console. What is below it and no file is a view of the console, which its own
// scripts route: index.html answers. `/` leads there, where the console is installed.
#pragma once

#include "api/http/dispatch/router.h"
#include "services/rest/console/console_files.h"

namespace railweave::api {

// Without files (it was not built), every path below /console answers with the reason. provider: the origin where users
// sign in, the only other one that the page may connect to; "": none.
void add_console_routes(Router& router, Result<ConsoleFiles> read, const std::string& provider);

}  // namespace railweave::api
