// railweave admin: stores themselves, without a service or beside one: examined, exported, backed up, restored, copied.
#pragma once

#include <CLI/CLI.hpp>

#include "services/railweave/connection/session.h"

namespace railweave::cli {

void add_admin_commands(CLI::App& root, Session& session);

}  // namespace railweave::cli
