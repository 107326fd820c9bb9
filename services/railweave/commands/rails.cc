// railweave rails list.
#include <cstdio>

#include "services/railweave/command_line/listing.h"

namespace railweave::cli {
namespace {

Cell confidence_cell(const Json& rail) {
  const Json& share = field(rail, "confidence");
  if (!share.is_number()) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f%%", share.get<double>() * 100);
  return text;
}

}  // namespace

void add_rail_commands(CLI::App& root, Session& session) {
  CLI::App& rails = add_noun(root, "rails", "Rails: which adapters of the hosts share their leaves", "Fabric");
  auto limit = std::make_shared<std::uint64_t>(0);
  CLI::App& command =
      add_command(rails, "list", "All rails, and how sure it is that they are", {"railweave rails list"});
  add_limit_option(command, *limit);
  on_run(command, session, [&session, limit] {
    const ListView view{
        {text_column("RAIL", "id"),
         number_column("HOST PORTS", "hostPorts"),
         {"KNOWN FROM", [](const Json& rail) { return Cell(flag_of(rail, "inferred") ? "cabling" : "source"); }},
         {"CONFIDENCE", confidence_cell, Align::right}},
        "no rails"};
    print_list(session, Target("/v1/rails"), view, *limit);
  });
}

}  // namespace railweave::cli
