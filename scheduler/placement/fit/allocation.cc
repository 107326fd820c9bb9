#include "scheduler/placement/fit/allocation.h"

namespace railweave::scheduler {
namespace {

// Flips the bits of GPUs that are all in the state `used`, one by one, and flips back those done when one is not.
bool change(Allocations& allocations, const fabric::Topology& topology, std::span<const fabric::GpuId> gpus,
            bool used) {
  const auto flip = [&](fabric::GpuId gpu) {
    allocations.write(topology.host(gpu).index()).used ^= std::uint64_t{1} << topology.local_index(gpu);
  };
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const fabric::GpuId gpu = gpus[i];
    const bool known = gpu.index() < topology.gpus().size() && topology.host(gpu).index() < allocations.size();
    if (!known ||
        ((allocations[topology.host(gpu).index()].used >> topology.local_index(gpu)) & 1U) != (used ? 1U : 0U)) {
      while (i-- > 0) flip(gpus[i]);
      return false;
    }
    flip(gpu);
  }
  return true;
}

}  // namespace

bool take(Allocations& allocations, const fabric::Topology& topology, std::span<const fabric::GpuId> gpus) {
  return change(allocations, topology, gpus, false);
}

bool release(Allocations& allocations, const fabric::Topology& topology, std::span<const fabric::GpuId> gpus) {
  return change(allocations, topology, gpus, true);
}

}  // namespace railweave::scheduler
