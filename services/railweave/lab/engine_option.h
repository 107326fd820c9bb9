// --engine, for the commands that compute routes.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace railweave::cli {

void add_engine_option(CLI::App& command, std::string& engine);

}  // namespace railweave::cli
