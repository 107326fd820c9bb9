// Command lines that show what a report says, to be typed where the report was made: they read the same sources with the same
// options, and need nothing else. Constant after construction.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/railweave/site/site_options.h"

namespace railweave::cli {

class ReportCommands {
 public:
  ReportCommands() = default;
  // `paths`: the sources as they were given. `classes`: the file of --classes; empty: none.
  ReportCommands(const std::vector<std::string>& paths, const SiteOptions& options, const std::string& classes);

  // The fabric with what was found on it.
  [[nodiscard]] std::string fabric() const;
  // The fabric as the input of a command of `railweave lab`: "convert - --to topology.conf".
  [[nodiscard]] std::string lab(std::string_view command) const;
  // Part of this report as JSON: ".sections.headroom.groups".
  [[nodiscard]] std::string part(std::string_view path) const;

 private:
  std::string sources_, classes_;
};

}  // namespace railweave::cli
