// Several jobs submitted at once, in batches as large as the service takes.
#pragma once

#include <string>
#include <vector>

#include "services/railweave/connection/session.h"

namespace railweave::cli {

// A job and what it is called in messages: its file.
struct NamedJob {
  std::string source;
  Json body;
};

// key: the jobs' keys begin with it; "": one that no other run has. gang: of the body; null: each job alone. Prints a line for each; the exit code is that of the
// first that was refused.
void submit_batch(Session& session, const std::vector<NamedJob>& jobs, const std::string& key, const Json& gang);

// Asks where they would go, each beside those before it, and changes nothing.
void ask_batch(Session& session, const std::vector<NamedJob>& jobs, const Json& gang);

}  // namespace railweave::cli
