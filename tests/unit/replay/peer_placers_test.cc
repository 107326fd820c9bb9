// Slurm's block placement against every aligned run of blocks; random placement differs from job to job and not from run to run.
#include "services/railweave/lab/replay/peer_placers.h"

#include <bit>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "fabric/generate/generate.h"

namespace railweave::cli {
namespace {

// Blocks of four hosts with 8 GPUs.
scheduler::PlacementFabricPtr fabric_of(unsigned hosts) {
  auto topology = fabric::generate("fat-tree", {{"hosts", std::to_string(hosts)},
                                                {"hosts-per-leaf", "4"},
                                                {"nics-per-host", "1"},
                                                {"hosts-per-rack", "2"},
                                                {"radix", "16"}});
  EXPECT_TRUE(topology) << topology.error().text();
  return std::make_shared<const scheduler::PlacementFabric>(
      std::make_shared<const fabric::Topology>(std::move(*topology)));
}

// Where block placement of groups of `tensor` GPUs has to go: the free room of the smallest aligned run of 1, 2, 4, ... blocks that holds
// the job when empty and has room for it, the least of several; 0: it has to wait.
std::uint64_t room_of_best(const std::vector<std::uint64_t>& free_of_block, std::uint64_t groups) {
  constexpr std::uint64_t kGroupsOfBlock = 8;  // of 4 GPUs
  for (std::size_t joined = 1; joined < 2 * free_of_block.size(); joined *= 2) {
    std::uint64_t best = 0, largest = 0;
    for (std::size_t first = 0; first < free_of_block.size(); first += joined) {
      std::uint64_t room = 0, blocks = 0;
      for (std::size_t i = first; i < std::min(first + joined, free_of_block.size()); ++i, ++blocks)
        room += free_of_block[i];
      largest = std::max(largest, blocks * kGroupsOfBlock);
      if (room >= groups && (best == 0 || room < best)) best = room;
    }
    if (best > 0 || largest >= groups || joined >= free_of_block.size()) return best;
  }
  return 0;
}

TEST(PeerPlacers, BlocksAreChosenAsEveryAlignedRunOfThemSays) {
  constexpr std::uint32_t kTensor = 4;
  std::size_t placed = 0, waiting = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    const auto fabric = fabric_of(12 + 4 * (seed % 4));
    const auto& hierarchy = fabric->hierarchy();
    const auto& topology = fabric->topology();
    const unsigned level = hierarchy.level_of(fabric::LevelKind::leaf_group);
    ASSERT_NE(level, scheduler::Hierarchy::kNoLevel);
    PeerPlacer placer(*fabric, PeerPolicy::block);
    std::vector<std::vector<fabric::GpuId>> running;
    std::set<fabric::GpuId> used;
    for (int step = 0; step < 40; ++step) {
      if (!running.empty() && random() % 3 == 0) {
        std::swap(running[random() % running.size()], running.back());
        placer.release(running.back());
        for (const auto gpu : running.back()) used.erase(gpu);
        running.pop_back();
        continue;
      }
      std::vector<std::uint64_t> free_of_block(hierarchy.group_count(level), 0);
      std::map<fabric::GpuId, std::size_t> block_of;
      for (scheduler::LeafIndex leaf = 0; leaf < hierarchy.leaf_count(); ++leaf) {
        const std::size_t block = hierarchy.group_of_leaf(level, leaf);
        std::uint64_t free = 0;
        for (const auto gpu : topology.gpus(hierarchy.host(leaf))) {
          block_of[gpu] = block;
          free += used.contains(gpu) ? 0 : 1;
        }
        free_of_block[block] += free / kTensor;
      }
      const std::uint32_t groups = 1 + static_cast<std::uint32_t>(random() % 14);
      const std::uint64_t expected = room_of_best(free_of_block, groups);
      const auto gpus = placer.place(kTensor, groups);
      ASSERT_EQ(gpus.empty(), expected == 0) << "seed " << seed << " step " << step << " groups " << groups;
      (gpus.empty() ? waiting : placed) += 1;
      if (gpus.empty()) continue;
      ASSERT_EQ(gpus.size(), std::size_t{kTensor} * groups);
      // All blocks that it is on are in a run with as much room.
      std::set<std::size_t> blocks;
      for (const auto gpu : gpus) {
        ASSERT_TRUE(used.insert(gpu).second);
        blocks.insert(block_of.at(gpu));
      }
      bool is_in_one = false;
      for (std::size_t joined = 1; joined < 2 * free_of_block.size() && !is_in_one; joined *= 2) {
        std::uint64_t room = 0;
        const std::size_t first = *blocks.begin() / joined * joined;
        for (std::size_t i = first; i < std::min(first + joined, free_of_block.size()); ++i) room += free_of_block[i];
        is_in_one = *blocks.rbegin() / joined * joined == first && room == expected;
      }
      EXPECT_TRUE(is_in_one) << "seed " << seed << " step " << step;
      placer.take(gpus);
      running.push_back(gpus);
    }
  }
  EXPECT_GT(placed, 500U);
  EXPECT_GT(waiting, 100U);
}

TEST(PeerPlacers, RandomOnesDifferFromJobToJobAndNotFromRunToRun) {
  const auto fabric = fabric_of(16);
  PeerPlacer placer(*fabric, PeerPolicy::random), again(*fabric, PeerPolicy::random);
  std::set<std::vector<fabric::GpuId>> places;
  for (int i = 0; i < 8; ++i) {
    const auto gpus = placer.place(8, 2);
    ASSERT_EQ(gpus.size(), 16U);
    EXPECT_EQ(gpus, again.place(8, 2));
    places.insert(gpus);
    placer.take(gpus);
    again.take(gpus);
    placer.release(gpus);
    again.release(gpus);
  }
  EXPECT_GT(places.size(), 4U);
}

}  // namespace
}  // namespace railweave::cli
