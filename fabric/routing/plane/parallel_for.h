// Runs independent parts of a computation on several threads. Callers cut their work so that the result does not depend
// on the number of threads: parts share no data that one of them writes.
#pragma once

#include <cstddef>
#include <functional>

namespace railweave::fabric {

// Runs part(0) ... part(parts - 1), in any order and on any threads, and returns when all are done.
using ParallelFor = std::function<void(std::size_t parts, const std::function<void(std::size_t)>& part)>;

// One thread per part; the calling thread runs the first.
ParallelFor on_threads();
// The number of parts worth cutting work into on this machine: one per core, at most eight.
std::size_t part_count();

}  // namespace railweave::fabric
