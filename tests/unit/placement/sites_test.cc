// Jobs on several sites: where they fit against counting by hand, what never crosses, what is said of it.
#include <bit>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/generate/generate.h"
#include "planned_fabric.h"
#include "scheduler/placement/placer.h"
#include "tests/support/seeds.h"

namespace railweave::scheduler::sites_test {
namespace {

using fabric::GpuId;
using fabric::HostId;
using fabric::LevelKind;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using testing_support::below;
using testing_support::Random;

constexpr std::uint32_t kGpus = 4;  // of a host, which is an NVLink domain

PlacementFabricPtr fabric_of(const fabric::GenerateParameters& more) {
  fabric::GenerateParameters parameters{
      {"gpus-per-host", "4"}, {"nics-per-host", "4"}, {"nvlink-domain", "4"}, {"hosts-per-leaf", "2"}, {"radix", "32"}};
  for (const auto& [name, value] : more) parameters.insert_or_assign(name, value);
  return std::make_shared<const PlacementFabric>(
      std::make_shared<const fabric::Topology>(fabric::generate("fat-tree", parameters).value()));
}

JobSpec job(Parallelism parallelism, bool across_sites = false) {
  JobSpec spec;
  spec.parallelism = parallelism;
  spec.across_sites = across_sites;
  return spec;
}

std::size_t site_of(const PlacementFabric& fabric, GpuId gpu) {
  return fabric.topology().site(fabric.topology().host(gpu)).index();
}

std::set<std::size_t> sites_of(const PlacementFabric& fabric, std::span<const GpuId> gpus) {
  std::set<std::size_t> sites;
  for (const auto gpu : gpus) sites.insert(site_of(fabric, gpu));
  return sites;
}

TEST(Sites, AJobFitsWhereCountingSaysAndNeverCutsWhatStaysWhole) {
  std::uint64_t placed = 0, across = 0, refused_for_site = 0;
  for (std::uint64_t seed = 1; seed <= part_of_seeds(250); ++seed) {
    Random random(seed);
    const auto sites = static_cast<std::uint32_t>(2 + below(random, 2));
    const auto fabric = fabric_of({{"hosts", std::to_string(2 + below(random, 5))}, {"sites", std::to_string(sites)}});
    const Allocations allocations = testing_support::random_allocations(random, *fabric, 0.2 + 0.1 * below(random, 5));
    Placer placer(fabric);
    placer.sync(allocations);
    for (int i = 0; i < 12; ++i) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", job " + std::to_string(i));
      const Parallelism p{.tensor = 1U << below(random, 3),
                          .context = below(random, 4) == 0 ? 2U : 1U,
                          .expert = below(random, 3) == 0 ? 2U : 1U,
                          .data = static_cast<std::uint32_t>(1 + below(random, 6)),
                          .pipeline = static_cast<std::uint32_t>(1 + below(random, 4))};
      // Tensor groups in one host, context and expert groups in one site, nothing else asked.
      std::map<std::size_t, std::uint64_t> pieces;
      for (const HostId host : fabric->topology().hosts()) {
        const HostAllocation& allocation = allocations[host.index()];
        if (allocation.unavailable) continue;
        const auto free = kGpus - static_cast<std::uint32_t>(std::popcount(allocation.used & 0xFU));
        pieces[fabric->topology().site(host).index()] += free / p.tensor;
      }
      std::uint64_t together = 0, in_one = 0;
      for (const auto& [site, blocks] : pieces) {
        together += blocks / (p.context * p.expert);
        in_one = std::max(in_one, blocks / (p.context * p.expert));
      }
      const std::uint64_t needed = std::uint64_t{p.data} * p.pipeline;
      for (const bool may : {false, true}) {
        const JobSpec spec = job(p, may);
        const auto result = placer.place(spec);
        ASSERT_EQ(result.outcome == Outcome::placed, (may ? together : in_one) >= needed);
        ASSERT_EQ(placer.fits(spec), result.outcome == Outcome::placed);
        if (result.outcome != Outcome::placed) {
          const bool would = !may && together >= needed;
          refused_for_site += would ? 1 : 0;
          bool said = false;
          for (const auto& one : result.explanation.counterfactuals) {
            said = said || (one.change.starts_with("across sites") && one.outcome == Outcome::placed);
          }
          ASSERT_EQ(said, would);
          continue;
        }
        ++placed;
        const auto& gpus = result.placement.gpu_of_rank;
        ASSERT_EQ(std::set<GpuId>(gpus.begin(), gpus.end()).size(), rank_count(p));
        for (std::uint64_t r = 0; r < gpus.size(); ++r) {
          const HostId host = fabric->topology().host(gpus[r]);
          ASSERT_FALSE(allocations[host.index()].unavailable);
          ASSERT_EQ(allocations[host.index()].used >> fabric->topology().local_index(gpus[r]) & 1U, 0U);
          RankCoordinates at = coordinates_of(p, r);
          at.tp = 0;
          ASSERT_EQ(fabric->topology().host(gpus[rank_of(p, at)]), host);
          at.cp = at.ep = 0;
          ASSERT_EQ(site_of(*fabric, gpus[rank_of(p, at)]), site_of(*fabric, gpus[r]));
        }
        // One site as long as one has room: sites are the last resort.
        ASSERT_EQ(sites_of(*fabric, gpus).size() > 1, in_one < needed);
        ASSERT_EQ(result.placement.level == LevelKind::wan, in_one < needed);
        across += in_one < needed ? 1 : 0;
        ASSERT_TRUE(result.placement.predicted->reachable);
      }
    }
  }
  EXPECT_GT(placed, part_of_seeds(2000, 5));
  EXPECT_GT(across, part_of_seeds(100));
  EXPECT_GT(refused_for_site, part_of_seeds(100));
}

