// What a placement looks like: validity on middling fabrics, whole domains kept whole, rails, and rank maps.
#include "scheduler/placement/placer.h"

#include <bit>
#include <set>

#include <gtest/gtest.h>

#include "fabric/generate/generate.h"
#include "job_oracle.h"
#include "planned_fabric.h"
#include "scheduler/placement/rank_map.h"

namespace railweave::scheduler::placer_test {
namespace {

using fabric::GpuId;
using fabric::HostId;
using fabric::LevelKind;
using testing_support::below;
using testing_support::JobOracle;
using testing_support::PlannedFabric;
using testing_support::Random;
using testing_support::regular_fabric;

JobSpec job(Parallelism parallelism) {
  JobSpec spec;
  spec.parallelism = parallelism;
  return spec;
}

std::vector<std::string> nodes_of(const PlacementFabric& fabric, const Placement& placement) {
  std::set<HostId> hosts;
  for (const auto gpu : placement.gpu_of_rank) hosts.insert(fabric.topology().host(gpu));
  std::vector<std::string> names;
  for (const auto host : hosts) names.emplace_back(fabric.topology().name(host));
  return names;
}

TEST(Placement, KeepsEveryRuleOnIrregularFabrics) {
  int placed = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Random random(seed);
    const PlannedFabric plan = testing_support::random_fabric(random, 120, 8);
    const auto fabric = plan.build();
    const Allocations allocations = testing_support::random_allocations(random, *fabric, 0.3);
    Placer placer(fabric);
    placer.sync(allocations);
    for (int i = 0; i < 10; ++i) {
      JobSpec spec = job({.tensor = 1U << below(random, 4),
                          .context = below(random, 3) == 0 ? 2U : 1U,
                          .expert = below(random, 3) == 0 ? 2U : 1U,
                          .data = static_cast<std::uint32_t>(1 + below(random, 8)),
                          .pipeline = static_cast<std::uint32_t>(1 + below(random, 4))});
      const auto level = [&] {
        return below(random, 3) == 0 ? std::optional(plan.levels[below(random, plan.levels.size())]) : std::nullopt;
      };
      spec.stage.required = level();
      spec.expert.required = level();
      spec.job.required = level();
      spec.context.preferred = level();
      if (below(random, 3) == 0) spec.gpus_per_node = spec.parallelism.tensor;
      if (below(random, 4) == 0) spec.node_selector = {{"zone", "b"}};
      if (below(random, 4) == 0) spec.exclude_nodes = {"node-0", "node-3", "node-3"};
      ASSERT_TRUE(check_job_spec(spec));
      const auto result = placer.place(spec);
      if (result.outcome != Outcome::placed) continue;
      ++placed;
      const JobOracle oracle(plan, spec, &allocations);
      ASSERT_EQ(oracle.violation(*fabric, result.placement, oracle.required_rules()), "")
          << "seed " << seed << " job " << i;
      ASSERT_EQ(
          oracle.violation(*fabric, result.placement,
                           {oracle.job_rule(result.placement.level), oracle.stage_rule(result.placement.stage_level)}),
          "");
      ASSERT_EQ(result.placement.nodes_used, nodes_of(*fabric, result.placement).size());
    }
  }
  EXPECT_GT(placed, 800);
}

TEST(Placement, SmallJobsGoToNodesThatAreBrokenAlready) {
  const auto fabric = regular_fabric(4, 8, {}).build();
  Placer placer(fabric);
  Allocations allocations = no_allocations(fabric->topology());
  allocations.write(2).used = 0b00001111;
  allocations.write(1).used = 0b00000011;
  placer.sync(allocations);
  EXPECT_EQ(nodes_of(*fabric, placer.place(job({.tensor = 4})).placement), std::vector<std::string>{"node-2"});
  EXPECT_EQ(nodes_of(*fabric, placer.place(job({.data = 2})).placement), std::vector<std::string>{"node-2"});
  EXPECT_EQ(nodes_of(*fabric, placer.place(job({.data = 6})).placement), std::vector<std::string>{"node-1"});
  EXPECT_EQ(nodes_of(*fabric, placer.place(job({.tensor = 8})).placement), std::vector<std::string>{"node-0"});
}

TEST(Placement, TwoTensorGroupsOfFourShareANodeAsHalves) {
  const auto fabric = regular_fabric(2, 8, {}).build();
  Placer placer(fabric);
  const auto result = placer.place(job({.tensor = 4, .data = 2}));
  ASSERT_EQ(result.outcome, Outcome::placed);
  EXPECT_EQ(result.placement.level, LevelKind::node);
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(fabric->topology().local_index(result.placement.gpu_of_rank[rank]), rank);
  }
}

