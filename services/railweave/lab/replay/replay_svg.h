// Replays over time as an SVG: panels for GPUs in use, waiting jobs, stranded GPUs and contention, a line per policy.
#pragma once

#include <span>
#include <string>

#include "services/railweave/lab/replay/replay.h"

namespace railweave::cli {

std::string replay_svg(std::span<const ReplayReport> reports);

}  // namespace railweave::cli
