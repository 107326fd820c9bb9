// The place that is chosen against every place that there is: each assignment of ranks to free GPUs of small, partly full
// fabrics, with domains of half a host, a host and several hosts, leaf groups, pods, and every kind of group of ranks. The
// search shares no code with the placer; the cost of a placement is PlacementCostModel's to say.
#include <algorithm>
#include <array>
#include <limits>

#include <gtest/gtest.h>

#include "small_fabric.h"
#include "tests/support/seeds.h"

namespace railweave::scheduler::every_placement_test {
namespace {

using fabric::GpuId;
using testing_support::below;
using testing_support::Random;

// As the placer is documented: tensor groups share a domain; context and expert groups do where that is possible at all.
enum class Together : std::uint8_t { tensor, context, block };

// The cost of a placement with what preferences of nodes add to it, as the contract says it.
class Cost {
 public:
  Cost(const PlacementFabric& fabric, const JobSpec& spec) : fabric_(fabric), spec_(spec), ruler_(fabric, spec) {}
  double operator()(std::span<const GpuId> gpu_of_rank) {
    double percent = 0;
    for (const GpuId gpu : gpu_of_rank) {
      const std::string node(fabric_.topology().name(fabric_.topology().host(gpu)));
      for (const NodePreference& preference : spec_.prefer_nodes) {
        const bool named = std::ranges::find(preference.nodes, node) != preference.nodes.end();
        if (named == preference.avoid) percent += preference.weight;
      }
    }
    return ruler_(gpu_of_rank) * (1 + percent / 100 / static_cast<double>(gpu_of_rank.size()));
  }

 private:
  const PlacementFabric& fabric_;
  const JobSpec& spec_;
  testing_support::Ruler ruler_;
};

class EveryPlacement {
 public:
  EveryPlacement(const testing_support::SmallCase& on, const JobSpec& spec)
      : on_(on), p_(spec.parallelism), ruler_(*on.fabric, spec), used_(on.free.size(), false) {
    for (const GpuId gpu : on.free) domain_.push_back(on.fabric->bundles().place(gpu).unit);
    assign(0);
  }
  static double count(std::size_t free, std::size_t ranks) {
    double all = 1;
    for (std::size_t i = 0; i < ranks; ++i) all *= static_cast<double>(free - i);
    return all;
  }
  [[nodiscard]] double best_us() const {
    for (const Together together : {Together::block, Together::context}) {
      if (best_us_[at(together)] < kNone) return best_us_[at(together)];
    }
    return best_us_[at(Together::tensor)];
  }
  [[nodiscard]] const std::vector<GpuId>& best() const {
    for (const Together together : {Together::block, Together::context}) {
      if (best_us_[at(together)] < kNone) return best_[at(together)];
    }
    return best_[at(Together::tensor)];
  }

 private:
  static constexpr double kNone = std::numeric_limits<double>::max();
  static constexpr std::size_t at(Together together) { return static_cast<std::size_t>(together); }

  [[nodiscard]] bool in_domains(std::size_t size) const {
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      if (domain_[chosen_[i]] != domain_[chosen_[i / size * size]]) return false;
    }
    return true;
  }
  void judge() {
    for (const std::size_t i : chosen_) gpus_.push_back(on_.free[i]);
    const std::size_t context = std::size_t{p_.tensor} * p_.context;
    Together together = Together::tensor;
    if (in_domains(context)) together = Together::context;
    if (in_domains(context * p_.expert)) together = Together::block;
    const double us = ruler_(gpus_);
    if (us < best_us_[at(together)]) {
      best_us_[at(together)] = us;
      best_[at(together)] = gpus_;
    }
    gpus_.clear();
  }
  void assign(std::size_t rank) {  // NOLINT(misc-no-recursion)
    if (rank == rank_count(p_)) return judge();
    for (std::size_t i = 0; i < on_.free.size(); ++i) {
      if (used_[i]) continue;
      if (rank % p_.tensor != 0 && domain_[chosen_.back()] != domain_[i]) continue;
      used_[i] = true;
      chosen_.push_back(i);
      assign(rank + 1);
      chosen_.pop_back();
      used_[i] = false;
    }
  }

