// Commands that write a document take `-o FILE` for -O FILE, as other tools have it: a value of -o that is no format and
// has a dot or a slash in it.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace railweave::cli {

// `path` outlives the command.
void take_file_as_output(const CLI::App& command, std::string& path);
// Whether the text was taken as the command's file.
bool took_as_file(const CLI::App& command, const std::string& text);

}  // namespace railweave::cli
