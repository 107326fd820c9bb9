// railweave guarantees collect: what switches and adapters really hold, asked without the service.
#pragma once

#include <CLI/CLI.hpp>

#include "services/railweave/connection/session.h"

namespace railweave::cli {

void add_collect_command(CLI::App& guarantees, Session& session);

}  // namespace railweave::cli