  const testing_support::SmallCase& on_;
  Parallelism p_;
  Cost ruler_;
  std::vector<bool> used_;
  std::vector<std::uint32_t> domain_;  // by free GPU
  std::vector<std::size_t> chosen_;    // free GPU of each rank
  std::vector<GpuId> gpus_;
  std::array<double, 3> best_us_{kNone, kNone, kNone};
  std::array<std::vector<GpuId>, 3> best_;
};

constexpr std::array<Parallelism, 20> kJobs{{
    {.data = 4},
    {.data = 5},
    {.data = 6},
    {.data = 7},
    {.tensor = 2, .data = 2},
    {.tensor = 2, .data = 3},
    {.tensor = 2, .data = 4},
    {.tensor = 4, .data = 2},
    {.expert = 2, .data = 3},
    {.expert = 4},
    {.tensor = 2, .expert = 2, .data = 2},
    {.context = 2, .data = 3},
    {.context = 2, .data = 2, .pipeline = 2},
    {.data = 2, .pipeline = 2},
    {.data = 3, .pipeline = 2},
    {.tensor = 2, .data = 2, .pipeline = 2},
    {.expert = 2, .data = 2, .pipeline = 2},
    {.context = 2, .expert = 2, .data = 2},
    {.tensor = 2, .context = 2, .data = 2},
    {.tensor = 2, .data = 1, .pipeline = 4},
}};
constexpr double kMaxPlacements = 45'000;

void against_every_placement(unsigned domains, std::uint64_t seeds, bool with_preferences = false) {
  int cases = 0, over = 0;
  double worst = 1;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Random random(seed * 4 + domains);
    const unsigned gpus = below(random, 2) == 0 ? 4 : 2;
    const std::size_t hosts = (gpus == 4 ? 3 : 4) + below(random, 3);
    const auto fabric = testing_support::random_cabled(random, hosts, gpus, domains).build();
    const Parallelism parallelism = kJobs[below(random, kJobs.size())];
    std::size_t most_free = rank_count(parallelism);
    while (EveryPlacement::count(most_free + 1, rank_count(parallelism)) <= kMaxPlacements && most_free < 12)
      ++most_free;
    const auto on =
        testing_support::partly_full(random, fabric, 0.1 * static_cast<double>(below(random, 5)), most_free);
    JobSpec spec = testing_support::with_random_traffic(random, parallelism);
    if (with_preferences) spec.prefer_nodes = testing_support::random_preferences(random, hosts, 3);
    Placer placer(fabric);
    placer.sync(on.allocations);
    const auto placement = placer.try_place(spec);
    if (!placement) continue;
    ++cases;
    const EveryPlacement every(on, spec);
    const double reached = Cost(*fabric, spec)(placement->gpu_of_rank);
    ASSERT_DOUBLE_EQ(testing_support::Ruler(*fabric, spec)(placement->gpu_of_rank),
                     placement->predicted->communication_us);
    worst = std::max(worst, reached / every.best_us());
    over += reached > every.best_us() * 1.02 ? 1 : 0;
    EXPECT_LE(reached, every.best_us() * 1.02)
        << "seed " << seed << " " << testing_support::text_of(parallelism) << " at"
        << testing_support::text_of(*fabric, placement->gpu_of_rank) << " (" << reached / every.best_us()
        << " times) where the best is" << testing_support::text_of(*fabric, every.best()) << " and free are"
        << testing_support::text_of(*fabric, on.free);
  }
  std::printf("domains %u: %d cases, worst %.3f, %d over 1.02\n", domains, cases, worst, over);
  EXPECT_GT(cases, static_cast<int>(seeds / 3));
}

TEST(EveryPlacement, WhereHostsAreDomains) { against_every_placement(0, part_of_seeds(300)); }
TEST(EveryPlacement, WhereHalvesOfHostsAreDomains) { against_every_placement(1, part_of_seeds(300)); }
TEST(EveryPlacement, WherePairsOfHostsAreDomains) { against_every_placement(2, part_of_seeds(300)); }
TEST(EveryPlacement, WhereDomainsAreMixed) { against_every_placement(3, part_of_seeds(300)); }
TEST(EveryPlacement, WhereSomeNodesArePreferred) {
  for (unsigned domains = 0; domains < 4; ++domains) against_every_placement(domains, part_of_seeds(100), true);
}

}  // namespace
}  // namespace railweave::scheduler::every_placement_test
