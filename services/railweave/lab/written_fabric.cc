#include "services/railweave/lab/written_fabric.h"

#include "fabric/formats/infiniband/ibsim.h"
#include "fabric/formats/native/native_json.h"
#include "fabric/topology/checks/checks.h"
#include "services/railweave/command_line/choice_option.h"
#include "services/railweave/lab/fabric_report.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/output_file.h"
#include "services/railweave/views/fabric.h"

namespace railweave::cli {

void add_written_fabric_options(CLI::App& command, WrittenFabricOptions& options, const std::string& format_option) {
  add_choice_option(command, format_option, options.format, "Format to write; ibsim holds the InfiniBand part only",
                    "native|ibsim");
  add_output_file_option(command, options.path);
}

void write_fabric_file(Output& output, const fabric::Topology& topology, const WrittenFabricOptions& options) {
  write_file_or_stdout(output, options.path,
                       options.format == "ibsim" ? fabric::write_ibsim(topology) : fabric::write_native_json(topology));
  if (options.path.empty() || options.path == "-") return;
  const Json summary = fabric_report(fabric::summarize(topology));
  if (output.is_document()) return output.document(summary);
  print_fabric_summary(output, summary);
}

}  // namespace railweave::cli
