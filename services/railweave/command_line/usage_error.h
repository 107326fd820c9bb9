// What is wrong with a command line, in the words of this program.
#pragma once

#include <span>
#include <string>

#include <CLI/CLI.hpp>

namespace railweave::cli {

// `command` is the innermost one that was recognised, `words` the line without its first word. A word that is not known is
// blamed before anything else, as what it was meant to be may be what seems to be missing.
std::string usage_error_text(const CLI::App& command, const CLI::ParseError& error, std::span<const std::string> words);

// The first word of the line that belongs to no command and to no option; "" where all do.
std::string unknown_word(const CLI::App& command, std::span<const std::string> words);

std::string no_command_text(const CLI::App& app, const std::string& word);

// "railweave jobs list".
std::string full_name(const CLI::App& app);

// "list, show, drain".
std::string command_names(const CLI::App& app);

}  // namespace railweave::cli
