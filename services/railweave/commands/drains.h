// `drain` and `undrain`, which links, switches and nodes have alike.
#pragma once

#include <CLI/CLI.hpp>

#include "services/railweave/connection/session.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {

struct DrainNoun {
  const char* plural;    // "links": of the path and the command
  const char* singular;  // "link"
  const char* argument;  // "LINK"
  const char* meaning;   // of the argument
  const char* example;
};
void add_drain_commands(CLI::App& noun_command, Session& session, const DrainNoun& noun);

// The line that tells of a link's, switch's or node's drain, where there is one.
void add_drain_line(Sheet& sheet, const Json& item);

}  // namespace railweave::cli
