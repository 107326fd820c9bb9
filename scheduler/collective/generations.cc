#include <algorithm>
#include <cmath>
#include <string>

#include "scheduler/collective/calibration.h"

namespace railweave::scheduler {

namespace {

// As fit_constants() gives on the named tables (out-of-place all-reduce times of nccl-tests), rounded; what a table
// does not determine stays at the defaults of CollectiveConstants. bench_collective fits again and prints how far off
// these are.
constexpr CollectiveConstants kAmpere{.network_efficiency = 0.951, .latency_scale = 0.954, .fill_us = 106};
constexpr CollectiveConstants kHopper{.nvls_efficiency = 0.650,
                                      .latency_scale = 1.11,
                                      .ll_efficiency = 0.062,
                                      .fill_us = 74.3,
                                      .fill_half_bytes = 14.4e6};
constexpr CollectiveConstants kBlackwell{.nvls_efficiency = 0.447,
                                         .ring_efficiency = 0.788,
                                         .latency_scale = 0.869,
                                         .fill_us = 165,
                                         .fill_half_bytes = 11.4e6};

constexpr std::string_view kFromAmpere = "oke_a100_16gpu_2node";
constexpr std::string_view kFromHopper = "dgxc_h100_8gpu, transcribed_h100_16gpu";
constexpr std::string_view kFromBlackwell = "coreweave_gb200_72gpu_1rack, transcribed_gb300_16gpu";

// NVLink rates per direction and dense peaks (BF16, FP8, FP32 in TFLOP/s; A100 has no FP8 and computes it as BF16):
// NVIDIA's data sheets.
constexpr double kComputes = 0.45;
constexpr std::array kGenerations{
    GpuGeneration{"A100", 2'400'000, false, 312, 312, 19.5, kComputes, kAmpere, kFromAmpere},
    GpuGeneration{"H100", 3'600'000, true, 989, 1979, 67, kComputes, kHopper, kFromHopper},
    GpuGeneration{"H200", 3'600'000, true, 989, 1979, 67, kComputes, kHopper, kFromHopper},
    GpuGeneration{"B200", 7'200'000, true, 2250, 4500, 80, kComputes, kBlackwell, kFromBlackwell},
    GpuGeneration{"GB200", 7'200'000, true, 2500, 5000, 80, kComputes, kBlackwell, kFromBlackwell},
    GpuGeneration{"GB300", 7'200'000, true, 2500, 5000, 80, kComputes, kBlackwell, kFromBlackwell},
};

}  // namespace

std::span<const GpuGeneration> generations() { return kGenerations; }

const GpuGeneration* find_generation(std::string_view name) {
  for (const GpuGeneration& generation : kGenerations) {
    if (generation.name == name) return &generation;
  }
  return nullptr;
}

const GpuGeneration* generation_named(std::string_view label) {
  std::string upper(label);
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  const GpuGeneration* best = nullptr;  // "GB200" names a B200, too: the longest name counts
  for (const GpuGeneration& generation : generations()) {
    if (upper.find(generation.name) == std::string::npos) continue;
    if (best == nullptr || generation.name.size() > best->name.size()) best = &generation;
  }
  return best;
}

const GpuGeneration& generation_by_nvlink(double nvlink_mbps) {
  return *std::ranges::min_element(kGenerations, {}, [&](const GpuGeneration& generation) {
    return std::abs(generation.nvlink_mbps - nvlink_mbps);
  });
}

}  // namespace railweave::scheduler
