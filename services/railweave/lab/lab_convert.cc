// railweave lab convert: a fabric file in another format.
#include "services/railweave/lab/fabric_file.h"
#include "services/railweave/lab/lab_commands.h"
#include "services/railweave/lab/written_fabric.h"

namespace railweave::cli {

void add_lab_convert_command(CLI::App& lab, Session& session) {
  struct ConvertOptions {
    FabricFileOptions fabric;
    WrittenFabricOptions written;
  };
  auto options = std::make_shared<ConvertOptions>();
  CLI::App& command = add_command(lab, "convert", "Convert a fabric file to another format",
                                  {"railweave lab convert dump.ibnetdiscover --gpus-per-node 8 -O fabric.json",
                                   "railweave lab convert fabric.json --to ibsim -O fabric.net",
                                   "railweave lab convert fabric.json --to topology.conf --plugin tree"});
  add_fabric_file_options(command, options->fabric);
  add_written_fabric_options(command, options->written, "--to");
  on_run(command, session, [&session, options] {
    write_fabric_file(session.output, *read_fabric_file(options->fabric).topology, options->written);
  });
}

}  // namespace railweave::cli
