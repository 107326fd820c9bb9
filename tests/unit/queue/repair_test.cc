// Repairs against the fewest moves there can be, defragmentation against what it says it frees, stranded GPUs against
// counting by hand.
#include "scheduler/queue/repair/repair.h"

#include <array>
#include <map>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/placement/fit/placement_transaction.h"
#include "scheduler/queue/repair/defragment.h"
#include "scheduler/queue/repair/stranded.h"
#include "tests/unit/placement/planned_fabric.h"
#include "tests/unit/queue/simulated_cluster.h"

namespace railweave::scheduler::repair_test {
namespace {

using namespace testing_support;
using fabric::GpuId;

void hold(Placer& placer, std::span<const GpuId> gpus) {
  PlacementTransaction tree(placer.tree(), placer.fabric().topology());
  ASSERT_TRUE(tree.take(gpus));
  tree.commit();
}

// The fewest moves: in every domain the blocks that can be repaired with the spares there and with what blocks that move
// leave behind, each other one moved whole; also undamaged ones, where what they leave behind saves more.
std::uint64_t fewest_moves(const fabric::Topology& topology, const std::vector<GpuId>& gpu_of_rank, std::size_t tensor,
                           const std::set<GpuId>& lost, const std::map<std::size_t, std::size_t>& spares) {
  std::map<std::size_t, std::vector<std::size_t>> lost_by_block;  // by host, which here is the domain
  for (std::size_t block = 0; block < gpu_of_rank.size() / tensor; ++block) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < tensor; ++i) count += lost.count(gpu_of_rank[block * tensor + i]);
    lost_by_block[topology.host(gpu_of_rank[block * tensor]).index()].push_back(count);
  }
  std::uint64_t moves = 0;
  for (const auto& [host, blocks] : lost_by_block) {
    std::uint64_t least = UINT64_MAX;
    for (std::uint32_t repaired = 0; repaired < 1U << blocks.size(); ++repaired) {
      std::size_t used = 0;
      std::uint64_t cost = 0;
      const auto at = spares.find(host);
      std::size_t free = at == spares.end() ? 0 : at->second;
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        const bool in_place = (repaired >> i & 1U) != 0;
        used += in_place ? blocks[i] : 0;
        free += in_place ? 0 : tensor - blocks[i];
        cost += in_place ? blocks[i] : tensor;
      }
      if (used <= free) least = std::min(least, cost);
    }
    moves += least;
  }
  return moves;
}

TEST(Repair, MovesTheFewestRanks) {
  std::uint64_t repaired = 0;
  std::uint64_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    Random random(seed);
    const auto fabric = small_fabric(9, 4, 3);
    const auto& topology = fabric->topology();
    Placer placer(fabric);
    for (const GpuId gpu : topology.gpus()) {
      if (random() % 4 == 0) hold(placer, std::span(&gpu, 1));
    }
    const std::uint32_t tensor = 1U << random() % 3;
    const auto job = simulated_job(1, tensor, 1 + static_cast<std::uint32_t>(random() % (12 / tensor)), 0, 10);
    const auto placement = placer.try_place(job.spec);
    if (!placement) continue;
    hold(placer, placement->gpu_of_rank);
    std::set<GpuId> lost;
    for (const GpuId gpu : placement->gpu_of_rank) {
      if (random() % 3 == 0) lost.insert(gpu);
    }
    if (lost.empty()) continue;
    std::map<std::size_t, std::size_t> spares;
    for (const GpuId gpu : topology.gpus()) {
      const auto host = topology.host(gpu);
      if ((placer.tree().allocation(host).used >> topology.local_index(gpu) & 1U) == 0) ++spares[host.index()];
    }
    const std::uint64_t free = placer.tree().total_free();
    const std::vector<GpuId> lost_list(lost.begin(), lost.end());
    const auto plan = plan_repair(placer, {&job.spec, placement->gpu_of_rank, placement->block_gpus}, lost_list);
    ASSERT_EQ(placer.tree().total_free(), free);
    if (!plan) {
      EXPECT_EQ(plan.error().code, "repair.noSpare");
      ++refused;
      continue;
    }
    ++repaired;
    const std::set<GpuId> used(plan->gpu_of_rank.begin(), plan->gpu_of_rank.end());
    ASSERT_EQ(used.size(), plan->gpu_of_rank.size()) << "seed " << seed;
    for (const auto& move : plan->moves) ASSERT_EQ(plan->gpu_of_rank[move.rank], move.to);
    for (std::size_t rank = 0; rank < plan->gpu_of_rank.size(); ++rank) {
      const GpuId gpu = plan->gpu_of_rank[rank];
      ASSERT_FALSE(lost.contains(gpu)) << "seed " << seed;
      const GpuId first = plan->gpu_of_rank[rank / tensor * tensor];
      ASSERT_EQ(topology.nvlink_domain(gpu), topology.nvlink_domain(first)) << "seed " << seed << ": a block is torn";
    }
    if (plan->moved_whole) continue;
    ASSERT_EQ(plan->moves.size(), fewest_moves(topology, placement->gpu_of_rank, tensor, lost, spares))
        << "seed " << seed;
  }
  EXPECT_GT(repaired, 300U);
  EXPECT_GT(refused, 5U);
}

