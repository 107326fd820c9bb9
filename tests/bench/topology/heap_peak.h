// The most heap memory in use since the last reset, counted by this executable's operator new and delete.
#pragma once

#include <cstddef>

namespace railweave {

void reset_heap_peak();
std::size_t heap_peak_bytes();  // above what was in use at the reset

}  // namespace railweave
