// The stream of jobs that both experiments with lanes place, and quantiles of what they measure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace railweave::control::bench {

// GPUs of the next job: most have few, some span leaves, one in a thousand takes 128 hosts.
inline std::uint32_t next_size(std::mt19937_64& random) {
  static constexpr std::pair<std::uint32_t, unsigned> kPermille[] = {
      {1, 240}, {2, 160}, {4, 180}, {8, 240}, {16, 90}, {32, 50}, {64, 20}, {128, 14}, {256, 3}, {512, 2}, {1'024, 1}};
  auto drawn = static_cast<unsigned>(random() % 1'000);
  for (const auto& [gpus, permille] : kPermille) {
    if (drawn < permille) return gpus;
    drawn -= permille;
  }
  return 1;
}

inline double quantile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

}  // namespace railweave::control::bench
