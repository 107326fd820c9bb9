// Where the service's log goes: standard error, a line each, "TIME LEVEL SUBJECT spans text". The only user of spdlog.
#pragma once

#include <memory>

#include "fabric/base/log/log.h"

namespace railweave {

std::shared_ptr<log::Sink> standard_error_sink();

}  // namespace railweave