TEST(Placement, UsesAsFewRacksAsHoldTheJob) {
  // Racks of 4 nodes with 4, 1, 3 and 2 nodes free.
  const auto fabric = regular_fabric(16, 8, {{LevelKind::rack, 4}}).build();
  Placer placer(fabric);
  Allocations allocations = no_allocations(fabric->topology());
  for (const std::size_t host : {5, 6, 7, 8, 12, 13}) allocations.write(host).used = 0xff;
  placer.sync(allocations);
  const auto two = placer.place(job({.tensor = 8, .data = 2}));
  EXPECT_EQ(nodes_of(*fabric, two.placement), (std::vector<std::string>{"node-14", "node-15"}))
      << "the fullest rack that fits";
  EXPECT_EQ(two.placement.level, LevelKind::rack);
  EXPECT_EQ(two.placement.groups_at_level, 2U);
  const auto six = placer.place(job({.tensor = 8, .data = 6}));
  EXPECT_EQ(six.placement.level, LevelKind::cluster);
  EXPECT_EQ(six.placement.groups_at_level, 2U) << "4 and 2, not 4, 1 and 1";
  EXPECT_EQ(six.placement.domains_used, 6U);
  EXPECT_EQ(six.placement.nodes_used, 6U);
}

TEST(Placement, PipelineStagesStayInOneRackEachWhereTheyFit) {
  // Racks with 4, 3, 3 and 2 nodes free: two stages of three nodes fit no single rack, but a rack each.
  const auto fabric = regular_fabric(16, 8, {{LevelKind::rack, 4}}).build();
  Placer placer(fabric);
  Allocations allocations = no_allocations(fabric->topology());
  for (const std::size_t host : {4, 8, 12, 13}) allocations.write(host).used = 0xff;
  placer.sync(allocations);
  const auto result = placer.place(job({.tensor = 8, .data = 3, .pipeline = 2}));
  ASSERT_EQ(result.outcome, Outcome::placed);
  EXPECT_EQ(result.placement.level, LevelKind::cluster);
  EXPECT_EQ(result.placement.stage_level, LevelKind::rack);
  JobSpec four_stages = job({.tensor = 8, .data = 3, .pipeline = 4});
  const auto loose = placer.place(four_stages);
  ASSERT_EQ(loose.outcome, Outcome::placed) << "12 nodes are free";
  EXPECT_EQ(loose.placement.stage_level, LevelKind::cluster);
  four_stages.stage.required = LevelKind::rack;
  EXPECT_EQ(placer.place(four_stages).outcome, Outcome::not_now);
  four_stages.stage.required.reset();
  four_stages.stage.preferred = LevelKind::rack;
  EXPECT_EQ(placer.place(four_stages).outcome, Outcome::placed);
}

// Hosts of 4 GPUs, NVLink domains of 18 hosts: NVL72.
PlannedFabric nvl72(std::size_t racks) {
  PlannedFabric plan = regular_fabric(racks * 18, 4, {{LevelKind::nvlink_domain, 18}});
  for (auto& host : plan.hosts) host.domain_of_gpu.assign(4, static_cast<int>(host.groups[0]));
  return plan;
}

