// -O FILE: the destination of a document that is a file in itself, such as a fabric or a certificate.
#pragma once

#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "services/railweave/terminal/output.h"

namespace railweave::cli {

void add_output_file_option(CLI::App& command, std::string& path);

// To stdout where the path is empty or "-". A file is written under a temporary name and then renamed, so that it is
// complete or absent. Throws CommandFailure.
void write_file_or_stdout(Output& output, const std::string& path, std::string_view text);
// The same for a file alone; mode: of a new file, before the umask.
void write_file(const std::string& path, std::string_view text, unsigned mode = 0666);

}  // namespace railweave::cli
