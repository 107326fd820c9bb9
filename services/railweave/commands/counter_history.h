// The command `history` of links and switches: what their ports carried and counted in the past.
#pragma once

#include <CLI/CLI.hpp>

#include "services/railweave/connection/session.h"

namespace railweave::cli {

struct HistoryNoun {
  const char* path;      // "/v1/links"
  const char* argument;  // "LINK"
  const char* meaning;   // of the argument
  const char* example;
};
void add_history_command(CLI::App& noun_command, Session& session, const HistoryNoun& noun);

}  // namespace railweave::cli
