// Refined placements on partly full fabrics too large for every placement, held to a long search: annealing from random
// assignments, two orders of magnitude longer than a refinement may be, which shares no code with the placer.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "small_fabric.h"

namespace railweave::scheduler::long_search_test {
namespace {

using fabric::GpuId;
using testing_support::below;
using testing_support::Random;

// Blocks of ranks that share a domain, exchanged with each other and with free GPUs.
class Annealing {
 public:
  Annealing(const testing_support::SmallCase& on, const JobSpec& spec, std::uint32_t block, std::uint64_t seed)
      : random_(seed), ruler_(*on.fabric, spec), block_(block), pool_(on.free) {
    for (const GpuId gpu : pool_) domain_.push_back(on.fabric->bundles().place(gpu).unit);
  }

  // From an assignment of the job's ranks; the least that was seen.
  double least_us(const std::vector<GpuId>& from, unsigned steps) {
    gpus_ = from;
    double us = ruler_(gpus_);
    double least = us;
    for (unsigned step = 0; step < steps; ++step) {
      const double heat = 0.3 * std::pow(1e-4, static_cast<double>(step) / steps);
      const std::vector<GpuId> before = gpus_;
      if (!change()) continue;
      const double now = ruler_(gpus_);
      if (now < least) best_ = gpus_;
      least = std::min(least, now);
      const double worse = (now - us) / us;
      if (worse <= 0 || static_cast<double>(below(random_, 1'000'000)) < 1e6 * std::exp(-worse / heat)) {
        us = now;
      } else {
        gpus_ = before;
      }
    }
    return least;
  }

  [[nodiscard]] const std::vector<GpuId>& best() const { return best_; }  // where it was less than at the start

 private:
  [[nodiscard]] bool is_free(GpuId gpu) const { return std::ranges::find(gpus_, gpu) == gpus_.end(); }
  [[nodiscard]] std::uint32_t domain(GpuId gpu) const {
    return domain_[static_cast<std::size_t>(std::ranges::find(pool_, gpu) - pool_.begin())];
  }
  bool change() {
    const std::size_t block = below(random_, gpus_.size() / block_) * block_;
    if (below(random_, 2) == 0) {  // two blocks
      const std::size_t other = below(random_, gpus_.size() / block_) * block_;
      for (std::size_t i = 0; i < block_; ++i) std::swap(gpus_[block + i], gpus_[other + i]);
      return true;
    }
    if (block_ > 1 && below(random_, 2) == 0) {  // two ranks of one domain, or one and a free GPU
      GpuId& rank = gpus_[block + below(random_, block_)];
      const GpuId gpu = pool_[below(random_, pool_.size())];
      if (domain(gpu) != domain(rank)) return false;
      const auto holder = std::ranges::find(gpus_, gpu);
      if (holder != gpus_.end()) *holder = rank;
      rank = gpu;
      return true;
    }
    const std::uint32_t to = domain_[below(random_, domain_.size())];
    std::vector<GpuId> free;
    for (std::size_t i = 0; i < pool_.size(); ++i) {
      if (domain_[i] == to && is_free(pool_[i])) free.push_back(pool_[i]);
    }
    if (free.size() < block_) return false;
    std::ranges::shuffle(free, random_);
    std::copy_n(free.begin(), block_, gpus_.begin() + static_cast<std::ptrdiff_t>(block));
    return true;
  }

  Random random_;
  testing_support::Ruler ruler_;
  std::uint32_t block_;
  std::vector<GpuId> pool_, gpus_, best_;
  std::vector<std::uint32_t> domain_;  // by pool_
};

// Hosts of eight GPUs, three or more in use in part; jobs of 8 to 24 ranks. Blocks as placed: tensor groups, with the
// expert group around them where it is in a domain.
TEST(LongSearch, FindsNothingMuchBetter) {
  struct Job {
    Parallelism parallelism;
    std::uint32_t block;
  };
  const Job jobs[] = {{{.data = 10}, 1},
                      {{.data = 12}, 1},
                      {{.tensor = 2, .data = 5}, 2},
                      {{.tensor = 2, .data = 6}, 2},
                      {{.tensor = 4, .data = 3}, 4},
                      {{.tensor = 2, .data = 3, .pipeline = 2}, 2},
                      {{.data = 4, .pipeline = 3}, 1},
                      {{.expert = 4, .data = 3}, 4}};
  constexpr unsigned kSteps = 12'000;
  int cases = 0, over = 0;
  double worst = 1;
  for (std::uint64_t seed = 1; seed <= 48; ++seed) {
    Random random(seed);
    const auto fabric = testing_support::random_cabled(random, 5 + below(random, 3), 8, 0).build();
    const auto on = testing_support::partly_full(random, fabric, 0.3 + 0.1 * static_cast<double>(below(random, 3)), 40);
    const Job& job = jobs[seed % std::size(jobs)];
    const JobSpec spec = testing_support::with_random_traffic(random, job.parallelism);
    Placer placer(fabric);
    placer.sync(on.allocations);
    const auto placement = placer.try_place(spec);
    if (!placement || placement->block_gpus != job.block) continue;
    ++cases;
    const double reached = testing_support::Ruler(*fabric, spec)(placement->gpu_of_rank);
    double least = reached;
    std::vector<GpuId> found;
    for (std::uint64_t start = 1; start <= 3; ++start) {
      Annealing search(on, spec, job.block, seed * 8 + start);
      const double us = search.least_us(placement->gpu_of_rank, kSteps);
      if (us < least) found = search.best();
      least = std::min(least, us);
    }
    worst = std::max(worst, reached / least);
    over += reached > least * 1.02 ? 1 : 0;
    EXPECT_LE(reached, least * 1.02) << "seed " << seed << " " << testing_support::text_of(job.parallelism) << " at"
                                     << testing_support::text_of(*fabric, placement->gpu_of_rank)
                                     << " where a search found" << testing_support::text_of(*fabric, found) << " free"
                                     << testing_support::text_of(*fabric, on.free);
  }
  std::printf("long search: %d cases, worst %.3f, %d over 1.02\n", cases, worst, over);
  EXPECT_GT(cases, 24);
}

}  // namespace
}  // namespace railweave::scheduler::long_search_test
