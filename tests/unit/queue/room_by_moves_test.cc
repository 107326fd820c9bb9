// Moves that make room, against brute force: every set of jobs, every host for each of them and for the waiting job.
#include "scheduler/queue/repair/room_by_moves.h"

#include <numeric>

#include <gtest/gtest.h>

#include "scheduler/placement/fit/placement_transaction.h"
#include "tests/support/seeds.h"
#include "tests/unit/queue/simulated_cluster.h"

namespace railweave::scheduler::room_by_moves_test {
namespace {

using namespace testing_support;
using Random = std::mt19937_64;

constexpr unsigned kHosts = 5, kGpus = 4;

// Jobs inside one host each, and a waiting job of whole host parts. GPUs of a host are alike, so numbers per host say all.
struct Case {
  PlacementFabricPtr fabric = small_fabric(kHosts, kGpus, kHosts);
  Placer placer{fabric};
  std::vector<std::vector<fabric::GpuId>> held;
  std::vector<unsigned> host_of;
  std::vector<JobSpec> specs;
  std::vector<double> prices;
  std::vector<unsigned> free = std::vector<unsigned>(kHosts, kGpus);
  std::vector<MovableJob> movable;
  std::vector<std::size_t> job_of_movable;
  JobSpec waiting;
  unsigned per_host = 0, blocks = 0;  // of the waiting job

  [[nodiscard]] unsigned host(fabric::GpuId gpu) const {
    return static_cast<unsigned>(fabric->topology().host(gpu).index());
  }
};

JobSpec in_one_host(QueueJobId id, std::uint32_t gpus) {
  JobSpec spec = simulated_job(id, 1, gpus, 0, 10).spec;
  spec.job.required = fabric::LevelKind::node;
  return spec;
}

void make(Case& made, Random& random) {
  PlacementTransaction tree(made.placer.tree(), made.fabric->topology());
  for (unsigned host = 0; host < kHosts; ++host) {
    const auto gpus = made.fabric->topology().gpus(made.fabric->topology().hosts()[host]);
    for (unsigned at = 0; at < kGpus && made.held.size() < 8;) {
      const unsigned size = std::min<unsigned>(kGpus - at, 1 + random() % 3);
      if (random() % 5 < 3) {
        auto& held = made.held.emplace_back();
        for (unsigned i = at; i < at + size; ++i) held.push_back(gpus[i]);
        made.host_of.push_back(host);
        made.free[host] -= size;
      }
      at += size;
    }
  }
  made.specs.reserve(made.held.size());
  for (std::size_t i = 0; i < made.held.size(); ++i) {
    EXPECT_TRUE(tree.take(made.held[i]));
    made.specs.push_back(in_one_host(i + 1, static_cast<std::uint32_t>(made.held[i].size())));
    made.prices.push_back(static_cast<double>(made.held[i].size() * (1 + random() % 30)));
  }
  tree.commit();
  for (std::size_t i = 0; i < made.held.size(); ++i) {
    if (random() % 6 == 0) continue;  // it says nothing of checkpoints
    made.movable.push_back({i + 1, &made.specs[i], made.held[i], made.prices[i]});
    made.job_of_movable.push_back(i);
  }
  if (random() % 2 == 0) {
    made.per_host = 2 + random() % 3;
    made.blocks = 1;
    made.waiting = in_one_host(100, made.per_host);
  } else {
    made.per_host = 4;
    made.blocks = 1 + random() % 2;
    made.waiting = simulated_job(100, 4, made.blocks, 0, 10).spec;
  }
}

struct Brute {
  const Case& made;
  std::vector<std::size_t> set;         // of jobs
  std::vector<unsigned> freed, target;  // by host: GPUs of the set; what is free now and left by the waiting job

