// Jobs of more blocks than are refined, on nodes of which a part is preferred: held to the best division of their blocks among the
// nodes of two leaf groups, preferred and other ones, each number of blocks on each of the four tried. The enumeration shares no
// code with the placer; what a place takes is PlacementCostModel's to say.
#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "small_fabric.h"
#include "tests/support/seeds.h"

namespace railweave::scheduler::preferred_blocks_test {
namespace {

using fabric::GpuId;
using fabric::HostId;
using testing_support::below;
using testing_support::Random;

constexpr unsigned kGpus = 2;
constexpr std::uint32_t kBlocks = 36;  // a node each

struct Case {
  PlacementFabricPtr fabric;
  Allocations allocations;
  std::array<std::vector<HostId>, 4> free;  // of the first leaf group preferred and not, then of the second
  JobSpec spec;
};

Case random_case(Random& random) {
  Case on;
  const std::size_t hosts = 52 + below(random, 20);
  const std::size_t in_first = hosts / 4 + below(random, hosts / 2);
  testing_support::CabledPlan plan;
  plan.leaf_uplinks = static_cast<unsigned>(1 + below(random, 16));
  for (std::size_t h = 0; h < hosts; ++h) {
    plan.hosts.push_back({.domain_of_gpu = std::vector<int>(kGpus, static_cast<int>(h)),
                          .leaf_group = h < in_first ? 0U : 1U,
                          .pod = 0});
  }
  on.fabric = plan.build();
  on.allocations = no_allocations(on.fabric->topology());
  NodePreference preference{.nodes = {}, .node_selector = {}, .weight = 1, .avoid = below(random, 4) == 0};
  preference.weight = static_cast<std::uint32_t>(1 + below(random, 60));
  const std::uint64_t share = 1 + below(random, 9);
  for (const HostId host : on.fabric->topology().hosts()) {
    const bool named = below(random, 10) < share;
    if (named) preference.nodes.emplace_back(on.fabric->topology().name(host));
    if (below(random, 6) == 0) {
      on.allocations.write(host.index()).used = (std::uint64_t{1} << kGpus) - 1;
      continue;
    }
    const std::string name(on.fabric->topology().name(host));
    const bool first = std::stoul(name.substr(name.find('-') + 1)) < in_first;
    on.free[(first ? 0U : 2U) + (named != preference.avoid ? 0U : 1U)].push_back(host);
  }
  if (preference.nodes.empty()) preference.nodes.emplace_back("node-0");
  on.spec.parallelism = {.tensor = kGpus, .data = kBlocks};
  TrafficSpec traffic;
  traffic.data = {1e9, 1};
  on.spec.traffic = traffic;
  on.spec.prefer_nodes = {preference};
  return on;
}

class EveryDivision {
 public:
  explicit EveryDivision(const Case& on) : on_(on), ruler_(*on.fabric, on.spec) {}

  double us(std::span<const GpuId> gpu_of_rank) {
    const auto& preference = on_.spec.prefer_nodes.front();
    double outside = 0;
    for (const GpuId gpu : gpu_of_rank) {
      const std::string node(on_.fabric->topology().name(on_.fabric->topology().host(gpu)));
      const bool named = std::ranges::find(preference.nodes, node) != preference.nodes.end();
      outside += named == preference.avoid ? 1 : 0;
    }
    return ruler_(gpu_of_rank) * (1 + outside / static_cast<double>(gpu_of_rank.size()) * preference.weight / 100.0);
  }
  double best_us() {
    double best = std::numeric_limits<double>::infinity();
    std::array<std::size_t, 4> count{};
    for (count[0] = 0; count[0] <= std::min<std::size_t>(kBlocks, on_.free[0].size()); ++count[0]) {
      for (count[1] = 0; count[1] <= std::min<std::size_t>(kBlocks - count[0], on_.free[1].size()); ++count[1]) {
        for (count[2] = 0; count[2] <= std::min<std::size_t>(kBlocks - count[0] - count[1], on_.free[2].size());
             ++count[2]) {
          count[3] = kBlocks - count[0] - count[1] - count[2];
          if (count[3] <= on_.free[3].size()) best = std::min(best, us(divided(count)));
        }
      }
    }
    return best;
  }

 private:
  [[nodiscard]] std::vector<GpuId> divided(const std::array<std::size_t, 4>& count) const {
    std::vector<GpuId> gpus;
    for (std::size_t part = 0; part < 4; ++part) {
      for (std::size_t i = 0; i < count[part]; ++i) {
        for (const GpuId gpu : on_.fabric->topology().gpus(on_.free[part][i])) gpus.push_back(gpu);
      }
    }
    return gpus;
  }

  const Case& on_;
  testing_support::Ruler ruler_;
};

TEST(PreferredBlocks, AsManyOfALargeJobAreOnPreferredNodesAsPays) {
  int cases = 0, over = 0, partly = 0;
  double worst = 1;
  for (std::uint64_t seed = 1; seed <= part_of_seeds(60); ++seed) {
    Random random(seed);
    const Case on = random_case(random);
    Placer placer(on.fabric);
    placer.sync(on.allocations);
    const auto placement = placer.try_place(on.spec);
    if (!placement) continue;
    ++cases;
    EveryDivision every(on);
    const double us = every.us(placement->gpu_of_rank), best_us = every.best_us();
    const double unmet = us / placement->predicted->communication_us - 1;
    partly += unmet > 1e-9 && unmet < on.spec.prefer_nodes.front().weight / 100.0 - 1e-9 ? 1 : 0;
    worst = std::max(worst, us / best_us);
    over += us > best_us * 1.02 ? 1 : 0;
    EXPECT_LE(us, best_us * 1.02) << "seed " << seed;
  }
  std::printf("%d jobs, %d of them partly on preferred nodes; worst %.3f times the best, %d over 1.02\n", cases, partly,
              worst, over);
  EXPECT_GT(cases, static_cast<int>(part_of_seeds(60) / 2));
  EXPECT_GT(partly, cases / 4);
}

}  // namespace
}  // namespace railweave::scheduler::preferred_blocks_test
