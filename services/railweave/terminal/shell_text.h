// Words of a command line that people copy into a shell.
#pragma once

#include <string>
#include <string_view>

namespace railweave::cli {

// As it is where a POSIX shell reads it as one word by itself, else in single quotes.
std::string shell_quoted(std::string_view word);

}  // namespace railweave::cli
