// The places of two roles that exchange data, against every pair of places that there is: each assignment of the ranks of both to
// the free GPUs of small, partly full fabrics. The enumeration shares no code with the search, and what passes between the roles
// is added up here, flow by flow; what a role takes by itself is PlacementCostModel's to say.
#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include <gtest/gtest.h>

#include "scheduler/collective/calibration.h"
#include "scheduler/placement/roles/role_search.h"
#include "tests/support/seeds.h"
#include "tests/unit/placement/small_fabric.h"

namespace railweave::scheduler::every_pair_test {
namespace {

using fabric::GpuId;
using testing_support::below;
using testing_support::Random;

constexpr std::uint64_t kFirst = 1, kSecond = 2;  // jobs

// Microseconds that what one role sends to the other takes: on the slowest adapter, NVLink, leaf or pod that it crosses.
class Exchange {
 public:
  Exchange(const PlacementFabric& fabric, const RolePeer& peer)
      : fabric_(fabric), generation_(generation_of(fabric)), peer_(peer) {}

  // from sends to to.
  double operator()(std::span<const GpuId> from, std::span<const GpuId> to) {
    load_.clear();
    bool leaves_domain = false;
    const auto flow = [&](GpuId a, GpuId b, double bytes) {
      const auto &x = fabric_.bundles().place(a), &y = fabric_.bundles().place(b);
      leaves_domain = leaves_domain || x.unit != y.unit;
      if (x.unit == y.unit) {
        if (x.nvlink == FabricBundles::kNone) return;
        add(x.nvlink, 0, bytes / generation_.constants.ring_efficiency);
        add(y.nvlink, 1, bytes / generation_.constants.ring_efficiency);
        return;
      }
      if (x.host == y.host) return;
      bytes /= generation_.constants.network_efficiency;
      add(x.nic, 0, bytes);
      add(y.nic, 1, bytes);
      if (x.leaf == y.leaf) return;
      add(x.leaf, 0, bytes);
      add(y.leaf, 1, bytes);
      if (x.pod == FabricBundles::kNone || y.pod == FabricBundles::kNone || x.pod == y.pod) return;
      add(x.pod, 0, bytes);
      add(y.pod, 1, bytes);
    };
    if (peer_.spread == RoleSpread::all_to_all) {
      const auto pairs = static_cast<double>(from.size() * to.size());
      for (const GpuId a : from) {
        for (const GpuId b : to) flow(a, b, peer_.bytes / pairs);
      }
    } else {
      const std::size_t count = std::max(from.size(), to.size());
      for (std::size_t i = 0; i < count; ++i) {
        flow(from[i % from.size()], to[i % to.size()], peer_.bytes / static_cast<double>(count));
      }
    }
    double us = 0;
    for (const auto& [bundle, bytes] : load_) us = std::max(us, bytes * 8 / fabric_.nominal_mbps()[bundle]);
    return call_us(generation_.constants, generation_.nvls, 1, leaves_domain ? 2 : 1, peer_.bytes, us, 1);
  }

 private:
  void add(BundlePair pair, unsigned inwards, double bytes) { load_[2 * pair + inwards] += bytes; }

  const PlacementFabric& fabric_;
  const GpuGeneration& generation_;
  const RolePeer peer_;
  std::map<std::uint32_t, double> load_;
};

// Two roles; the first sends to the second.
struct Pair {
  JobSpec first, second;
};

Pair random_pair(Random& random) {
  constexpr std::array<std::pair<Parallelism, Parallelism>, 8> kShapes{{{{.data = 2}, {.data = 2}},
                                                                        {{.data = 2}, {.data = 3}},
                                                                        {{.data = 1}, {.data = 3}},
                                                                        {{.tensor = 2}, {.data = 2}},
                                                                        {{.tensor = 2}, {.tensor = 2}},
                                                                        {{.tensor = 2, .data = 2}, {.tensor = 2}},
                                                                        {{.data = 2}, {.data = 1, .pipeline = 2}},
                                                                        {{.data = 3}, {.data = 2}}}};
  const auto& [a, b] = kShapes[below(random, kShapes.size())];
  Pair pair{testing_support::with_random_traffic(random, a), testing_support::with_random_traffic(random, b)};
  RolePeer to{.job = kSecond, .role = "second", .sends = true, .counted = false};
  to.bytes = 1e8 * static_cast<double>(1 + below(random, 60));
  to.spread = below(random, 2) == 0 ? RoleSpread::all_to_all : RoleSpread::by_rank;
  RolePeer from = to;
  from.job = kFirst;
  from.role = "first";
  from.sends = false;
  from.counted = true;
  pair.first.peers = {to};
  pair.second.peers = {from};
  return pair;
}

class EveryPlaceOfBoth {
 public:
  EveryPlaceOfBoth(const testing_support::SmallCase& on, const Pair& pair)
      : on_(on),
        pair_(pair),
        sizes_{rank_count(pair.first.parallelism), rank_count(pair.second.parallelism)},
        tensor_{pair.first.parallelism.tensor, pair.second.parallelism.tensor},
        rulers_{testing_support::Ruler(*on.fabric, pair.first), testing_support::Ruler(*on.fabric, pair.second)},
        exchange_(*on.fabric, pair.second.peers.front()),
        used_(on.free.size(), false) {
    assign(0);
  }
  // Each takes longer by what it is not given of the nodes that it prefers, with all that it exchanges.
  double us(std::span<const GpuId> first, std::span<const GpuId> second) {
    const double between = exchange_(first, second), of_first = rulers_[0](first), of_second = rulers_[1](second);
    return of_first + of_second + between + (of_first + between) * unmet(pair_.first, first) +
           (of_second + between) * unmet(pair_.second, second);
  }
  double best_us = std::numeric_limits<double>::infinity();
  std::vector<GpuId> best;

