// A replay over time as an SVG: GPUs in use and stranded, jobs waiting; one panel each, a line per policy.
#pragma once

#include <span>
#include <string>

#include "services/railweave/lab/replay/replay.h"

namespace railweave::cli {

std::string replay_svg(std::span<const ReplayReport> reports);

}  // namespace railweave::cli
