// Waiting for long work that the service answered with 202.
#pragma once

#include <functional>
#include <string>

#include "services/railweave/connection/session.h"

namespace railweave::cli {

// What the operation came to, once it has; throws CommandFailure where it failed. `say`: what goes on, from the
// operation's "progress".
Json wait_for_operation(Session& session, const std::string& location,
                        const std::function<std::string(const Json& progress)>& say);

// Where the answer of 202 says to look; throws where it does not.
std::string operation_location(Session& session, const Answer& answer);

}  // namespace railweave::cli