// The only stage is in a group of its own, too: in one.
TEST(Placement, AStageThatIsSpreadAloneStaysInOneGroup) {
  const auto nodes_in_racks = regular_fabric(6, 8, {{LevelKind::rack, 4}}).build();
  Placer placer(nodes_in_racks);
  Allocations allocations = no_allocations(nodes_in_racks->topology());
  allocations.write(0).used = 0xff;  // three nodes of one rack and two of the other
  placer.sync(allocations);
  for (const auto& [nodes, level, outcome] :
       {std::tuple(3U, LevelKind::rack, Outcome::placed), std::tuple(4U, LevelKind::rack, Outcome::not_now),
        std::tuple(5U, LevelKind::rack, Outcome::never), std::tuple(1U, LevelKind::node, Outcome::placed),
        std::tuple(2U, LevelKind::node, Outcome::never)}) {
    JobSpec spec = job({.tensor = 8, .data = nodes});
    spec.spread_stages = level;
    const auto result = placer.place(spec);
    EXPECT_EQ(result.outcome, outcome) << nodes << " nodes in one " << fabric::to_string(level);
    spec.stage.required = level;
    spec.spread_stages.reset();
    EXPECT_EQ(placer.place(spec).outcome, outcome) << "as where the level is required";
  }
}

TEST(PlacementInNvl72, TensorGroupsStraddleNodesButNeverDomains) {
  const auto fabric = nvl72(3).build();
  Placer placer(fabric);
  const auto result = placer.place(job({.tensor = 8, .data = 18}));
  ASSERT_EQ(result.outcome, Outcome::placed);
  EXPECT_EQ(result.placement.domains_used, 2U) << "nine groups of eight fit a domain";
  for (std::size_t group = 0; group < 18; ++group) {
    const auto domain = fabric->topology().nvlink_domain(result.placement.gpu_of_rank[group * 8]);
    for (std::size_t tp = 1; tp < 8; ++tp) {
      EXPECT_EQ(fabric->topology().nvlink_domain(result.placement.gpu_of_rank[group * 8 + tp]), domain);
    }
  }
  const auto whole = placer.place(job({.tensor = 72}));
  ASSERT_EQ(whole.outcome, Outcome::placed);
  EXPECT_EQ(whole.placement.level, LevelKind::nvlink_domain);
  EXPECT_EQ(placer.place(job({.tensor = 73})).outcome, Outcome::never);
}

TEST(PlacementInNvl72, TensorGroupsOfANodeStayOnOneNodeWhereTheyCan) {
  const auto fabric = nvl72(2).build();
  Placer placer(fabric);
  Allocations allocations = no_allocations(fabric->topology());
  for (std::size_t host = 0; host < 9; ++host) allocations.write(host).used = 0b0001;
  placer.sync(allocations);
  const auto result = placer.place(job({.tensor = 4, .data = 9}));
  ASSERT_EQ(result.outcome, Outcome::placed);
  EXPECT_EQ(result.placement.nodes_used, 9U);
  JobSpec on_nodes = job({.tensor = 4, .data = 10});
  on_nodes.tensor.required = LevelKind::node;
  const auto other = placer.place(on_nodes);
  ASSERT_EQ(other.outcome, Outcome::placed);
  EXPECT_EQ(other.placement.nodes_used, 10U);
}

TEST(PlacementInNvl72, ExactNumberOfGpusOnEachNode) {
  const auto fabric = nvl72(2).build();
  Placer placer(fabric);
  JobSpec spec = job({.tensor = 8, .data = 4});
  spec.gpus_per_node = 2;
  const auto result = placer.place(spec);
  ASSERT_EQ(result.outcome, Outcome::placed);
  EXPECT_EQ(result.placement.nodes_used, 16U);
  EXPECT_EQ(result.placement.domains_used, 1U);
}

// Hosts of 8 GPUs and 8 adapters; on odd hosts GPU i is wired to the adapter of rail (i + 3) mod 8.
PlannedFabric railed(std::size_t hosts, bool affinity_known) {
  PlannedFabric plan = regular_fabric(hosts, 8, {});
  for (std::size_t h = 0; h < hosts; ++h) {
    for (unsigned rail = 0; rail < 8; ++rail) plan.hosts[h].rail_of_nic.push_back(rail);
    for (unsigned gpu = 0; affinity_known && gpu < 8; ++gpu) {
      plan.hosts[h].nics_of_gpu.push_back({h % 2 == 0 ? gpu : (gpu + 3) % 8});
    }
  }
  return plan;
}

