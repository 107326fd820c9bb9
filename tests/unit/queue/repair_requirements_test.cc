// Repairs of jobs that require levels, nodes, labels, slices, spread or a number of GPUs per node: each plan is checked
// rank by rank against an oracle, and its number of moves against all assignments there are.
#include <array>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/placement/check/placement_check.h"
#include "scheduler/placement/fit/placement_transaction.h"
#include "scheduler/queue/repair/defragment.h"
#include "scheduler/queue/repair/repair.h"
#include "tests/unit/placement/job_oracle.h"
#include "tests/unit/placement/planned_fabric.h"

namespace railweave::scheduler::repair_requirements_test {
namespace {

using namespace testing_support;
using fabric::GpuId;
using fabric::LevelKind;

void take_gpus(Placer& placer, std::span<const GpuId> gpus) {
  PlacementTransaction tree(placer.tree(), placer.fabric().topology());
  ASSERT_TRUE(tree.take(gpus));
  tree.commit();
}

// Racks of three nodes in pods of two racks; two GPUs of each node share a domain, or all, or none; three rails.
PlannedFabric racks(Random& random) {
  const auto gpus = static_cast<unsigned>(2 + below(random, 2));
  PlannedFabric plan = regular_fabric(6 + below(random, 4), gpus,
                                      {{LevelKind::rack, 2}, {LevelKind::leaf_group, 4}, {LevelKind::cluster, 16}});
  const auto domains = below(random, 3);
  for (std::size_t h = 0; h < plan.hosts.size(); ++h) {
    auto& host = plan.hosts[h];
    if (domains == 0) host.domain_of_gpu.assign(gpus, static_cast<int>(h / 2));
    if (domains == 1 && below(random, 3) == 0) host.domain_of_gpu.assign(gpus, -1);
    host.labels = {{"gpu", below(random, 3) == 0 ? "b200" : "h100"}};
    for (unsigned g = 0; g < gpus; ++g) {
      host.rail_of_nic.push_back(g);
      host.nics_of_gpu.push_back({g});
    }
  }
  return plan;
}

JobSpec demanding(Random& random, std::size_t nodes) {
  JobSpec spec;
  spec.tenant = "t";
  const std::array<Parallelism, 8> shapes = {{{.data = 2},
                                              {.data = 4},
                                              {.tensor = 2, .data = 2},
                                              {.data = 2, .pipeline = 2},
                                              {.data = 6},
                                              {.tensor = 2, .pipeline = 2},
                                              {.context = 2, .expert = 2},
                                              {.tensor = 2, .data = 3}}};
  spec.parallelism = shapes[below(random, shapes.size())];
  const std::array<LevelKind, 4> kinds = {LevelKind::nvlink_domain, LevelKind::node, LevelKind::rack,
                                          LevelKind::leaf_group};
  const auto some_level = [&](LevelRequest& request) {
    if (below(random, 4) == 0) request.required = kinds[below(random, kinds.size())];
  };
  some_level(spec.tensor);
  some_level(spec.context);
  some_level(spec.expert);
  some_level(spec.stage);
  some_level(spec.job);
  if (below(random, 3) == 0) spec.node_selector = {{"gpu", "h100"}};
  if (below(random, 4) == 0) spec.exclude_nodes = {"node-" + std::to_string(below(random, nodes))};
  if (below(random, 4) == 0) {
    for (std::size_t node = 0; node < nodes; ++node) {
      if (below(random, 4) != 0) spec.only_nodes.push_back("node-" + std::to_string(node));
    }
  }
  if (below(random, 4) == 0)
    spec.gpus_per_node = spec.parallelism.tensor * (1U + static_cast<unsigned>(below(random, 2)));
  if (below(random, 5) == 0) {
    spec.spread = SpreadLimit{below(random, 2) == 0 ? LevelKind::node : LevelKind::rack,
                              spec.parallelism.tensor * (1 + below(random, 2))};
  }
  if (below(random, 5) == 0) spec.spread_stages = LevelKind::rack;
  if (below(random, 5) == 0 && spec.parallelism.context == 1) {  // else the order of ranks in slices has two forms
    spec.slices = {{below(random, 2) == 0 ? LevelKind::node : LevelKind::rack, 2U * spec.parallelism.tensor}};
  }
  return spec;
}

// What JobOracle does not say: slices, stages apart, the nodes that are named.
struct Demands {
  std::vector<Rule> rules;
  std::vector<int> stage_part;  // by GPU; empty: nothing asked
  std::vector<int> spread_part;
  std::vector<bool> usable;  // by GPU, in order of nodes
  std::vector<int> host;
};

Demands demands_of(const PlannedFabric& plan, const JobSpec& spec, const JobOracle& oracle) {
  Demands demands{.rules = oracle.required_rules(), .stage_part = {}, .spread_part = {}, .usable = {}, .host = {}};
  for (const Slice& slice : spec.slices) {
    Rule rule{.class_of_rank = {}, .part_of_gpu = oracle.parts(slice.level), .name = "slice"};
    for (std::uint64_t rank = 0; rank < rank_count(spec.parallelism); ++rank)
      rule.class_of_rank.push_back(rank / slice.gpus);
    demands.rules.push_back(rule);
  }
  if (spec.spread_stages) {
    if (spec.parallelism.pipeline > 1) demands.stage_part = oracle.parts(*spec.spread_stages);
    demands.rules.push_back(oracle.stage_rule(spec.spread_stages));
  }
  if (spec.spread) demands.spread_part = oracle.whole_parts(spec.spread->level);
  for (std::size_t h = 0; h < plan.hosts.size(); ++h) {
    const std::string name = "node-" + std::to_string(h);
    const bool named = spec.only_nodes.empty() || std::ranges::find(spec.only_nodes, name) != spec.only_nodes.end();
    for (std::size_t g = 0; g < plan.hosts[h].domain_of_gpu.size(); ++g) {
      demands.usable.push_back(named && oracle.usable(demands.usable.size()));
      demands.host.push_back(static_cast<int>(h));
    }
  }
  return demands;
}

// Every assignment with fewer than `below` moves, rank by rank: keep the GPU, or one free GPU of each island.
class EveryAssignment {
 public:
  EveryAssignment(const JobSpec& spec, const Demands& demands, std::vector<int> island, std::vector<std::size_t> was,
                  std::vector<bool> may_keep)
      : spec_(spec),
        demands_(demands),
        island_(std::move(island)),
        was_(std::move(was)),
        may_keep_(std::move(may_keep)) {}

