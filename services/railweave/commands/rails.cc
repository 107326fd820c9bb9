// railweave rails list.
#include <cstdio>

#include "services/railweave/command_line/resource.h"
#include "services/railweave/commands/commands.h"

namespace railweave::cli {
namespace {

Cell confidence_cell(const Json& rail) {
  const Json& share = field(rail, "confidence");
  if (!share.is_number()) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f%%", share.get<double>() * 100);
  return text;
}

ListView rails_view() {
  return {{text_column("RAIL", "id"),
           number_column("HOST PORTS", "hostPorts"),
           {"KNOWN FROM", [](const Json& rail) { return Cell(flag_of(rail, "inferred") ? "cabling" : "source"); }},
           {"CONFIDENCE", confidence_cell, Align::right}},
          "no rails"};
}

}  // namespace

void add_rail_commands(CLI::App& root, Session& session) {
  CLI::App& rails = add_noun(root, "rails", "Rails: adapters of hosts that share the same leaves", "Fabric");
  add_list_command(rails, session, "List rails, and how certain they are", {"railweave rails list"},
                   {"/v1/rails", rails_view()});
}

}  // namespace railweave::cli
