// Options that take one of a few words. The type name lists them, so that --help and completion offer them.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace railweave::cli {

// `choices`: "native|ibsim". --help shows the present value as the default, where it is not empty.
CLI::Option* add_choice_option(CLI::App& command, const std::string& name, std::string& into,
                               const std::string& description, const std::string& choices);

}  // namespace railweave::cli