 private:
  [[nodiscard]] double unmet(const JobSpec& spec, std::span<const GpuId> gpu_of_rank) const {
    double percent = 0;
    for (const GpuId gpu : gpu_of_rank) {
      const std::string node(on_.fabric->topology().name(on_.fabric->topology().host(gpu)));
      for (const NodePreference& preference : spec.prefer_nodes) {
        const bool named = std::ranges::find(preference.nodes, node) != preference.nodes.end();
        if (named == preference.avoid) percent += preference.weight;
      }
    }
    return percent / 100 / static_cast<double>(gpu_of_rank.size());
  }
  void assign(std::size_t at) {  // NOLINT(misc-no-recursion)
    if (at == sizes_[0] + sizes_[1]) {
      const std::span<const GpuId> all(gpus_);
      const double sum = us(all.first(sizes_[0]), all.subspan(sizes_[0]));
      if (sum < best_us) {
        best_us = sum;
        best = gpus_;
      }
      return;
    }
    const std::size_t role = at < sizes_[0] ? 0 : 1, rank = role == 0 ? at : at - sizes_[0];
    const auto unit = [&](GpuId gpu) { return on_.fabric->bundles().place(gpu).unit; };
    for (std::size_t i = 0; i < on_.free.size(); ++i) {
      if (used_[i] || (rank % tensor_[role] != 0 && unit(gpus_.back()) != unit(on_.free[i]))) continue;
      used_[i] = true;
      gpus_.push_back(on_.free[i]);
      assign(at + 1);
      gpus_.pop_back();
      used_[i] = false;
    }
  }

