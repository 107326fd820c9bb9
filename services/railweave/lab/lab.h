// railweave lab: the service's libraries, offline, on files.
#pragma once

#include "services/railweave/command_line/command_tree.h"

namespace railweave::cli {

void add_lab_commands(CLI::App& root, Session& session);

}  // namespace railweave::cli
