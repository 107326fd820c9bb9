// The layout of --help.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace railweave::cli {

class HelpText final : public CLI::Formatter {
 public:
  HelpText() { column_width(34); }

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_footer(const CLI::App* app) const override;
};

// The end of `railweave --help`: a first session, the environment and the exit codes.
std::string root_footer();

}  // namespace railweave::cli
