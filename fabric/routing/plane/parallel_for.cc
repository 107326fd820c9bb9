#include "fabric/routing/plane/parallel_for.h"

#include <algorithm>
#include <thread>
#include <vector>

namespace railweave::fabric {

ParallelFor on_threads() {
  return [](std::size_t parts, const std::function<void(std::size_t)>& part) {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < parts; ++i) threads.emplace_back([&part, i] { part(i); });
    part(0);
  };
}

std::size_t part_count() { return std::clamp(std::thread::hardware_concurrency(), 1U, 8U); }

}  // namespace railweave::fabric
