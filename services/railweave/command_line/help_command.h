// railweave help and railweave version: what --help and --version print, for those who try the word first.
#pragma once

#include <CLI/CLI.hpp>

#include "services/railweave/connection/session.h"

namespace railweave::cli {

void add_help_commands(CLI::App& root, Session& session);

}  // namespace railweave::cli
