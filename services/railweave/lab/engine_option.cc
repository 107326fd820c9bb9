#include "services/railweave/lab/engine_option.h"

#include "fabric/routing/engine_registry.h"

namespace railweave::cli {

void add_engine_option(CLI::App& command, std::string& engine) {
  std::string names = "auto";
  for (const auto* known : fabric::routing_engines()) names += "|" + std::string(known->name());
  command.add_option("--engine", engine, "How to route; auto takes what suits the fabric, and says why")
      ->type_name(names)
      ->capture_default_str()
      ->check([names](const std::string& text) {
        const bool known = text == "auto" || fabric::find_engine(text) != nullptr;
        return known ? std::string() : "'" + text + "' is none of " + names;
      });
}

}  // namespace railweave::cli
