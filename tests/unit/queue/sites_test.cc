// A job that may not span sites is never moved to another one: not by repairs, not by defragmentation.
#include <set>

#include <gtest/gtest.h>

#include "fabric/generate/generate.h"
#include "scheduler/placement/fit/placement_transaction.h"
#include "scheduler/queue/repair/defragment.h"
#include "scheduler/queue/repair/repair.h"
#include "tests/unit/placement/planned_fabric.h"

namespace railweave::scheduler::sites_test {
namespace {

using fabric::GpuId;
using testing_support::Random;

PlacementFabricPtr two_sites(const std::string& hosts) {
  return std::make_shared<const PlacementFabric>(std::make_shared<const fabric::Topology>(
      fabric::generate("rail-optimized",
                       {{"hosts", hosts}, {"gpus-per-host", "4"}, {"nvlink-domain", "4"}, {"sites", "2"}})
          .value()));
}

void hold(Placer& placer, std::span<const GpuId> gpus) {
  PlacementTransaction tree(placer.tree(), placer.fabric().topology());
  ASSERT_TRUE(tree.take(gpus));
  tree.commit();
}

std::size_t site_of(const Placer& placer, GpuId gpu) {
  const auto& topology = placer.fabric().topology();
  return topology.site(topology.host(gpu)).index();
}

std::set<std::size_t> sites_of(const Placer& placer, std::span<const GpuId> gpus) {
  std::set<std::size_t> sites;
  for (const GpuId gpu : gpus) sites.insert(site_of(placer, gpu));
  return sites;
}

TEST(SitesRepair, StaysUnlessTheJobMaySpanThem) {
  for (const bool may : {false, true}) {
    for (const std::uint32_t expert : {1U, 2U}) {
      SCOPED_TRACE(std::to_string(may) + std::to_string(expert));
      Placer placer(two_sites("4"));  // 16 GPUs each
      JobSpec spec;
      spec.parallelism = {.tensor = 4, .expert = expert, .data = 4 / expert};
      spec.across_sites = may;
      const auto placed = placer.try_place(spec);
      ASSERT_TRUE(placed);
      ASSERT_EQ(sites_of(placer, placed->gpu_of_rank).size(), 1U);  // all of it
      hold(placer, placed->gpu_of_rank);
      const auto lost =
          lost_gpus(placer.fabric(), {.hosts = {placer.fabric().topology().host(placed->gpu_of_rank[0])}});
      const auto plan = plan_repair(placer, {&spec, placed->gpu_of_rank, 4}, lost);
      // The other site is empty: room for a block, and for the whole job.
      ASSERT_EQ(plan.has_value(), may);
      if (!may) {
        EXPECT_EQ(plan.error().code, "repair.noSpare");
        continue;
      }
      // Expert groups of two hosts are not cut: both hosts move.
      EXPECT_FALSE(plan->moved_whole);
      EXPECT_EQ(plan->moves.size(), 4U * expert);
      EXPECT_EQ(plan->nearest, fabric::LevelKind::wan);
      for (std::size_t r = 0; r < 16; r += 4 * expert) {
        EXPECT_EQ(sites_of(placer, std::span(plan->gpu_of_rank).subspan(r, 4 * expert)).size(), 1U);
      }
    }
  }
}

TEST(SitesRepair, AJobThatMovesWholeStaysInItsSite) {
  Placer placer(two_sites("4"));
  JobSpec spec;
  spec.parallelism = {.tensor = 4, .data = 2};
  spec.stage.required = fabric::LevelKind::cluster;
  const std::vector<GpuId> gpus = {GpuId(0), GpuId(1), GpuId(2), GpuId(3), GpuId(4), GpuId(5), GpuId(6), GpuId(7)};
  hold(placer, gpus);
  const auto plan = plan_repair(placer, {&spec, gpus, 4}, std::span(gpus).first(1));
  ASSERT_TRUE(plan);
  EXPECT_EQ(sites_of(placer, plan->gpu_of_rank), sites_of(placer, gpus));
  EXPECT_EQ(placer.tree().total_free(), 24U);  // as it was
}

TEST(SitesDefragment, MovesNoJobToAnotherSite) {
  std::uint64_t moved = 0, moved_across = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    Random random(seed);
    Placer placer(two_sites("4"));
    const auto& topology = placer.fabric().topology();
    std::vector<JobSpec> specs(8 * 4);
    std::vector<std::vector<GpuId>> gpus(specs.size());
    std::vector<RunningJob> running;
    for (std::size_t host = 0; host < 8; ++host) {
      for (std::size_t i = 0; i < 4;) {
        const std::size_t size = std::min<std::size_t>(4 - i, 1 + random() % 2), job = running.size();
        if (random() % 2 == 0) {
          specs[job].parallelism = {.tensor = static_cast<std::uint32_t>(size)};
          specs[job].across_sites = random() % 2 == 0;
          for (std::size_t g = 0; g < size; ++g) gpus[job].push_back(topology.gpus(fabric::HostId(host))[i + g]);
          hold(placer, gpus[job]);
          running.push_back({job, &specs[job], 0, 0, gpus[job]});
        }
        i += size;
      }
    }
    for (const auto& step : plan_defragmentation(placer, running)) {
      for (const auto& move : step.moves) {
        ++moved;
        const bool same = sites_of(placer, move.gpu_of_rank) == sites_of(placer, gpus[move.job]);
        moved_across += same ? 0 : 1;
        if (!specs[move.job].across_sites) {
          ASSERT_TRUE(same) << seed;
        }
      }
    }
  }
  EXPECT_GT(moved, 100U);
  EXPECT_GT(moved_across, 0U);
}

}  // namespace
}  // namespace railweave::scheduler::sites_test
