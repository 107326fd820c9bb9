// railweave switches follow.
#pragma once

#include <CLI/CLI.hpp>

#include "services/railweave/connection/session.h"

namespace railweave::cli {

void add_switch_follow_command(CLI::App& switches, Session& session);

}  // namespace railweave::cli