// Domains of two nodes of four GPUs, racks of two domains.
TEST(Repair, UsesTheJobsOwnSparesFirstAndLeavesItAloneInItsGroups) {
  std::uint64_t repaired = 0, from_spares = 0, alone = 0, moved_away = 0;
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    PlannedFabric plan = regular_fabric(
        12, 4, {{fabric::LevelKind::nvlink_domain, 2}, {fabric::LevelKind::rack, 4}, {fabric::LevelKind::cluster, 12}});
    for (std::size_t h = 0; h < plan.hosts.size(); ++h) plan.hosts[h].domain_of_gpu.assign(4, static_cast<int>(h / 2));
    const auto fabric = plan.build();
    const auto& topology = fabric->topology();
    Placer placer(fabric);
    std::set<GpuId> others;
    for (const GpuId gpu : topology.gpus()) {
      const bool quiet = topology.host(gpu).index() < 8;  // so that there is room for groups of one's own
      if (random() % (quiet ? 12 : 3) != 0) continue;
      hold(placer, std::span(&gpu, 1));
      others.insert(gpu);
    }
    const std::uint32_t tensor = 1U << random() % 3;
    auto job = simulated_job(1, tensor, 1 + static_cast<std::uint32_t>(random() % (8 / tensor)), 0, 10);
    job.spec.spares_per_domain = static_cast<std::uint32_t>(random() % 3);
    if (random() % 2 == 0)
      job.spec.exclusive = random() % 2 == 0 ? fabric::LevelKind::node : fabric::LevelKind::nvlink_domain;
    const auto placement = placer.try_place(job.spec);
    if (!placement) continue;
    hold(placer, placement->held_gpus());
    std::set<GpuId> lost;
    for (const GpuId gpu : placement->held_gpus()) {
      if (random() % 5 == 0) lost.insert(gpu);
    }
    const std::vector<GpuId> lost_list(lost.begin(), lost.end());
    const std::uint64_t free = placer.tree().total_free();
    const auto repair = plan_repair(
        placer, {&job.spec, placement->gpu_of_rank, placement->block_gpus, placement->idle_gpus}, lost_list);
    ASSERT_EQ(placer.tree().total_free(), free);
    if (!repair) continue;
    ++repaired;
    const std::set<GpuId> own(placement->idle_gpus.begin(), placement->idle_gpus.end());
    const std::set<GpuId> ranks(repair->gpu_of_rank.begin(), repair->gpu_of_rank.end());
    const std::set<GpuId> idle(repair->idle_gpus.begin(), repair->idle_gpus.end());
    ASSERT_EQ(ranks.size(), placement->gpu_of_rank.size());
    ASSERT_EQ(idle.size(), repair->idle_gpus.size());
    for (const GpuId gpu : ranks) ASSERT_FALSE(lost.contains(gpu) || idle.contains(gpu) || others.contains(gpu));
    for (const GpuId gpu : idle) ASSERT_FALSE(others.contains(gpu)) << "a repair takes no GPU of another job";
    for (std::size_t rank = 0; rank < placement->gpu_of_rank.size(); ++rank) {
      ASSERT_EQ(topology.nvlink_domain(repair->gpu_of_rank[rank]),
                topology.nvlink_domain(repair->gpu_of_rank[rank / tensor * tensor]));
      const bool stayed = repair->gpu_of_rank[rank] == placement->gpu_of_rank[rank];
      ASSERT_TRUE(repair->moved_whole || tensor > 1 || stayed == !lost.contains(placement->gpu_of_rank[rank]));
    }
    // Of every domain the spares that were not needed are left, or others are found for them.
    std::map<std::size_t, std::array<std::size_t, 4>> count;  // by domain: lost ranks, own spares, idle, free
    for (const GpuId gpu : placement->gpu_of_rank) {
      if (lost.contains(gpu)) ++count[topology.nvlink_domain(gpu).index()][0];
    }
    for (const GpuId gpu : own) {
      if (!lost.contains(gpu)) ++count[topology.nvlink_domain(gpu).index()][1];
    }
    for (const GpuId gpu : idle) {
      if (!lost.contains(gpu)) ++count[topology.nvlink_domain(gpu).index()][2];
    }
    for (const GpuId gpu : topology.gpus()) {
      const bool taken = others.contains(gpu) || lost.contains(gpu) || ranks.contains(gpu) || idle.contains(gpu);
      if (!taken) ++count[topology.nvlink_domain(gpu).index()][3];
    }
    if (!repair->moved_whole) {
      for (const auto& move : repair->moves) {
        const auto& [lost_ranks, spares, idle_now, free_now] = count[topology.nvlink_domain(move.from).index()];
        const bool stays = topology.nvlink_domain(move.from) == topology.nvlink_domain(move.to);
        moved_away += stays ? 0 : 1;
        if (tensor > 1 || lost_ranks > spares) continue;
        ASSERT_TRUE(own.contains(move.to)) << "there are own spares for all that was lost here";
        ++from_spares;
      }
      for (const GpuId gpu : ranks) {
        const auto& [lost_ranks, spares, idle_now, free_now] = count[topology.nvlink_domain(gpu).index()];
        if (!job.spec.exclusive) {
          ASSERT_TRUE(idle_now == job.spec.spares_per_domain ||
                      (idle_now < job.spec.spares_per_domain && free_now == 0));
        }
      }
    }
    if (!job.spec.exclusive) continue;
    ++alone;
    const bool by_node = *job.spec.exclusive == fabric::LevelKind::node;
    const auto part = [&](GpuId gpu) {
      return by_node ? topology.host(gpu).index() : topology.nvlink_domain(gpu).index();
    };
    std::set<std::size_t> parts;
    for (const GpuId gpu : ranks) parts.insert(part(gpu));
    for (const GpuId gpu : topology.gpus()) {
      if (parts.contains(part(gpu))) {
        ASSERT_TRUE(ranks.contains(gpu) || idle.contains(gpu));
      }
    }
  }
  EXPECT_GT(repaired, 800U);
  EXPECT_GT(from_spares, 50U);
  EXPECT_GT(alone, 300U);
  EXPECT_GT(moved_away, 50U);
}

