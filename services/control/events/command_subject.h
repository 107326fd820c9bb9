// What a command changes and its answer tells the version of. Two commands about one subject are not decided in one batch: the
// answer to the first would show what the second made of it, under a version that the caller would take for its own.
#pragma once

#include <string>

#include "services/control/events/command.h"

namespace railweave::control {

// "tenant/research", "job/17"; "": of no one thing.
std::string subject_of(const Command& command);

}  // namespace railweave::control
