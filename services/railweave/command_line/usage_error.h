// What is wrong with a command line, in the words of this program.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace railweave::cli {

// `command` is the innermost one that was recognised.
std::string usage_error_text(const CLI::App& command, const CLI::ParseError& error);

// "list, show, drain".
std::string command_names(const CLI::App& app);

}  // namespace railweave::cli
