#include "services/railweave/site/site_options.h"

#include <fnmatch.h>

#include "services/railweave/command_line/number_option.h"

namespace railweave::cli {

void add_site_options(CLI::App& command, SiteOptions& options) {
  command.add_option("--hosts", options.hosts, "Hosts that the files of machines are about; all that fit by default")
      ->type_name("PATTERN");
  command.add_option("--subnet", options.subnet, "Name of the subnet that a dump describes")->type_name("NAME");
  add_number_option(command, "--gpus-per-node", options.gpus_per_node,
                    "GPUs to add to every compute host, for dumps that list none", {1, 64});
  add_number_option(command, "--nvlink-domain", options.nvlink_domain,
                    "GPUs per NVLink domain; default: --gpus-per-node", {1, 100'000});
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

}  // namespace railweave::cli
