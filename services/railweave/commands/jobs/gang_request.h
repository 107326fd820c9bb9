// Options that make several jobs one gang, and the member `gang` of a batch that they say.
#pragma once

#include <string>
#include <vector>

#include "services/railweave/connection/session.h"

namespace CLI {
class App;
}

namespace railweave::cli {

struct GangOptions {
  bool gang = false;
  std::vector<std::string> together, apart;  // "prefill,decode=rack"
  std::vector<std::string> traffic;          // "prefill,decode=2e9:by-rank"
};
void add_gang_options(CLI::App& command, GangOptions& options);

// Null: the jobs have nothing to do with each other. Throws CommandFailure, ExitCode::usage.
Json gang_of(const GangOptions& options);

}  // namespace railweave::cli
