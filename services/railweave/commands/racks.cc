// railweave racks list.
#include "services/railweave/command_line/listing.h"

namespace railweave::cli {

void add_rack_commands(CLI::App& root, Session& session) {
  CLI::App& racks = add_noun(root, "racks", "Racks", "Fabric");
  auto limit = std::make_shared<std::uint64_t>(0);
  CLI::App& command = add_command(racks, "list", "All racks", {"railweave racks list"});
  add_limit_option(command, *limit);
  on_run(command, session, [&session, limit] {
    print_list(session, Target("/v1/racks"), {{text_column("RACK", "id"), number_column("NODES", "nodes")}, "no racks"},
               *limit);
  });
}

}  // namespace railweave::cli
