// The commands `drain` and `undrain` of links, switches and nodes.
#pragma once

#include <CLI/CLI.hpp>

#include "services/railweave/connection/session.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {

struct DrainNoun {
  const char* plural;    // "links", in the path and the command
  const char* singular;  // "link"
  const char* argument;  // "LINK"
  const char* meaning;   // of the argument
  const char* example;
};
void add_drain_commands(CLI::App& noun_command, Session& session, const DrainNoun& noun);

// Adds a line about the drain of a link, switch or node, if it has one.
void add_drain_line(Sheet& sheet, const Json& item);

}  // namespace railweave::cli
