#include "services/railweave/command_line/help_command.h"

#include <memory>
#include <string>
#include <vector>

#include "services/railweave/command_line/command_tree.h"

namespace railweave::cli {

void add_help_commands(CLI::App& root, Session& session) {
  auto words = std::make_shared<std::vector<std::string>>();
  CLI::App& help = add_command(root, "help", "Print the help of a command, as its --help does",
                               {"railweave help", "railweave help jobs submit"});
  help.group("Service");
  help.add_option("COMMAND", *words, "Its words, such as jobs submit");
  // The words are read as those of the command itself (read_command_line()).
  on_run(help, session, [&root, &session, words] { session.output.text(root.help()); });
  CLI::App& version = add_command(root, "version", "Print the version", {"railweave version"});
  version.group("Service");
  on_run(version, session, [&root, &session] { session.output.text(root.version() + "\n"); });
}

}  // namespace railweave::cli
