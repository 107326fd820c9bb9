#include "services/railweave/command_line/file_output.h"

#include <map>

namespace railweave::cli {
namespace {

// CLI::App has no room for what a command thinks of the options of all commands.
std::map<const CLI::App*, std::string*>& paths() {
  static std::map<const CLI::App*, std::string*> all;
  return all;
}

}  // namespace

void take_file_as_output(const CLI::App& command, std::string& path) { paths()[&command] = &path; }

bool took_as_file(const CLI::App& command, const std::string& text) {
  const auto found = paths().find(&command);
  if (found == paths().end() || text.find_first_of("./") == std::string::npos) return false;
  *found->second = text;
  return true;
}

}  // namespace railweave::cli
