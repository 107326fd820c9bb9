#include "scheduler/placement/fit/placement_tree.h"

#include <bit>
#include <deque>

#include <gtest/gtest.h>

#include "planned_fabric.h"
#include "scheduler/placement/fit/fit_index.h"
#include "scheduler/placement/fit/placement_transaction.h"
#include "scheduler/placement/placer.h"
#include "tests/support/seeds.h"

namespace railweave::scheduler::placement_tree_test {
namespace {

using testing_support::below;
using testing_support::Random;

// Free GPUs of every group, counted GPU by GPU from what is known to be taken.
std::string conservation(const PlacementTree& tree, const PlacementFabric& fabric,
                         const std::vector<HostAllocation>& hosts) {
  const Hierarchy& hierarchy = tree.hierarchy();
  std::uint64_t total = 0;
  for (unsigned level = 0; level < hierarchy.level_count(); ++level) {
    std::vector<std::uint64_t> free(hierarchy.group_count(level), 0);
    for (LeafIndex leaf = 0; leaf < hierarchy.leaf_count(); ++leaf) {
      const HostAllocation& host = hosts[hierarchy.host(leaf).index()];
      for (unsigned gpu = 0; gpu < fabric.topology().gpus(hierarchy.host(leaf)).size(); ++gpu) {
        const bool in_leaf = (hierarchy.gpu_mask(leaf) >> gpu) & 1U;
        if (in_leaf && !host.unavailable && ((host.used >> gpu) & 1U) == 0)
          ++free[hierarchy.group_of_leaf(level, leaf)];
      }
    }
    total = 0;
    for (GroupIndex group = 0; group < free.size(); ++group) {
      total += free[group];
      if (tree.free(level, group) != free[group]) {
        return "level " + std::to_string(level) + " group " + std::to_string(group) + " says " +
               std::to_string(tree.free(level, group)) + " free, there are " + std::to_string(free[group]);
      }
    }
  }
  return tree.total_free() == total ? "" : "the total is wrong";
}

JobSpec random_job(Random& random) {
  JobSpec spec;
  spec.parallelism.tensor = 1U << below(random, 4);
  spec.parallelism.data = static_cast<std::uint32_t>(1 + below(random, 6));
  spec.parallelism.pipeline = static_cast<std::uint32_t>(1 + below(random, 3));
  if (below(random, 4) == 0) spec.parallelism.context = 2;
  return spec;
}

TEST(PlacementTree, NoGpuIsLostOrInventedAtAnyLevelInAHundredThousandOperations) {
  int operations = 0;
  int placed = 0;
  for (std::uint64_t seed = 1; operations < 110'000; ++seed) {
    Random random(seed);
    const auto fabric = testing_support::random_fabric(random, 40, 8).build();
    const auto& topology = fabric->topology();
    Placer placer(fabric);
    std::vector<HostAllocation> model(topology.hosts().size());
    std::deque<std::vector<fabric::GpuId>> running;
    for (int step = 0; step < 1000; ++step, ++operations) {
      if (below(random, 50) == 0) {
        const fabric::HostId host(below(random, model.size()));
        model[host.index()].unavailable = !model[host.index()].unavailable;
        placer.tree().set(host, model[host.index()]);
      } else if (!running.empty() && (below(random, 2) == 0 || running.size() > 30)) {
        const std::size_t at = below(random, running.size());
        PlacementTransaction transaction(placer.tree(), topology);
        ASSERT_TRUE(transaction.release(running[at]));
        transaction.commit();
        for (const auto gpu : running[at])
          model[topology.host(gpu).index()].used &= ~(std::uint64_t{1} << topology.local_index(gpu));
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        const auto result = placer.place(random_job(random));
        if (result.outcome == Outcome::placed) {
          ++placed;
          PlacementTransaction transaction(placer.tree(), topology);
          ASSERT_TRUE(transaction.take(result.placement.gpu_of_rank)) << "seed " << seed << " step " << step;
          transaction.commit();
          for (const auto gpu : result.placement.gpu_of_rank) {
            auto& used = model[topology.host(gpu).index()].used;
            ASSERT_EQ((used >> topology.local_index(gpu)) & 1U, 0U);
            used |= std::uint64_t{1} << topology.local_index(gpu);
          }
          running.push_back(result.placement.gpu_of_rank);
        }
      }
      ASSERT_EQ(conservation(placer.tree(), *fabric, model), "") << "seed " << seed << " step " << step;
    }
  }
  EXPECT_GT(placed, 20'000);
}

// Everything one can ask a tree.
void expect_same(PlacementTree& a, PlacementTree& b, Random& random, const std::string& where) {
  SCOPED_TRACE(where);
  const Hierarchy& hierarchy = a.hierarchy();
  ASSERT_EQ(a.total_free(), b.total_free());
  for (LeafIndex leaf = 0; leaf < hierarchy.leaf_count(); ++leaf) ASSERT_EQ(a.free_mask(leaf), b.free_mask(leaf));
  for (std::size_t host = 0; host < hierarchy.host_count(); ++host) {
    ASSERT_EQ(a.allocation(fabric::HostId(host)), b.allocation(fabric::HostId(host)));
  }
  const FitShape shape{
      .block = static_cast<std::uint32_t>(1 + below(random, 8)), .nvlink = true, .straddle_top = hierarchy.top()};
  const FitIndex& of_a = a.fit_index(shape);
  const FitIndex& of_b = b.fit_index(shape);
  for (unsigned level = 0; level < hierarchy.level_count(); ++level) {
    for (GroupIndex group = 0; group < hierarchy.group_count(level); ++group) {
      ASSERT_EQ(a.free(level, group), b.free(level, group));
      ASSERT_EQ(of_a.units(level, group), of_b.units(level, group));
    }
    for (std::uint64_t units = 1; units < 20; ++units)
      ASSERT_EQ(of_a.best_fit(level, units), of_b.best_fit(level, units));
  }
}

TEST(PlacementTree, SyncToAnySnapshotEqualsANewTree) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Random random(seed);
    // More hosts than one chunk of a snapshot holds.
    const auto fabric =
        testing_support::regular_fabric(700, 4, {{fabric::LevelKind::rack, 8}, {fabric::LevelKind::pod, 64}}).build();
    PlacementTree tree(fabric->hierarchy_ptr());
    std::vector<Allocations> snapshots{no_allocations(fabric->topology())};
    for (int step = 0; step < 40; ++step) {
      // A new snapshot from any old one: time need not run forward.
      Allocations next = snapshots[below(random, snapshots.size())];
      for (std::uint64_t changes = below(random, 30); changes > 0; --changes) {
        auto& host = next.write(below(random, next.size()));
        host.used = random() & 0xf;
        host.unavailable = below(random, 10) == 0;
      }
      snapshots.push_back(next);
      const Allocations& chosen = snapshots[below(random, snapshots.size())];
      // What was done to the tree beside snapshots is forgotten by the next sync.
      for (std::uint64_t changes = below(random, 4); changes > 0; --changes) {
        tree.set(fabric::HostId(below(random, 700)), {.used = random() & 0xf, .unavailable = false});
      }
      tree.sync(chosen);
      PlacementTree fresh(fabric->hierarchy_ptr());
      fresh.sync(chosen);
      expect_same(tree, fresh, random, "seed " + std::to_string(seed) + " step " + std::to_string(step));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(PlacementTransaction, RollbackRestoresTheTreeExactly) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    const auto fabric = testing_support::random_fabric(random, 50, 8).build();
    if (fabric->topology().gpus().empty()) continue;
    const auto& topology = fabric->topology();
    const Allocations before = testing_support::random_allocations(random, *fabric, 0.4);
    PlacementTree tree(fabric->hierarchy_ptr());
    tree.sync(before);
    PlacementTree untouched(fabric->hierarchy_ptr());
    untouched.sync(before);
    const auto change = [&](PlacementTransaction& transaction) {
      std::vector<fabric::GpuId> gpus;
      for (std::uint64_t n = below(random, 12); n > 0; --n) gpus.emplace_back(below(random, topology.gpus().size()));
      if (below(random, 4) == 0)
        transaction.set_available(fabric::HostId(below(random, topology.hosts().size())), below(random, 2) == 0);
      else if (below(random, 2) == 0)
        (void)transaction.take(gpus);
      else
        (void)transaction.release(gpus);
    };
    {
      PlacementTransaction transaction(tree, topology);
      for (int i = 0; i < 20; ++i) change(transaction);
      const auto checkpoint = transaction.checkpoint();
      std::vector<HostAllocation> then;
      for (const auto host : topology.hosts()) then.push_back(tree.allocation(host));
      for (int i = 0; i < 20; ++i) {
        change(transaction);
        if (below(random, 5) == 0) (void)tree.fit_index({.block = 2, .nvlink = true, .straddle_top = 1});
      }
      transaction.rollback(checkpoint);
      for (const auto host : topology.hosts()) ASSERT_EQ(tree.allocation(host), then[host.index()]);
    }
    expect_same(tree, untouched, random, "seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
  }
}

TEST(PlacementTransaction, TakesAllOrNothing) {
  const auto fabric = testing_support::regular_fabric(4, 4, {}).build();
  PlacementTree tree(fabric->hierarchy_ptr());
  PlacementTransaction transaction(tree, fabric->topology());
  using fabric::GpuId;
  const std::vector<GpuId> some{GpuId(0), GpuId(1), GpuId(5)};
  ASSERT_TRUE(transaction.take(some));
  EXPECT_EQ(tree.total_free(), 13U);
  EXPECT_FALSE(transaction.take(std::vector<GpuId>{GpuId(8), GpuId(5)})) << "5 is taken";
  EXPECT_FALSE(transaction.take(std::vector<GpuId>{GpuId(8), GpuId(9), GpuId(8)})) << "twice";
  EXPECT_FALSE(transaction.take(std::vector<GpuId>{GpuId(8), GpuId(16)})) << "no such GPU";
  EXPECT_FALSE(transaction.release(std::vector<GpuId>{GpuId(0), GpuId(2)})) << "2 is free";
  EXPECT_EQ(tree.total_free(), 13U);
  ASSERT_TRUE(transaction.release(some));
  EXPECT_EQ(tree.total_free(), 16U);
  transaction.commit();
  transaction.rollback();
  EXPECT_EQ(tree.total_free(), 16U);
}

TEST(Allocations, AreTakenAndReleasedAllOrNothing) {
  const auto fabric = testing_support::regular_fabric(3, 4, {}).build();
  const auto& topology = fabric->topology();
  using fabric::GpuId;
  Allocations allocations = no_allocations(topology);
  const Allocations empty = allocations;
  ASSERT_TRUE(take(allocations, topology, std::vector<GpuId>{GpuId(1), GpuId(4), GpuId(11)}));
  EXPECT_EQ(allocations[0].used, 0b0010U);
  EXPECT_EQ(allocations[1].used, 0b0001U);
  EXPECT_EQ(allocations[2].used, 0b1000U);
  EXPECT_FALSE(take(allocations, topology, std::vector<GpuId>{GpuId(0), GpuId(4)}));
  EXPECT_FALSE(take(allocations, topology, std::vector<GpuId>{GpuId(0), GpuId(0)}));
  EXPECT_FALSE(take(allocations, topology, std::vector<GpuId>{GpuId(0), GpuId(12)}));
  EXPECT_FALSE(take(allocations, topology, std::vector<GpuId>{GpuId()}));
  EXPECT_FALSE(release(allocations, topology, std::vector<GpuId>{GpuId(1), GpuId(2)}));
  EXPECT_EQ(allocations[0].used, 0b0010U);
  ASSERT_TRUE(release(allocations, topology, std::vector<GpuId>{GpuId(1), GpuId(4), GpuId(11)}));
  for (std::size_t host = 0; host < 3; ++host) EXPECT_EQ(allocations[host], empty[host]);
}

TEST(Placer, AnswersFromTheStateAloneWhateverCameBefore) {
  for (std::uint64_t seed = 1; seed <= part_of_seeds(40); ++seed) {
    Random random(seed);
    const auto fabric = testing_support::random_fabric(random, 60, 8).build();
    Placer busy(fabric);
    Allocations allocations = no_allocations(fabric->topology());
    for (int step = 0; step < 60; ++step) {
      if (below(random, 3) == 0) allocations = testing_support::random_allocations(random, *fabric, 0.5);
      const JobSpec spec = random_job(random);
      busy.sync(allocations);
      const auto result = busy.place(spec);
      Placer fresh(fabric);
      fresh.sync(allocations);
      const auto again = fresh.place(spec);
      ASSERT_EQ(result.outcome, again.outcome);
      ASSERT_EQ(result.placement.gpu_of_rank, again.placement.gpu_of_rank) << "seed " << seed << " step " << step;
      ASSERT_EQ(result.explanation.message, again.explanation.message);
      if (result.outcome != Outcome::placed) continue;
      ASSERT_TRUE(take(allocations, fabric->topology(), result.placement.gpu_of_rank));
    }
  }
}

}  // namespace
}  // namespace railweave::scheduler::placement_tree_test
