// Manual pages, made from the command tree that --help is printed from.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "services/railweave/connection/session.h"

namespace railweave::cli {

// For man(1), of section 1: "railweave-jobs-list" for `railweave jobs list`.
std::string man_page_name(const CLI::App& command);
std::string man_page(const CLI::App& command);

// railweave man PAGE [--folder FOLDER]; the root must outlive the command.
void add_man_command(CLI::App& root, Session& session);

}  // namespace railweave::cli