TEST(DataRings, FollowTheAdaptersThatGpusReallyUse) {
  const auto fabric = railed(4, true).build();
  Placer placer(fabric);
  const Parallelism parallelism{.tensor = 8, .data = 4};
  const auto result = placer.place(job(parallelism));
  ASSERT_EQ(result.outcome, Outcome::placed);
  EXPECT_TRUE(result.placement.data_rings_on_rails);
  EXPECT_FALSE(result.placement.nics_assumed);
  const RankMap ranks(*fabric, parallelism, result.placement.gpu_of_rank);
  std::set<unsigned> locals_of_first_rail;
  for (std::uint64_t i = 0; i < ranks.size(); ++i) {
    const Rank rank = ranks[i];
    ASSERT_EQ(rank.nics.size(), 1U);
    EXPECT_EQ(rank.nics[0].rail, ranks[rank.at.tp].nics[0].rail) << "rank " << i << " on the rail of its peers";
    EXPECT_EQ(fabric->topology().device(rank.nics[0].hca), "mlx5_" + std::to_string(rank.at.tp));
    if (rank.at.tp == 0) locals_of_first_rail.insert(rank.local_gpu);
  }
  EXPECT_EQ(locals_of_first_rail, (std::set<unsigned>{0, 5})) << "the GPU differs, the rail does not";
}

TEST(DataRings, AreNotClaimedToBeOnRailsWhenAHostLacksOne) {
  PlannedFabric plan = railed(2, true);
  plan.hosts[1].rail_of_nic[6] = 5;  // adapters 5 and 6 on one rail, none on rail 6
  const auto fabric = plan.build();
  Placer placer(fabric);
  const auto result = placer.place(job({.tensor = 8, .data = 2}));
  ASSERT_EQ(result.outcome, Outcome::placed);
  EXPECT_FALSE(result.placement.data_rings_on_rails);
  EXPECT_TRUE(placer.place(job({.tensor = 8})).placement.data_rings_on_rails) << "one node: nothing crosses";
}

TEST(DataRings, OfHalvesOfNodesCrossOnARailThatEveryNodeHasAMemberOn) {
  const auto fabric = railed(4, true).build();
  Placer placer(fabric);
  EXPECT_TRUE(placer.place(job({.tensor = 4, .data = 8})).placement.data_rings_on_rails) << "both halves of each node";
  // The lower half of one node and the upper half of another: no rail in common.
  Allocations allocations = no_allocations(fabric->topology());
  allocations.write(0).used = 0x0f;
  allocations.write(2).used = 0xf0;
  allocations.write(1).unavailable = true;
  allocations.write(3).unavailable = true;
  placer.sync(allocations);
  const auto crossed = placer.place(job({.tensor = 4, .data = 2}));
  ASSERT_EQ(crossed.outcome, Outcome::placed);
  EXPECT_FALSE(crossed.placement.data_rings_on_rails);
}

TEST(DataRings, WithoutRailsAreNotOnRails) {
  const auto fabric = regular_fabric(4, 8, {}).build();
  Placer placer(fabric);
  EXPECT_FALSE(placer.place(job({.tensor = 8, .data = 2})).placement.data_rings_on_rails);
}

TEST(RankMap, DealsAdaptersEvenlyAndSaysSoWhereNoAffinityIsKnown) {
  PlannedFabric plan = railed(2, false);
  plan.hosts[1].rail_of_nic = {3, 1, 2, 0};  // four adapters for eight GPUs
  const auto fabric = plan.build();
  Placer placer(fabric);
  const Parallelism parallelism{.tensor = 8, .data = 2};
  const auto result = placer.place(job(parallelism));
  ASSERT_EQ(result.outcome, Outcome::placed);
  EXPECT_TRUE(result.placement.nics_assumed);
  const RankMap ranks(*fabric, parallelism, result.placement.gpu_of_rank);
  std::map<std::string, int> uses;
  for (std::uint64_t i = 0; i < ranks.size(); ++i) {
    EXPECT_TRUE(ranks[i].nics_assumed);
    ASSERT_EQ(ranks[i].nics.size(), 1U);
    ++uses[fabric->topology().port_text(ranks[i].nics[0].port)];
  }
  EXPECT_EQ(uses.size(), 12U) << "8 adapters used once, 4 twice";
  EXPECT_TRUE(std::ranges::all_of(uses, [](const auto& use) { return use.second <= 2; }));
}

