// Which GPUs of an island a job gets, so that what stays free stays useful.
#pragma once

#include <cstdint>

namespace railweave::scheduler {

// `count` of the GPUs free in `island` (a mask of a host's local GPU indices): as in a buddy allocator, the smallest
// aligned run of free GPUs that holds them, the lowest of equals; where no single run does, the largest runs first.
// Runs are aligned by position in the island, so pairs and fours stay on one PCIe switch or socket, and two groups of
// four fit eight. count is at most the number of free GPUs. Depends on the arguments alone.
std::uint64_t choose_gpus(std::uint64_t island, std::uint64_t free, unsigned count);

}  // namespace railweave::scheduler
