// railweave switches config|check: what an Ethernet switch should have.
#pragma once

#include <CLI/CLI.hpp>

#include "services/railweave/connection/session.h"

namespace railweave::cli {

void add_switch_config_commands(CLI::App& switches, Session& session);

}  // namespace railweave::cli