TEST(Repair, KeepsWhatTheJobRequires) {
  const auto fabric = small_fabric(6, 4, 3);  // two racks
  Placer placer(fabric);
  auto job = simulated_job(1, 4, 2, 0, 10);
  job.spec.job.required = fabric::LevelKind::rack;
  const auto placement = placer.try_place(job.spec);
  ASSERT_TRUE(placement);
  hold(placer, placement->gpu_of_rank);
  const std::vector<GpuId> lost{placement->gpu_of_rank[5]};
  const auto near = plan_repair(placer, {&job.spec, placement->gpu_of_rank, 4}, lost);
  ASSERT_TRUE(near);
  EXPECT_EQ(near->moves.size(), 4U);
  EXPECT_EQ(near->nearest, fabric::LevelKind::rack);
  // The third node of the rack is taken: the whole job has to go to the other one.
  const auto& topology = fabric->topology();
  for (std::size_t host = 0; host < 3; ++host) {
    for (const GpuId gpu : topology.gpus(fabric::HostId(host))) {
      const bool free = (placer.tree().allocation(fabric::HostId(host)).used >> topology.local_index(gpu) & 1U) == 0;
      if (free) hold(placer, std::span(&gpu, 1));
    }
  }
  const auto far = plan_repair(placer, {&job.spec, placement->gpu_of_rank, 4}, lost);
  ASSERT_TRUE(far);
  EXPECT_TRUE(far->moved_whole);
  EXPECT_EQ(far->moves.size(), 8U);
}

TEST(Repair, CountsGpusWithoutAnyAdapterAsLost) {
  PlannedFabric plan = regular_fabric(2, 4, {{fabric::LevelKind::cluster, 2}});
  for (auto& host : plan.hosts) {
    host.rail_of_nic = {0, 1};
    host.nics_of_gpu = {{0}, {0}, {1}, {1}};
  }
  const auto fabric = plan.build();
  const auto& topology = fabric->topology();
  const auto hca = topology.hcas(fabric::HostId(0))[1];
  EXPECT_THAT(lost_gpus(*fabric, {.hcas = {hca}}),
              ::testing::ElementsAre(topology.gpus(fabric::HostId(0))[2], topology.gpus(fabric::HostId(0))[3]));
  const auto link = topology.link(topology.ports(hca).front());
  EXPECT_EQ(lost_gpus(*fabric, {.links = {link}}), lost_gpus(*fabric, {.hcas = {hca}}));
  EXPECT_EQ(lost_gpus(*fabric, {.hosts = {fabric::HostId(1)}}).size(), 4U);
}

