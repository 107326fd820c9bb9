// railweave assess: one report on a site, from what it already has, without a service.
#pragma once

#include <CLI/CLI.hpp>

#include "services/railweave/connection/session.h"

namespace railweave::cli {

void add_assess_command(CLI::App& root, Session& session);

}  // namespace railweave::cli
