// A stream of jobs by seed, for comparisons that need many independent ones. What it assumes is said by
// kGeneratedTrace; it imitates no cluster.
#pragma once

#include <cstdint>
#include <string_view>

#include "services/railweave/lab/replay/job_trace.h"

namespace railweave::cli {

inline constexpr std::string_view kGeneratedTrace =
    "generated: powers of two and three quarters of them, from 1 GPU to a quarter of the fabric, each size with as "
    "many "
    "GPUs in all; durations log-normal, median 2 h, sigma 1.2, from 1 min to 5 d; arrivals at random at the load given";

struct GeneratedLoad {
  std::uint64_t gpus = 0;  // of the fabric
  std::size_t jobs = 0;
  double load = 1;  // GPU hours asked for, of those that the fabric has until the last job arrives
};

JobTrace generate_trace(const GeneratedLoad& load, std::uint64_t seed);

}  // namespace railweave::cli
