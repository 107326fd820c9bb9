// Commands on what a site has: dumps of its fabric, its scheduler's lists, its machines' reports.
#pragma once

#include <CLI/CLI.hpp>

#include "services/railweave/connection/session.h"

namespace railweave::cli {

void add_fabric_import_command(CLI::App& fabric, Session& session);

}  // namespace railweave::cli