  const testing_support::SmallCase& on_;
  const Pair& pair_;
  std::array<std::size_t, 2> sizes_;
  std::array<std::uint32_t, 2> tensor_;
  std::array<testing_support::Ruler, 2> rulers_;
  Exchange exchange_;
  std::vector<bool> used_;
  std::vector<GpuId> gpus_;
};

double places(std::size_t free, std::size_t ranks) {
  double all = 1;
  for (std::size_t i = 0; i < ranks; ++i) all *= static_cast<double>(free - i);
  return all;
}

// One after the other, the second beside the first.
std::optional<std::vector<RolePlace>> one_after_other(Placer& placer, testing_support::SmallCase& on,
                                                      const Pair& pair) {
  std::vector<RolePlace> roles{{kFirst, pair.first, {}}, {kSecond, pair.second, {}}};
  Allocations taken = on.allocations;
  placer.set_peers([&](std::uint64_t job) -> std::span<const GpuId> { return roles[job - 1].placement.gpu_of_rank; });
  for (RolePlace& role : roles) {
    placer.sync(taken);
    auto placed = placer.try_place(role.spec);
    if (!placed) {
      placer.set_peers({});
      return std::nullopt;
    }
    role.placement = std::move(*placed);
    EXPECT_TRUE(take(taken, on.fabric->topology(), role.placement.gpu_of_rank));
  }
  placer.set_peers({});
  placer.sync(on.allocations);
  return roles;
}

struct Tally {
  double worst = 1, sum = 0;
  int over = 0, count = 0;
  void add(double ratio) {
    worst = std::max(worst, ratio);
    sum += ratio;
    ++count;
    over += ratio > 1.02 ? 1 : 0;
  }
  void print(const char* name) const {
    std::printf("%s: %d cases, mean %.4f times the best, worst %.3f, %d over 1.02\n", name, count, sum / count, worst,
                over);
  }
};

// Of some of the hosts.
std::vector<NodePreference> random_preferences(Random& random, std::size_t hosts) {
  std::vector<NodePreference> preferences(below(random, 3));
  for (NodePreference& preference : preferences) {
    preference.weight = static_cast<std::uint32_t>(1 + below(random, NodePreference::kMaxWeight));
    preference.avoid = below(random, 3) == 0;
    preference.nodes.push_back("node-" + std::to_string(below(random, hosts)));
    preference.nodes.push_back("node-" + std::to_string(below(random, hosts)));
  }
  return preferences;
}

void places_found_together_are_near_the_best(std::uint64_t first_seed, std::uint64_t seeds, bool with_preferences) {
  constexpr double kMaxPlaces = 7'000;
  Tally before, together;
  for (std::uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    Random random(seed);
    const auto plan =
        testing_support::random_cabled(random, 4 + below(random, 3), 2 + 2 * static_cast<unsigned>(below(random, 2)),
                                       static_cast<unsigned>(below(random, 4)));
    Pair pair = random_pair(random);
    if (with_preferences) {
      pair.first.prefer_nodes = random_preferences(random, plan.hosts.size());
      pair.second.prefer_nodes = random_preferences(random, plan.hosts.size());
    }
    const std::size_t ranks = rank_count(pair.first.parallelism) + rank_count(pair.second.parallelism);
    std::size_t most_free = ranks;
    while (places(most_free + 1, ranks) <= kMaxPlaces && most_free < 10) ++most_free;
    auto on = testing_support::partly_full(random, plan.build(), 0.3, most_free);
    Placer placer(on.fabric);
    auto roles = one_after_other(placer, on, pair);
    if (!roles) continue;
    EveryPlaceOfBoth every(on, pair);
    const auto sum = [&] { return every.us((*roles)[0].placement.gpu_of_rank, (*roles)[1].placement.gpu_of_rank); };
    const double given_us = sum();
    ASSERT_NEAR(roles_us(placer, *roles), given_us, given_us * 1e-9) << "seed " << seed;
    before.add(given_us / every.best_us);
    const bool found = search_together(placer, *roles);
    const double us = sum();
    EXPECT_EQ(found, us < given_us * (1 - 1e-9)) << "seed " << seed;
    together.add(us / every.best_us);
    std::vector<GpuId> all;
    for (const RolePlace& role : *roles) {
      all.insert(all.end(), role.placement.gpu_of_rank.begin(), role.placement.gpu_of_rank.end());
    }
    EXPECT_LE(us, every.best_us * 1.02) << "seed " << seed << " " << testing_support::text_of(pair.first.parallelism)
                                        << ", " << testing_support::text_of(pair.second.parallelism) << ":"
                                        << testing_support::text_of(*on.fabric, all) << " where the best is"
                                        << testing_support::text_of(*on.fabric, every.best);
    std::ranges::sort(all);
    EXPECT_EQ(std::ranges::adjacent_find(all), all.end()) << "a GPU for two ranks, seed " << seed;
    EXPECT_TRUE(std::ranges::includes(on.free, all)) << "seed " << seed;
  }
  before.print("one after the other");
  together.print("together");
  EXPECT_GT(together.count, static_cast<int>(seeds / 2));
  EXPECT_GT(before.over, 0) << "there is something to search for";
}

TEST(EveryPair, PlacesFoundTogetherAreNearTheBest) {
  places_found_together_are_near_the_best(1, part_of_seeds(2'000, 20), false);
}

TEST(EveryPair, PlacesFoundTogetherRegardTheNodesThatRolesPrefer) {
  places_found_together_are_near_the_best(1001, part_of_seeds(2'000, 20), true);
}

TEST(EveryPair, TheSameQuestionHasTheSameAnswer) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    const auto plan = testing_support::random_cabled(random, 6, 4, static_cast<unsigned>(below(random, 4)));
    const Pair pair = random_pair(random);
    auto on = testing_support::partly_full(random, plan.build(), 0.3, 16);
    Placer one(on.fabric), other(on.fabric);
    auto a = one_after_other(one, on, pair);
    if (!a) continue;
    std::vector<RolePlace> b = *a;
    (void)search_together(one, *a);
    other.sync(on.allocations);
    (void)search_together(other, b);
    (void)search_together(other, b);
    for (std::size_t i = 0; i < a->size(); ++i) EXPECT_LE(roles_us(other, b), roles_us(other, *a) * 1.0001) << seed;
    // What was asked between leaves nothing behind.
    std::vector<RolePlace> again = *one_after_other(other, on, pair);
    (void)search_together(other, again);
    for (std::size_t i = 0; i < a->size(); ++i) {
      EXPECT_EQ((*a)[i].placement.gpu_of_rank, again[i].placement.gpu_of_rank) << "seed " << seed;
    }
  }
}

// What a role exchanges with a job that is not placed is nothing, and a job without peers is placed as ever.
TEST(EveryPair, NothingIsExchangedWithAJobThatHasNoPlace) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    const auto plan = testing_support::random_cabled(random, 6, 4, static_cast<unsigned>(below(random, 4)));
    const Pair pair = random_pair(random);
    auto on = testing_support::partly_full(random, plan.build(), 0.3, 20);
    Placer placer(on.fabric);
    placer.sync(on.allocations);
    placer.set_peers([](std::uint64_t) { return std::span<const GpuId>(); });
    JobSpec plain = pair.second;
    plain.peers.clear();
    const auto with = placer.try_place(pair.second), without = placer.try_place(plain);
    ASSERT_EQ(with.has_value(), without.has_value());
    if (!with) continue;
    EXPECT_EQ(with->gpu_of_rank, without->gpu_of_rank) << "seed " << seed;
    EXPECT_EQ(with->predicted, without->predicted);
  }
}

}  // namespace
}  // namespace railweave::scheduler::every_pair_test
