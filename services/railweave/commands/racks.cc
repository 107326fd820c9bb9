// railweave racks list.
#include "services/railweave/command_line/resource.h"
#include "services/railweave/commands/commands.h"

namespace railweave::cli {

void add_rack_commands(CLI::App& root, Session& session) {
  CLI::App& racks = add_noun(root, "racks", "Racks", "Fabric");
  add_list_command(racks, session, "List racks", {"railweave racks list"},
                   {"/v1/racks", {{text_column("RACK", "id"), number_column("NODES", "nodes")}, "no racks"}});
}

}  // namespace railweave::cli
