#include "services/railweave/lab/engine_option.h"

#include "fabric/routing/engine_registry.h"
#include "services/railweave/command_line/choice_option.h"

namespace railweave::cli {

void add_engine_option(CLI::App& command, std::string& engine) {
  std::string names = "auto";
  for (const auto* known : fabric::routing_engines()) names += "|" + std::string(known->name());
  add_choice_option(command, "--engine", engine, "Routing engine; auto chooses one that suits the fabric", names);
}

}  // namespace railweave::cli
