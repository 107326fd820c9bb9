#include "tests/bench/topology/heap_peak.h"

#include <atomic>
#include <cstdlib>
#include <new>

#include <malloc.h>

namespace railweave {
namespace {

std::atomic<std::size_t> in_use{0};
std::atomic<std::size_t> peak{0};
std::size_t at_reset = 0;

}  // namespace

void reset_heap_peak() {
  at_reset = in_use.load();
  peak = at_reset;
}

std::size_t heap_peak_bytes() { return peak.load() - at_reset; }

void* counted_allocate(std::size_t size) {
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  const std::size_t now = in_use.fetch_add(malloc_usable_size(memory)) + malloc_usable_size(memory);
  std::size_t before = peak.load();
  while (before < now && !peak.compare_exchange_weak(before, now)) {
  }
  return memory;
}

void counted_release(void* memory) {
  if (memory == nullptr) return;
  in_use -= malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace railweave

void* operator new(std::size_t size) { return railweave::counted_allocate(size); }
void* operator new[](std::size_t size) { return railweave::counted_allocate(size); }
void operator delete(void* memory) noexcept { railweave::counted_release(memory); }
void operator delete[](void* memory) noexcept { railweave::counted_release(memory); }
void operator delete(void* memory, std::size_t) noexcept { railweave::counted_release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { railweave::counted_release(memory); }
