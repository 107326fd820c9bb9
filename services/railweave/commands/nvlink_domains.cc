// railweave nvlink-domains list|show.
#include "services/railweave/command_line/listing.h"

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

void show_nvlink_domain(Session& session, const std::string& id) {
  Output& output = session.output;
  const Json domain = session.service().get(Target("/v1/nvlink-domains").segment(id));
  if (output.is_document()) return output.document(domain);
  Sheet sheet;
  sheet.add("NVLink domain", text_of(domain, "id"));
  sheet.add("Cluster UUID", text_of(domain, "clusterUuid"));
  sheet.add("GPUs", text_of(domain, "gpus") + ", " + text_of(domain, "freeGpus") + " free");
  sheet.add("Rate", text_of(domain, "rateGbpsPerGpu") + " Gb/s per GPU and direction");
  sheet.add("Nodes", joined(list(domain, "nodes")));
  output.text(sheet.text(output.terminal()));
}

}  // namespace

void add_nvlink_domain_commands(CLI::App& root, Session& session) {
  CLI::App& domains = add_noun(root, "nvlink-domains", "NVLink domains", "Fabric");
  domains.alias("nvlink-domain");
  auto limit = std::make_shared<std::uint64_t>(0);
  CLI::App& list_command = add_command(domains, "list", "All NVLink domains", {"railweave nvlink-domains list"});
  add_limit_option(list_command, *limit);
  on_run(list_command, session,
         [&session, limit] { print_list(session, Target("/v1/nvlink-domains"), nvlink_domains_view(), *limit); });

  auto id = std::make_shared<std::string>();
  CLI::App& show_command = add_command(domains, "show", "One NVLink domain", {"railweave nvlink-domains show nvl-3"});
  show_command.add_option("DOMAIN", *id, "Its name")->required();
  on_run(show_command, session, [&session, id] { show_nvlink_domain(session, *id); });
}

}  // namespace railweave::cli
