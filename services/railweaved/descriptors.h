// How many files and sockets the process may have open. A connection without a descriptor left for it would wait in the
// kernel's queue without an answer.
#pragma once

#include <cstdint>

namespace railweave {

// Raises the limit as far as it may be raised, and returns how many connections fit beside the store, live subnets and
// those that are only told that there are too many: at most `wanted`, at least 1.
std::uint64_t connections_within_descriptors(std::uint64_t wanted);

}  // namespace railweave
