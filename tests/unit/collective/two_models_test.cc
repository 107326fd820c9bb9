// Bundles and routes are two models of one thing: the same placement takes at least as long on the real routes as where
// routing spreads flows evenly over the links of each bundle, and how much longer is bounded.
#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "scheduler/collective/link_senders.h"
#include "scheduler/collective/placement_cost.h"
#include "scheduler/collective/routed_traffic.h"
#include "tests/unit/collective/routed_fabric.h"

namespace railweave::scheduler::two_models_test {
namespace {

using fabric::GpuId;
using testing::RoutedFabric;

struct Ratios {
  double sum_of_logs = 0, worst = 1;
  int count = 0;
  void add(double ratio) {
    sum_of_logs += std::log(ratio);
    worst = std::max(worst, ratio);
    ++count;
  }
  [[nodiscard]] double mean() const { return std::exp(sum_of_logs / std::max(count, 1)); }
};

// All that a bundle carries may be on one of its links, but on no less: the bound that holds whatever the routes.
double most_links(const FabricBundles& bundles) {
  std::size_t most = 1;
  for (std::uint32_t b = 2 * bundles.first_uplink(); b < bundles.bundle_count(); ++b) {
    most = std::max(most, bundles.links(b).size());
  }
  return static_cast<double>(most);
}

Ratios compare(const RoutedFabric& on, std::uint64_t seeds) {
  const GpuGeneration& generation = *find_generation("H100");
  PlacementCostModel model(on.bundles, generation);
  Ratios ratios;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    std::mt19937_64 random(seed);
    const Parallelism p{.tensor = 1U << (random() % 3),
                        .expert = random() % 4 == 0 ? 2U : 1U,
                        .data = static_cast<std::uint32_t>(2 + random() % 8),
                        .pipeline = static_cast<std::uint32_t>(1 + random() % 2)};
    TrafficSpec traffic;
    traffic.data = {1e9, 1};
    if (p.expert > 1) traffic.expert = {1e8, 1};
    if (p.pipeline > 1) traffic.pipeline = {1e8, 1};
    const auto gpus = seed % 2 == 0 ? on.gpus(rank_count(p)) : on.shuffled(rank_count(p), seed);
    LinkTraffic bundled;
    const auto cost = model.predict(gpus, p, traffic, on.bundle_capacity, {}, &bundled);
    const LinkTraffic routed = routed_traffic({*on.topology, on.walker, on.ports, on.bundles, on.bundle_capacity}, gpus,
                                              p, traffic, generation, bundled);
    for (std::size_t g = 0; g < kCommGroups; ++g) {
      if (cost.groups[g].transfer_us <= 0) continue;
      const double ratio = phases_time(routed.groups[g], on.capacity, nullptr).us / cost.groups[g].transfer_us;
      EXPECT_GE(ratio, 1 - 1e-9) << "seed " << seed << " group " << g;
      EXPECT_LE(ratio, most_links(on.bundles) * (1 + 1e-9)) << "seed " << seed << " group " << g;
      ratios.add(std::max(ratio, 1.0));
    }
  }
  return ratios;
}

TEST(TwoModels, AgreeAsFarAsRoutesSpread) {
  struct On {
    const char* name;
    const RoutedFabric* fabric;
    double most_mean;
  };
  const RoutedFabric rails("rail-optimized", {{"hosts", "32"}, {"hosts-per-unit", "8"}});
  const On all[] = {{"rails", &rails, 1.2}, {"tree", &testing::tree(), 1.35}};
  for (const On& on : all) {
    const Ratios ratios = compare(*on.fabric, 60);
    std::printf("%s: %d groups, routes %.2f times bundles on the mean, %.2f at most\n", on.name, ratios.count,
                ratios.mean(), ratios.worst);
    EXPECT_LE(ratios.mean(), on.most_mean) << on.name;
    EXPECT_GT(ratios.count, 60);
  }
}

}  // namespace
}  // namespace railweave::scheduler::two_models_test