  bool put(std::size_t at) {
    if (at == set.size()) return true;
    const unsigned size = static_cast<unsigned>(made.held[set[at]].size());
    for (unsigned host = 0; host < kHosts; ++host) {
      if (host == made.host_of[set[at]] || target[host] < size) continue;
      target[host] -= size;
      const bool done = put(at + 1);
      target[host] += size;
      if (done) return true;
    }
    return false;
  }
  // The waiting job takes freed GPUs first, so that most of what is free now is left.
  bool choose(unsigned from, unsigned blocks) {
    if (blocks == 0) return put(0);
    for (unsigned host = from; host < kHosts; ++host) {
      if (made.free[host] + freed[host] < made.per_host) continue;
      const unsigned of_free = made.per_host > freed[host] ? made.per_host - freed[host] : 0;
      target[host] -= of_free;
      const bool done = choose(host + 1, blocks - 1);
      target[host] += of_free;
      if (done) return true;
    }
    return false;
  }
  bool works() {
    freed.assign(kHosts, 0);
    target = made.free;
    for (const std::size_t job : set) freed[made.host_of[job]] += static_cast<unsigned>(made.held[job].size());
    return choose(0, made.blocks);
  }
};

std::optional<double> least_price(const Case& made) {
  std::optional<double> least;
  for (std::uint32_t mask = 0; mask < 1U << made.movable.size(); ++mask) {
    Brute brute{made, {}, {}, {}};
    double price = 0;
    for (std::size_t i = 0; i < made.movable.size(); ++i) {
      if ((mask >> i & 1U) == 0) continue;
      brute.set.push_back(made.job_of_movable[i]);
      price += made.prices[made.job_of_movable[i]];
    }
    if ((!least || price < *least) && brute.works()) least = price;
  }
  return least;
}

// "" or what is wrong with the plan, from the GPUs alone.
std::string fault(const Case& made, const RoomPlan& plan) {
  std::vector<unsigned> owner(kHosts * kGpus, 0);  // 0: free now; else the number of the job
  for (std::size_t i = 0; i < made.held.size(); ++i) {
    for (const auto gpu : made.held[i]) owner[gpu.index()] = static_cast<unsigned>(i + 1);
  }
  std::vector<unsigned> after = owner;
  double price = 0;
  for (const RoomMove& move : plan.moves) {
    const std::size_t job = made.job_of_movable[move.job];
    price += made.prices[job];
    for (const auto gpu : made.held[job]) after[gpu.index()] = 0;
  }
  for (const RoomMove& move : plan.moves) {
    const std::size_t job = made.job_of_movable[move.job];
    if (move.gpu_of_rank.size() != made.held[job].size()) return "a job changes its size";
    for (const auto gpu : move.gpu_of_rank) {
      if (made.host(gpu) != made.host(move.gpu_of_rank.front())) return "a job leaves its one host";
      if (owner[gpu.index()] != 0 && owner[gpu.index()] != job + 1) return "a move needs another one first";
      if (after[gpu.index()] != 0) return "two jobs on one GPU";
      after[gpu.index()] = static_cast<unsigned>(job + 1);
    }
  }
  std::map<unsigned, unsigned> used;
  for (const auto gpu : plan.place.gpu_of_rank) {
    if (after[gpu.index()] != 0) return "the waiting job has no room";
    after[gpu.index()] = 1000;
    ++used[made.host(gpu)];
  }
  for (const auto& [host, gpus] : used) {
    if (gpus != made.per_host) return "the waiting job is split";
  }
  if (used.size() != made.blocks) return "the waiting job is of another size";
  return price == plan.lost_gpu_s ? "" : "the price is not the sum of what is lost";
}

TEST(RoomByMoves, LosesTheLeastThatStartsTheJob) {
  unsigned planned = 0, several = 0, none = 0;
  for (std::uint64_t seed = 1; seed <= part_of_seeds(2'400); ++seed) {
    Random random(seed);
    Case made;
    make(made, random);
    const auto least = least_price(made);
    const std::uint64_t free_before = made.placer.tree().total_free();
    const auto plan = plan_room(made.placer, made.waiting, made.movable);
    ASSERT_EQ(made.placer.tree().total_free(), free_before) << "seed " << seed;
    if (least == 0.0) {
      ASSERT_FALSE(plan) << "seed " << seed << ": it fits without a move";
      continue;
    }
    ASSERT_EQ(plan.has_value(), least.has_value()) << "seed " << seed;
    if (!plan) {
      ++none;
      continue;
    }
    ASSERT_EQ(fault(made, *plan), "") << "seed " << seed;
    ASSERT_DOUBLE_EQ(plan->lost_gpu_s, *least) << "seed " << seed;
    ++planned;
    several += plan->moves.size() > 1 ? 1 : 0;
  }
  EXPECT_GT(planned, part_of_seeds(400));
  EXPECT_GT(several, part_of_seeds(80));
  EXPECT_GT(none, part_of_seeds(200));
}

TEST(RoomByMoves, StaysWithinWhatMayMoveAndBeLost) {
  unsigned refused = 0;
  for (std::uint64_t seed = 1; seed <= part_of_seeds(400); ++seed) {
    Random random(seed);
    Case made;
    make(made, random);
    const auto least = least_price(made);
    if (!least || *least == 0.0) continue;
    ASSERT_FALSE(plan_room(made.placer, made.waiting, made.movable, {.most_lost_gpu_s = *least - 0.5})) << seed;
    ASSERT_TRUE(plan_room(made.placer, made.waiting, made.movable, {.most_lost_gpu_s = *least})) << seed;
    const auto one = plan_room(made.placer, made.waiting, made.movable, {.most_moves = 1});
    if (one) {
      ASSERT_EQ(one->moves.size(), 1U) << seed;
    } else {
      ++refused;
    }
    RoomOptions shut;
    shut.closed = [&](QueueJobId) {
      std::vector<fabric::GpuId> all;
      for (const auto gpu : made.fabric->topology().gpus()) all.push_back(gpu);
      return all;
    };
    ASSERT_FALSE(plan_room(made.placer, made.waiting, made.movable, shut)) << seed;
  }
  EXPECT_GT(refused, 0U);
}

}  // namespace
}  // namespace railweave::scheduler::room_by_moves_test
