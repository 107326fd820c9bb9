#include "services/railweave/site/site_options.h"

#include <cctype>

#include <fmt/core.h>
#include <fnmatch.h>

#include "services/railweave/command_line/number_option.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/input_file.h"
#include "services/railweave/terminal/shell_text.h"

namespace railweave::cli {

void add_site_options(CLI::App& command, SiteOptions& options) {
  command
      .add_option("--source-token-file", options.token_file,
                  "File of the token for sources that are URLs, such as https://ufm.example/ufmRestV3/resources/ports; "
                  "they are read with GET")
      ->type_name("FILE");
  command.add_option("--hosts", options.hosts, "Hosts that the files of machines are about; all that fit by default")
      ->type_name("PATTERN");
  command.add_option("--subnet", options.subnet, "Name of the subnet that a dump describes")->type_name("NAME");
  add_number_option(command, "--gpus-per-node", options.gpus_per_node,
                    "GPUs to add to every compute host, for dumps that list none", {1, 64});
  add_number_option(command, "--nvlink-domain", options.nvlink_domain,
                    "GPUs per NVLink domain; default: --gpus-per-node", {1, 100'000});
}

FetchAccess fetch_access(const SiteOptions& options, const GlobalOptions& global) {
  constexpr std::size_t kMaxTokenBytes = std::size_t{16} << 10U;
  FetchAccess access{.token = {}, .ca_file = global.ca_file, .timeout_s = global.timeout_s};
  if (options.token_file.empty()) return access;
  access.token = value_or_fail(read_input(options.token_file, kMaxTokenBytes));
  while (!access.token.empty() && std::isspace(static_cast<unsigned char>(access.token.back())) != 0) {
    access.token.pop_back();
  }
  return access;
}

fabric::SiteImportOptions import_options(const SiteOptions& options) {
  fabric::SiteImportOptions import;
  if (!options.subnet.empty()) import.subnet = options.subnet;
  import.gpus_per_node = static_cast<unsigned>(options.gpus_per_node.value_or(0));
  import.nvlink_domain = static_cast<unsigned>(options.nvlink_domain.value_or(0));
  if (!options.hosts.empty()) {
    import.hosts = [pattern = options.hosts](std::string_view name) {
      return fnmatch(pattern.c_str(), std::string(name).c_str(), 0) == 0;
    };
  }
  return import;
}

std::string command_words(const SiteOptions& options) {
  std::string words;
  if (!options.token_file.empty()) words += " --source-token-file " + shell_quoted(options.token_file);
  if (!options.hosts.empty()) words += " --hosts " + shell_quoted(options.hosts);
  if (!options.subnet.empty()) words += " --subnet " + shell_quoted(options.subnet);
  if (options.gpus_per_node) words += fmt::format(" --gpus-per-node {}", *options.gpus_per_node);
  if (options.nvlink_domain) words += fmt::format(" --nvlink-domain {}", *options.nvlink_domain);
  return words;
}

}  // namespace railweave::cli
