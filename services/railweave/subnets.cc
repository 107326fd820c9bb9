// railweave subnets list.
#include "services/railweave/listing.h"

namespace railweave::cli {

void add_subnet_commands(CLI::App& root, Session& session) {
  CLI::App& subnets = add_noun(root, "subnets", "Subnets", "Fabric");
  auto limit = std::make_shared<std::uint64_t>(0);
  CLI::App& command = add_command(subnets, "list", "All subnets", {"railweave subnets list"});
  add_limit_option(command, *limit);
  on_run(command, session, [&session, limit] {
    const ListView view{{text_column("SUBNET", "id"), text_column("KIND", "kind"),
                         number_column("SWITCHES", "switches"), number_column("HOST PORTS", "hostPorts")},
                        "no subnets"};
    print_list(session, Target("/v1/subnets"), view, *limit);
  });
}

}  // namespace railweave::cli
