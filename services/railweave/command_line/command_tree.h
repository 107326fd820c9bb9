// The tree of commands, built by main() from one function per noun (commands/commands.h, lab/lab.h). Parsing the command
// line fills in options and chooses Session::command, which main() runs afterwards, so that nothing is done before the
// whole line is known to be valid.
#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include "services/railweave/connection/session.h"

namespace railweave::cli {

// A command that only groups others: `railweave nodes`.
CLI::App& add_noun(CLI::App& parent, const std::string& name, const std::string& description, const std::string& group);
// A command that runs: `railweave nodes list`. `examples` are complete command lines, shown by its --help.
CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& description,
                      std::initializer_list<const char*> examples);
void on_run(CLI::App& command, Session& session, std::function<void()> run);

// For CLI::Option::check(): a name or a filter that is empty is a mistake of the script that made the line.
inline constexpr const char* kIsEmpty = "is empty";
std::string is_not_empty(const std::string& text);

// Adds -o, --server and --timeout to every command of the finished tree (-o alone below `lab`).
void finish_tree(CLI::App& root, Session& session);

inline constexpr const char* kGlobalGroup = "Options of every command";

// Parses the command line into the session. Prints --help and --version, or on stderr what is wrong with the line
// (ExitCode::usage). With ExitCode::ok, session.command is what to run; empty: nothing.
ExitCode read_command_line(CLI::App& root, Session& session, int argc, const char* const* argv);

}  // namespace railweave::cli
