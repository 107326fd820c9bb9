// Waits for a long operation that the service accepted with 202.
#pragma once

#include <functional>
#include <string>

#include "services/railweave/connection/session.h"

namespace railweave::cli {

// The result of the operation once it has succeeded; throws CommandFailure where it failed. Polls with exponential
// backoff; `say` turns the operation's "progress" into the progress line.
Json wait_for_operation(Session& session, const std::string& location,
                        const std::function<std::string(const Json& progress)>& say);

// The operation that an answer of 202 names; throws where it names none.
std::string operation_location(Session& session, const Answer& answer);

}  // namespace railweave::cli
