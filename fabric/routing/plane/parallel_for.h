// Cutting work into parts that do not touch each other. What is computed never depends on how many threads there are.
#pragma once

#include <cstddef>
#include <functional>

namespace railweave::fabric {

// Runs part(0) ... part(parts - 1), in any order and on any threads, and returns when all are done.
using ParallelFor = std::function<void(std::size_t parts, const std::function<void(std::size_t)>& part)>;

// A thread for every part, the caller's own among them.
ParallelFor on_threads();
// As many parts as pay here: one for each core, at most eight.
std::size_t part_count();

}  // namespace railweave::fabric