TEST(RankMap, HasTheCoordinatesOfEveryRank) {
  const auto fabric = regular_fabric(16, 8, {}).build();
  Placer placer(fabric);
  const Parallelism parallelism{.tensor = 4, .context = 2, .expert = 2, .data = 2, .pipeline = 2};
  const auto result = placer.place(job(parallelism));
  ASSERT_EQ(result.outcome, Outcome::placed);
  const RankMap ranks(*fabric, parallelism, result.placement.gpu_of_rank);
  ASSERT_EQ(ranks.size(), 64U);
  for (std::uint64_t i = 0; i < 64; ++i) {
    EXPECT_EQ(ranks[i].rank, i);
    EXPECT_EQ(rank_of(parallelism, ranks[i].at), i);
    EXPECT_EQ(fabric->topology().gpus(ranks[i].host)[ranks[i].local_gpu], ranks[i].gpu);
  }
}

TEST(Placement, ExpertGroupsAskedNearerThanContextGroupsAre) {
  // Nodes of 4 GPUs: TP 2 and EP 2 fill a node, CP 2 spans two.
  const auto fabric = regular_fabric(8, 4, {{LevelKind::rack, 2}}).build();
  Placer placer(fabric);
  const Parallelism parallelism{.tensor = 2, .context = 2, .expert = 2, .data = 2};
  JobSpec spec = job(parallelism);
  spec.expert.required = LevelKind::nvlink_domain;
  spec.context.required = LevelKind::rack;
  const auto result = placer.place(spec);
  ASSERT_EQ(result.outcome, Outcome::placed);
  for (std::uint64_t rank = 0; rank < 16; ++rank) {
    RankCoordinates peer = coordinates_of(parallelism, rank);
    peer.ep = 0;
    EXPECT_EQ(fabric->topology().host(result.placement.gpu_of_rank[rank]),
              fabric->topology().host(result.placement.gpu_of_rank[rank_of(parallelism, peer)]));
  }
}

TEST(Placement, OnAGeneratedRailOptimizedFabricUsesEveryRail) {
  auto generated = fabric::generate("rail-optimized", {{"hosts", "128"}});
  ASSERT_TRUE(generated) << generated.error().text();
  const auto topology = std::make_shared<const fabric::Topology>(std::move(*generated));
  const auto fabric = std::make_shared<const PlacementFabric>(topology);
  Placer placer(fabric);
  const auto result = placer.place(job({.tensor = 8, .data = 16, .pipeline = 4}));
  ASSERT_EQ(result.outcome, Outcome::placed) << result.explanation.message;
  EXPECT_EQ(result.placement.nodes_used, 64U);
  EXPECT_TRUE(result.placement.data_rings_on_rails);
  EXPECT_FALSE(result.placement.nics_assumed);
}

TEST(Placer, AFabricWithoutGpusNeverFitsAnything) {
  PlannedFabric plan = regular_fabric(3, 0, {{LevelKind::rack, 2}});
  const auto fabric = plan.build();
  Placer placer(fabric);
  const auto result = placer.place(job({.data = 1}));
  EXPECT_EQ(result.outcome, Outcome::never);
  ASSERT_EQ(result.explanation.excluded.size(), 1U);
  EXPECT_EQ(result.explanation.excluded[0].reason, "noGpus");
  EXPECT_EQ(result.explanation.excluded[0].nodes, 3U);
}

}  // namespace
}  // namespace railweave::scheduler::placer_test
