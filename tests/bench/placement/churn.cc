#include "tests/bench/placement/churn.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

namespace railweave::scheduler::bench {

PlacementFabricPtr bench_fabric(FabricKind kind, std::uint64_t gpus) {
  static std::map<std::pair<FabricKind, std::uint64_t>, PlacementFabricPtr> built;
  auto& fabric = built[{kind, gpus}];
  if (fabric) return fabric;
  fabric::GenerateParameters parameters{{"tiers", "3"}};
  if (kind == FabricKind::rails) {
    parameters.insert({{"hosts", std::to_string(gpus / 8)}, {"planes", "8"}, {"hosts-per-rack", "4"}});
  } else {
    parameters.insert({{"hosts", std::to_string(gpus / 72 * 18)}, {"planes", "4"}, {"nvlink-domain", "72"}});
  }
  auto topology = fabric::generate("rail-optimized", parameters);
  if (!topology) {
    std::fprintf(stderr, "%s\n", topology.error().text().c_str());
    std::abort();
  }
  fabric = std::make_shared<const PlacementFabric>(std::make_shared<const fabric::Topology>(std::move(*topology)));
  return fabric;
}

JobSpec bench_job(std::uint64_t gpus) {
  JobSpec spec;
  auto& p = spec.parallelism;
  p.tensor = static_cast<std::uint32_t>(std::min<std::uint64_t>(8, gpus));
  p.pipeline = gpus >= 512 ? 4 : 1;
  p.data = static_cast<std::uint32_t>(gpus / p.tensor / p.pipeline);
  return spec;
}

JobMix::JobMix(std::uint64_t fabric_gpus) {
  static constexpr std::pair<std::uint64_t, double> kMix[] = {
      {1, 8},   {2, 7},   {4, 10},    {8, 25},     {16, 14},    {32, 11},    {64, 9},
      {128, 7}, {256, 4}, {512, 2.5}, {1024, 1.5}, {2048, 0.6}, {4096, 0.3}, {8192, 0.1}};
  double sum = 0;
  for (const auto& [size, weight] : kMix) {
    if (size > std::max<std::uint64_t>(8, fabric_gpus / 16)) break;
    sizes_.push_back(size);
    upto_.push_back(sum += weight);
  }
}

std::uint64_t JobMix::next(std::mt19937_64& random) const {
  const double drawn = static_cast<double>(random() >> 11U) * 0x1p-53 * upto_.back();
  return sizes_[static_cast<std::size_t>(std::ranges::upper_bound(upto_, drawn) - upto_.begin())];
}

}  // namespace railweave::scheduler::bench
