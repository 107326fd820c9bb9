// Events of a stream: a line each, or with -o json and yaml a document each.
#pragma once

#include <string>

#include "services/railweave/connection/session.h"

namespace railweave::cli {

void print_event(Output& output, const Json& event);

// Prints the events after that sequence number until interrupted. A broken stream is resumed, up to 10 times in a row.
void follow_events(Session& session, const Target& target, const std::string& after);

}  // namespace railweave::cli
