// railweave nvlink-domains list|show.
#include "services/railweave/command_line/resource.h"
#include "services/railweave/commands/commands.h"

namespace railweave::cli {
namespace {

ListView nvlink_domains_view() {
  return {{text_column("NVLINK DOMAIN", "id"),
           number_column("GPUS", "gpus"),
           number_column("FREE", "freeGpus"),
           {"NODES", [](const Json& item) { return Cell(std::to_string(list(item, "nodes").size())); }, Align::right},
           number_column("Gb/s PER GPU", "rateGbpsPerGpu"),
           {"FIRST NODES", [](const Json& item) { return Cell(joined(list(item, "nodes"), 3)); }},
           text_column("CLUSTER UUID", "clusterUuid", true)},
          "no NVLink domains"};
}

void print_nvlink_domain(Output& output, const Json& domain) {
  Sheet sheet;
  sheet.add("NVLink domain", text_of(domain, "id"));
  sheet.add("Cluster UUID", text_of(domain, "clusterUuid"));
  sheet.add("GPUs", text_of(domain, "gpus") + ", " + text_of(domain, "freeGpus") + " free");
  sheet.add("Rate", text_of(domain, "rateGbpsPerGpu") + " Gb/s per GPU and direction");
  sheet.add("Nodes", joined(list(domain, "nodes")));
  output.text(sheet.text(output.terminal()));
}

constexpr ResourceKind kNvlinkDomain{"/v1/nvlink-domains", "NVLink domain", "DOMAIN", "Its name", print_nvlink_domain};

}  // namespace

void add_nvlink_domain_commands(CLI::App& root, Session& session) {
  CLI::App& domains = add_noun(root, "nvlink-domains", "NVLink domains", "Fabric");
  domains.alias("nvlink-domain");
  add_list_command(domains, session, "List NVLink domains", {"railweave nvlink-domains list"},
                   {"/v1/nvlink-domains", nvlink_domains_view()});
  add_show_command(domains, session, kNvlinkDomain, "Show an NVLink domain", {"railweave nvlink-domains show nvl-3"});
}

}  // namespace railweave::cli
