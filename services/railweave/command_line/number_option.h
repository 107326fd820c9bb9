// Options that take a whole number in decimal digits only, so that "-1", "0x10", "010" and 2^64 are refused and not
// misread.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

namespace railweave::cli {

struct NumberRange {
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
};

CLI::Option* add_number_option(CLI::App& command, const std::string& name, std::optional<std::uint64_t>& into,
                               const std::string& description, NumberRange range = {});
// --help shows the present value as the default.
CLI::Option* add_number_option(CLI::App& command, const std::string& name, std::uint64_t& into,
                               const std::string& description, NumberRange range = {});

}  // namespace railweave::cli
