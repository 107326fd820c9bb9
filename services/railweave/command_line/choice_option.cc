#include "services/railweave/command_line/choice_option.h"

namespace railweave::cli {

CLI::Option* add_choice_option(CLI::App& command, const std::string& name, std::string& into,
                               const std::string& description, const std::string& choices) {
  CLI::Option* option = command.add_option(name, into, description)->type_name(choices);
  if (!into.empty()) option->capture_default_str();
  return option->check([choices](const std::string& text) {
    const bool known = text.find('|') == std::string::npos && ("|" + choices + "|").contains("|" + text + "|");
    return known ? std::string() : "'" + text + "' is not one of " + choices;
  });
}

}  // namespace railweave::cli