TEST(Sites, FreeGpusAreConservedAtEveryLevel) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    const auto fabric = fabric_of({{"hosts", std::to_string(1 + below(random, 9))}, {"sites", "3"}});
    const Hierarchy& hierarchy = fabric->hierarchy();
    ASSERT_TRUE(hierarchy.joins_sites());
    ASSERT_EQ(hierarchy.kind(hierarchy.top()), LevelKind::wan);
    ASSERT_EQ(hierarchy.top(false), hierarchy.level_of(LevelKind::site));
    Placer placer(fabric);
    const Allocations allocations = testing_support::random_allocations(random, *fabric, 0.4);
    placer.sync(allocations);
    std::uint64_t free = 0;
    for (const HostId host : fabric->topology().hosts()) {
      if (allocations[host.index()].unavailable) continue;
      free += kGpus - static_cast<std::uint64_t>(std::popcount(allocations[host.index()].used & 0xFU));
    }
    for (unsigned level = 0; level < hierarchy.level_count(); ++level) {
      std::uint64_t sum = 0, capacity = 0;
      for (GroupIndex group = 0; group < hierarchy.group_count(level); ++group) {
        sum += placer.tree().free(level, group);
        capacity += hierarchy.capacity(level, group);
      }
      EXPECT_EQ(sum, free) << level;
      EXPECT_EQ(capacity, hierarchy.total_capacity()) << level;
    }
  }
}

TEST(Sites, ARefusalSaysWhichSitesWouldDo) {
  const auto fabric = fabric_of({{"hosts", "4"}, {"sites", "2"}});
  Placer placer(fabric);
  const auto result = placer.place(job({.tensor = 4, .data = 6}));
  ASSERT_EQ(result.outcome, Outcome::never);
  EXPECT_THAT(result.explanation.message, HasSubstr("must share one site"));
  EXPECT_THAT(result.explanation.counterfactuals,
              Contains(Field(&Counterfactual::change, "across sites site-1 and site-2 (acrossSites)")));
  EXPECT_EQ(placer.place(job({.tensor = 4, .data = 6}, true)).outcome, Outcome::placed);
  const auto beyond = placer.place(job({.tensor = 4, .data = 9}, true));
  EXPECT_EQ(beyond.outcome, Outcome::never);
  EXPECT_EQ(beyond.explanation.level, LevelKind::wan);
  // Levels by either name; nearer than asked for is refused as anywhere.
  JobSpec near = job({.tensor = 4, .data = 6}, true);
  near.job.required = LevelKind::site;
  EXPECT_EQ(placer.place(near).outcome, Outcome::never);
  near.job = {.preferred = LevelKind::site};
  EXPECT_EQ(placer.place(near).outcome, Outcome::placed);
}

TEST(Sites, WithoutLinksBetweenThemPermissionChangesNothing) {
  const auto fabric = fabric_of({{"hosts", "4"}});
  Placer placer(fabric);
  const JobSpec plain = job({.tensor = 4, .data = 3}), may = job({.tensor = 4, .data = 3}, true);
  const auto one = placer.place(plain), other = placer.place(may);
  EXPECT_EQ(one.placement.gpu_of_rank, other.placement.gpu_of_rank);
  EXPECT_TRUE(one.warnings.empty());
  ASSERT_EQ(other.warnings.size(), 1U);
  EXPECT_THAT(other.warnings[0], HasSubstr("acrossSites changes nothing"));
}

