#include "scheduler/collective/calibration.h"

namespace railweave::scheduler {

namespace {

constexpr CollectiveConstants kHopper{};
constexpr CollectiveConstants kAmpere{};
constexpr CollectiveConstants kBlackwell{};

// Peaks and NVLink rates: NVIDIA's data sheets, dense, one direction.
constexpr std::array kGenerations{
    GpuGeneration{"A100", 2'400'000, false, 312, 312, 19.5, 0.45, kAmpere, "x"},
    GpuGeneration{"H100", 3'600'000, true, 989, 1979, 67, 0.45, kHopper, "x"},
};

}  // namespace

std::span<const GpuGeneration> generations() { return kGenerations; }

const GpuGeneration* find_generation(std::string_view name) {
  for (const GpuGeneration& generation : kGenerations) {
    if (generation.name == name) return &generation;
  }
  return nullptr;
}

}  // namespace railweave::scheduler
