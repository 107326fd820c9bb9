#include "services/railweave/assess/report_commands.h"

#include <fmt/core.h>

#include "services/railweave/terminal/shell_text.h"

namespace railweave::cli {

ReportCommands::ReportCommands(const std::vector<std::string>& paths, const SiteOptions& options,
                               const std::string& classes)
    : sources_(command_words(options)) {
  if (!classes.empty()) classes_ = " --classes " + shell_quoted(classes);
  for (const std::string& path : paths) {
    // A path is never taken for an option.
    sources_ += " " + shell_quoted(path.size() > 1 && path.starts_with('-') ? "./" + path : path);
  }
}

std::string ReportCommands::fabric() const {
  return fmt::format("railweave fabric import{} -O assessed.json", sources_);
}

std::string ReportCommands::lab(std::string_view command) const {
  return fmt::format("railweave fabric import{} -O - | railweave lab {}", sources_, command);
}

std::string ReportCommands::part(std::string_view path) const {
  return fmt::format("railweave assess{}{} -o jsonpath={}", sources_, classes_, path);
}

}  // namespace railweave::cli