TEST(Sites, JobsSpreadOverThemWhereTheyMay) {
  const auto fabric = fabric_of({{"hosts", "4"}, {"sites", "2"}});
  Placer placer(fabric);
  JobSpec replicas = job({.tensor = 4, .data = 4}, true);
  replicas.spread = {LevelKind::site, 8};
  auto result = placer.place(replicas);
  ASSERT_EQ(result.outcome, Outcome::placed) << result.explanation.message;
  std::map<std::size_t, int> gpus;
  for (const auto gpu : result.placement.gpu_of_rank) ++gpus[site_of(*fabric, gpu)];
  EXPECT_EQ(gpus[0], 8);
  EXPECT_EQ(gpus[1], 8);
  replicas.across_sites = false;
  result = placer.place(replicas);
  EXPECT_EQ(result.outcome, Outcome::never);
  EXPECT_THAT(result.explanation.message, HasSubstr("acrossSites"));
  JobSpec stages = job({.tensor = 4, .data = 2, .pipeline = 2}, true);
  stages.spread_stages = LevelKind::site;
  result = placer.place(stages);
  ASSERT_EQ(result.outcome, Outcome::placed);
  EXPECT_EQ(sites_of(*fabric, std::span(result.placement.gpu_of_rank).first(8)).size(), 1U);
  EXPECT_EQ(sites_of(*fabric, result.placement.gpu_of_rank).size(), 2U);
  stages.across_sites = false;
  EXPECT_EQ(placer.place(stages).outcome, Outcome::never);
}

// What crosses is chosen by what it costs: activations between two stages are less than gradients.
TEST(Sites, StagesRatherThanGradientsCross) {
  const auto fabric = fabric_of({{"hosts", "4"}, {"sites", "2"}, {"wan-links", "1"}, {"wan-rate", "10"}});
  Placer placer(fabric);
  JobSpec spec = job({.tensor = 4, .data = 4, .pipeline = 2}, true);
  spec.model =
      ModelSpec{.parameters = 7e9, .layers = 32, .hidden_size = 4096, .sequence_length = 4096, .global_batch = 64};
  const auto result = placer.place_with_alternatives(spec);
  ASSERT_EQ(result.outcome, Outcome::placed);
  const auto& gpus = result.placement.gpu_of_rank;
  EXPECT_EQ(sites_of(*fabric, std::span(gpus).first(16)).size(), 1U);
  EXPECT_EQ(sites_of(*fabric, std::span(gpus).last(16)).size(), 1U);
  EXPECT_EQ(result.placement.stage_level, LevelKind::cluster);
  EXPECT_EQ(result.placement.level, LevelKind::wan);
  EXPECT_EQ(result.placement.groups_at_level, 2U);
}

TEST(Sites, AlternativesSayWhatOneSiteWouldGive) {
  const auto fabric = fabric_of({{"hosts", "4"}, {"sites", "2"}, {"wan-links", "1"}, {"wan-rate", "100"}});
  Placer placer(fabric);
  Allocations allocations = no_allocations(fabric->topology());
  for (const std::size_t host : {0, 4}) allocations.write(host).used = 0xF;  // one of each site
  placer.sync(allocations);
  JobSpec spec = job({.tensor = 4, .data = 4}, true);
  spec.model =
      ModelSpec{.parameters = 7e9, .layers = 32, .hidden_size = 4096, .sequence_length = 4096, .global_batch = 64};
  const auto step_us = [&](std::uint32_t every, double compression) {
    spec.model->synchronise_every = every;
    spec.model->gradient_compression = compression;
    const auto result = placer.place_with_alternatives(spec);
    EXPECT_EQ(result.placement.level, LevelKind::wan);
    const auto one = std::ranges::find_if(result.alternatives,
                                          [](const Alternative& a) { return a.change.starts_with("in one site"); });
    EXPECT_NE(one, result.alternatives.end());
    EXPECT_LT(one->step_us.value_or(0), result.placement.predicted->step_us.value_or(0));
    return std::pair(result.placement.predicted->step_us.value_or(0), one->step_us.value_or(0));
  };
  const auto always = step_us(1, 1), rare = step_us(64, 1), both = step_us(64, 4);
  EXPECT_GT(always.first, 2 * always.second);  // exchanging every step over 100 Gb/s
  EXPECT_LT(rare.first, 1.05 * rare.second);   // every 64th step: as if it were one site
  EXPECT_LE(both.first, rare.first);
}

}  // namespace
}  // namespace railweave::scheduler::sites_test
