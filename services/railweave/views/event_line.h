// Events as they come: a line each, or a document each with -o json and yaml.
#pragma once

#include <string>

#include "services/railweave/connection/session.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {

Tone tone_of_severity(const std::string& severity);

void print_event(Output& output, const Json& event);

// Everything of the stream after that sequence number, until interrupted; reconnects, for a while.
void follow_events(Session& session, const Target& target, const std::string& after);

}  // namespace railweave::cli