TEST(Defragment, FreesTheDomainsThatItNames) {
  std::uint64_t freed = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const auto fabric = small_fabric(8, 4, 4);
    const auto& topology = fabric->topology();
    Placer placer(fabric);
    std::vector<SimulatedJob> jobs;
    std::vector<GpuId> all;
    for (const GpuId gpu : topology.gpus()) all.push_back(gpu);
    for (std::size_t host = 0; host < 8; ++host) {  // holes on every node
      for (std::size_t i = 0; i < 4;) {
        const std::size_t size = std::min<std::size_t>(4 - i, 1 + random() % 2);
        if (random() % 2 == 0) {
          auto job = simulated_job(jobs.size() + 1, static_cast<std::uint32_t>(size), 1, 0, 10);
          for (std::size_t g = 0; g < size; ++g) job.gpus.push_back(all[host * 4 + i + g]);
          jobs.push_back(job);
        }
        i += size;
      }
    }
    std::vector<RunningJob> running;
    std::set<GpuId> taken;
    for (const auto& job : jobs) {
      hold(placer, job.gpus);
      taken.insert(job.gpus.begin(), job.gpus.end());
      running.push_back({job.id, &job.spec, 0, 0, job.gpus});
    }
    const auto whole = [&] {
      std::set<std::size_t> free;
      for (std::size_t host = 0; host < 8; ++host) {
        bool empty = true;
        for (std::size_t i = 0; i < 4; ++i) empty = empty && !taken.contains(all[host * 4 + i]);
        if (empty) free.insert(host);
      }
      return free;
    };
    const std::uint64_t free_before = placer.tree().total_free();
    for (const auto& step : plan_defragmentation(placer, running)) {
      const auto before = whole();
      double cost = 0;
      for (const auto& move : step.moves) {
        for (const auto& rank : move.ranks) ASSERT_EQ(taken.erase(rank.from), 1U);
        for (const auto& rank : move.ranks) ASSERT_TRUE(taken.insert(rank.to).second) << "seed " << seed;
        cost += 300.0 * static_cast<double>(move.gpu_of_rank.size());
      }
      const auto after = whole();
      ASSERT_EQ(after.size(), before.size() + step.frees.size()) << "seed " << seed;
      ASSERT_TRUE(std::ranges::includes(after, before)) << "seed " << seed << ": broke a free domain";
      ASSERT_DOUBLE_EQ(step.cost_gpu_s, cost);
      freed += step.frees.size();
    }
    ASSERT_EQ(placer.tree().total_free(), free_before);
  }
  EXPECT_GT(freed, 300U);
}

TEST(Stranded, AreThoseThatNoWaitingJobCanUse) {
  const auto fabric = small_fabric(4, 4, 2);
  Placer placer(fabric);
  const auto& topology = fabric->topology();
  const auto take_some = [&](std::size_t host, std::size_t count) {
    std::vector<GpuId> gpus;
    for (std::size_t i = 0; i < count; ++i) gpus.push_back(topology.gpus(fabric::HostId(host))[i]);
    hold(placer, gpus);
    return gpus;
  };
  const auto one = take_some(0, 1);    // three free
  const auto three = take_some(1, 3);  // one free
  const auto pair = simulated_job(1, 2, 1, 0, 10);
  const auto whole = simulated_job(2, 4, 1, 0, 10);
  const auto many = simulated_job(3, 4, 3, 0, 10);
  const auto single = simulated_job(4, 1, 1, 0, 10);
  const std::vector<RunningJob> running{{10, &single.spec, 0, 0, one}, {11, &single.spec, 0, 0, three}};
  const auto stranded = [&](std::vector<const JobSpec*> jobs) {
    return find_stranded(*fabric, placer.tree(), jobs, running);
  };
  EXPECT_EQ(stranded({&single.spec}).stranded, 0U);
  EXPECT_EQ(stranded({&pair.spec}).stranded, 2U);
  const auto by_whole = stranded({&whole.spec});
  EXPECT_EQ(by_whole.free, 12U);
  EXPECT_EQ(by_whole.stranded, 4U);
  ASSERT_EQ(by_whole.beside.size(), 2U);
  EXPECT_EQ(by_whole.beside[0].job, 10U);
  EXPECT_EQ(by_whole.beside[0].gpus, 3U);
  EXPECT_EQ(by_whole.beside[1].gpus, 1U);
  EXPECT_EQ(stranded({&many.spec}).stranded, 12U);  // it fits nowhere
  EXPECT_EQ(stranded({&whole.spec, &pair.spec}).stranded, 2U);
  EXPECT_EQ(stranded({}).stranded, 12U);
}

}  // namespace
}  // namespace railweave::scheduler::repair_test