  std::optional<std::size_t> fewest(std::size_t below) {
    best_ = below;
    now_.clear();
    used_.assign(demands_.usable.size(), false);
    assign(0);
    return best_ < below ? std::optional(best_) : std::nullopt;
  }
  [[nodiscard]] std::string broken(const std::vector<std::size_t>& gpus) const {
    for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
      if (fits(gpus, rank)) continue;
      std::string at = "rank " + std::to_string(rank) + ", GPUs";
      for (const std::size_t gpu : gpus) at += " " + std::to_string(gpu);
      for (const Rule& rule : demands_.rules) at += "; " + rule.name;
      return at;
    }
    return whole(gpus) ? "" : "GPUs per node";
  }

 private:
  // The last rank of the list beside those before it.
  [[nodiscard]] bool fits(const std::vector<std::size_t>& gpus, std::size_t rank) const {
    std::size_t in_spread = 0;
    for (std::size_t other = 0; other <= rank; ++other) {
      for (const Rule& rule : demands_.rules) {
        if (rule.class_of_rank[other] != rule.class_of_rank[rank] || other == rank) continue;
        const int part = rule.part_of_gpu[gpus[rank]];
        if (part < 0 || rule.part_of_gpu[gpus[other]] != part) return false;
      }
      if (!demands_.stage_part.empty() &&
          coordinates_of(spec_.parallelism, other).pp != coordinates_of(spec_.parallelism, rank).pp &&
          demands_.stage_part[gpus[other]] == demands_.stage_part[gpus[rank]]) {
        return false;
      }
      if (!demands_.spread_part.empty() && demands_.spread_part[gpus[other]] == demands_.spread_part[gpus[rank]])
        ++in_spread;
    }
    return !spec_.spread || in_spread <= spec_.spread->max_gpus_per_group;
  }
  [[nodiscard]] bool whole(const std::vector<std::size_t>& gpus) const {
    if (!spec_.gpus_per_node) return true;
    std::map<int, unsigned> on;
    for (const std::size_t gpu : gpus) ++on[demands_.host[gpu]];
    return std::ranges::all_of(on, [&](const auto& one) { return one.second == *spec_.gpus_per_node; });
  }
  void assign(std::size_t moves) {
    if (moves >= best_) return;
    if (now_.size() == was_.size()) {
      if (whole(now_)) best_ = moves;
      return;
    }
    const std::size_t rank = now_.size();
    std::vector<std::size_t> tried;
    const auto try_gpu = [&](std::size_t gpu, std::size_t cost) {
      if (used_[gpu]) return;
      used_[gpu] = true;
      now_.push_back(gpu);
      if (fits(now_, rank)) assign(moves + cost);
      now_.pop_back();
      used_[gpu] = false;
    };
    if (may_keep_[rank]) try_gpu(was_[rank], 0);
    std::set<int> islands;
    for (std::size_t gpu = 0; gpu < demands_.usable.size(); ++gpu) {
      if (!demands_.usable[gpu] || used_[gpu] || gpu == was_[rank]) continue;
      // GPUs that a rank may keep differ from each other and from free ones.
      const auto keeper = std::ranges::find(was_, gpu);
      const bool kept_by_later = keeper != was_.end() && static_cast<std::size_t>(keeper - was_.begin()) > rank;
      if (!kept_by_later && !islands.insert(island_[gpu]).second) continue;
      try_gpu(gpu, 1);
    }
  }

  const JobSpec& spec_;
  const Demands& demands_;
  std::vector<int> island_;
  std::vector<std::size_t> was_;
  std::vector<bool> may_keep_;
  std::vector<std::size_t> now_;
  std::vector<bool> used_;
  std::size_t best_ = 0;
};

// Taints that came after a job was placed: its ranks may stay, none may come.
struct Tainted {
  PlacementFabricPtr fabric;
  std::set<GpuId> gpus;
  [[nodiscard]] bool repels(GpuId gpu, std::span<const GpuId> own) const {
    return gpus.contains(gpu) && std::ranges::find(own, gpu) == own.end();
  }
};

std::vector<GpuId> some_closed(Random& random, const fabric::Topology& topology, std::span<const GpuId> own) {
  std::vector<GpuId> closed;
  for (const GpuId gpu : topology.gpus()) {
    if (below(random, 8) == 0 && std::ranges::find(own, gpu) == own.end()) closed.push_back(gpu);
  }
  return closed;
}

Tainted with_taints(Random& random, PlannedFabric plan) {
  for (auto& host : plan.hosts) {
    if (below(random, 4) == 0) host.labels.emplace_back("taint/fans", "broken");
  }
  Tainted tainted{plan.build(), {}};
  for (const GpuId gpu : tainted.fabric->topology().gpus()) {
    const std::string name(tainted.fabric->topology().name(tainted.fabric->topology().host(gpu)));
    if (plan.hosts[std::stoul(name.substr(name.find('-') + 1))].labels.back().first == "taint/fans")
      tainted.gpus.insert(gpu);
  }
  return tainted;
}

// A job does not mix models.
bool other_model(const PlacementFabric& fabric, GpuId a, GpuId b) {
  const auto model = [&](GpuId gpu) { return fabric.gpu_models().of(fabric.leaf(gpu)); };
  return model(a) != model(b);
}

TEST(RepairRequirements, NoPlanViolatesAnyAndNoneMovesMoreRanksThanNeeded) {
  std::uint64_t repaired = 0, refused = 0, partly = 0, whole = 0, searched = 0;
  for (std::uint64_t seed = 1; seed <= 6000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const PlannedFabric plan = racks(random);
    const auto fabric = plan.build();
    const auto& topology = fabric->topology();
    Placer placer(fabric);
    const JobSpec spec = demanding(random, plan.hosts.size());
    auto allocations = random_allocations(random, *fabric, 0.2);
    placer.sync(allocations);
    const auto placement = placer.try_place(spec);
    if (!placement) continue;
    // As a fresh placement it is accepted by the check that repairs pass.
    ASSERT_EQ(text(check_placement({.topology = topology,
                                    .locality = fabric->locality(),
                                    .spec = spec,
                                    .gpu_of_rank = placement->gpu_of_rank,
                                    .idle_gpus = placement->idle_gpus})),
              "");
    take_gpus(placer, placement->gpu_of_rank);
    std::set<GpuId> lost;
    for (const GpuId gpu : placement->gpu_of_rank) {
      if (below(random, 4) == 0) lost.insert(gpu);
    }
    if (lost.empty()) lost.insert(placement->gpu_of_rank.front());
    const std::vector<GpuId> closed = some_closed(random, topology, placement->gpu_of_rank);
    const std::vector<GpuId> lost_list(lost.begin(), lost.end());
    const Tainted tainted = seed % 3 == 0 ? with_taints(random, plan) : Tainted{fabric, {}};
    Placer placer_now(tainted.fabric);
    placer_now.sync(allocations);
    take_gpus(placer_now, placement->gpu_of_rank);
    const std::uint64_t free = placer_now.tree().total_free();
    const auto repair = plan_repair(
        placer_now,
        {.spec = &spec, .gpu_of_rank = placement->gpu_of_rank, .block_gpus = placement->block_gpus, .closed = closed},
        lost_list);
    ASSERT_EQ(placer_now.tree().total_free(), free);

    const JobOracle oracle(plan, spec, &allocations);
    Demands demands = demands_of(plan, spec, oracle);
    for (const GpuId gpu : topology.gpus()) {
      if (other_model(*fabric, gpu, placement->gpu_of_rank.front()) || lost.contains(gpu) ||
          std::ranges::find(closed, gpu) != closed.end() || tainted.repels(gpu, placement->gpu_of_rank))
        demands.usable[oracle.index_of(*fabric, gpu)] = false;
    }
    std::vector<std::size_t> was;
    std::vector<bool> may_keep;
    for (const GpuId gpu : placement->gpu_of_rank) {
      was.push_back(oracle.index_of(*fabric, gpu));
      may_keep.push_back(!lost.contains(gpu));
    }
    EveryAssignment every(spec, demands, oracle.parts(std::nullopt), was, may_keep);
    const auto unknown = was.size() + 1;
    if (!repair) {
      ++refused;
      ASSERT_EQ(repair.error().code, "repair.noSpare");
      ASSERT_EQ(every.fewest(unknown), std::nullopt) << repair.error().message;
      continue;
    }
    ++repaired;
    std::vector<std::size_t> now;
    for (std::size_t rank = 0; rank < was.size(); ++rank) {
      const GpuId gpu = repair->gpu_of_rank[rank];
      now.push_back(oracle.index_of(*fabric, gpu));
      ASSERT_TRUE(demands.usable[now.back()]) << "rank " << rank << " on " << topology.name(topology.host(gpu));
    }
    ASSERT_EQ(std::set(now.begin(), now.end()).size(), now.size());
    ASSERT_EQ(every.broken(now), "");
    ASSERT_EQ(every.fewest(repair->moves.size()), std::nullopt) << "of " << was.size() << " ranks";
    (repair->moved_whole ? whole : partly) += 1;
    searched += repair->moves.size() > lost.size() && !repair->moved_whole ? 1 : 0;
  }
  EXPECT_GT(repaired, 1000U);
  EXPECT_GT(refused, 100U);
  EXPECT_GT(partly, 1000U);
  EXPECT_GT(whole, 20U);
  EXPECT_GT(searched, 20U);
}

TEST(RepairRequirements, MovesTwoRanksWhereTheNodesOfTwoGpusAreLostByOne) {
  const auto fabric = regular_fabric(6, 4, {{LevelKind::cluster, 6}}).build();
  const auto& topology = fabric->topology();
  Placer placer(fabric);
  JobSpec spec;
  spec.parallelism.data = 6;
  spec.gpus_per_node = 2;
  std::vector<GpuId> gpus;
  for (std::size_t node = 0; node < 3; ++node) {
    gpus.push_back(topology.gpus(fabric::HostId(node))[0]);
    gpus.push_back(topology.gpus(fabric::HostId(node))[1]);
  }
  take_gpus(placer, gpus);
  const std::vector<GpuId> node_1{gpus[2], gpus[3]};
  const auto plan = plan_repair(placer, {.spec = &spec, .gpu_of_rank = gpus}, node_1);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_FALSE(plan->moved_whole);
  EXPECT_EQ(plan->moves.size(), 2U);
}

TEST(RepairRequirements, KeepsTheRailWhereAGpuOfItIsFree) {
  PlannedFabric plan = regular_fabric(3, 4, {{LevelKind::cluster, 3}});
  for (auto& host : plan.hosts) {
    host.rail_of_nic = {0, 1, 2, 3};
    host.nics_of_gpu = {{0}, {1}, {2}, {3}};
  }
  const auto fabric = plan.build();
  const auto& topology = fabric->topology();
  const auto gpu = [&](std::size_t node, std::size_t local) { return topology.gpus(fabric::HostId(node))[local]; };
  Placer placer(fabric);
  JobSpec spec;
  spec.parallelism.data = 2;
  const std::vector<GpuId> gpus{gpu(0, 3), gpu(1, 3)};
  // Of node 0 GPU 1 is free, of node 2 all but one: the nearest or fullest GPU is on another rail.
  const std::vector<GpuId> others{gpu(0, 0), gpu(0, 2), gpu(1, 0), gpu(1, 1), gpu(1, 2), gpu(2, 2)};
  take_gpus(placer, gpus);
  take_gpus(placer, others);
  const std::vector<GpuId> lost{gpu(0, 0), gpu(0, 1), gpu(0, 2), gpu(0, 3)};
  const auto repair = plan_repair(placer, {.spec = &spec, .gpu_of_rank = gpus}, lost);
  ASSERT_TRUE(repair) << repair.error().message;
  ASSERT_EQ(repair->moves.size(), 1U);
  EXPECT_EQ(repair->moves.front().to, gpu(2, 3));
}

TEST(RepairRequirements, DefragmentationObeysThemToo) {
  std::uint64_t moved = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    PlannedFabric plan = regular_fabric(8, 4, {{LevelKind::rack, 2}, {LevelKind::cluster, 8}});
    for (auto& host : plan.hosts) host.labels = {{"gpu", below(random, 2) == 0 ? "b200" : "h100"}};
    const auto fabric = plan.build();
    Placer placer(fabric);
    std::vector<JobSpec> specs(10);
    std::vector<std::vector<GpuId>> gpus;
    for (JobSpec& spec : specs) {
      spec.tenant = "t";
      spec.parallelism.tensor = 1U + static_cast<std::uint32_t>(below(random, 2));
      if (below(random, 2) == 0) spec.node_selector = {{"gpu", "h100"}};
      if (below(random, 3) == 0) spec.exclude_nodes = {"node-" + std::to_string(below(random, 8))};
      const auto placement = placer.try_place(spec);
      if (!placement) break;
      take_gpus(placer, placement->gpu_of_rank);
      gpus.push_back(placement->gpu_of_rank);
    }
    std::vector<RunningJob> running;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      if (below(random, 2) == 0) {  // it ended, which left a hole
        PlacementTransaction tree(placer.tree(), fabric->topology());
        ASSERT_TRUE(tree.release(gpus[i]));
        tree.commit();
        continue;
      }
      running.push_back({i + 1, &specs[i], 0, 0, gpus[i]});
    }
    for (const auto& step : plan_defragmentation(placer, running)) {
      for (const auto& move : step.moves) {
        ++moved;
        const JobSpec& spec = specs[move.job - 1];
        for (const GpuId gpu : move.gpu_of_rank) {
          const auto host = fabric->topology().host(gpu).index();
          const std::string name = "node-" + std::to_string(host);
          ASSERT_TRUE(std::ranges::find(spec.exclude_nodes, name) == spec.exclude_nodes.end());
          ASSERT_TRUE(spec.node_selector.empty() || plan.hosts[host].labels.front().second == "h100");
        }
      }
    }
  }
  EXPECT_GT(moved, 20U);
}

}  // namespace
}  // namespace railweave::scheduler::repair_requirements_test
