// Placements on fabrics small enough to try every placement there is.
#include <algorithm>

#include <gtest/gtest.h>

#include "job_oracle.h"
#include "planned_fabric.h"
#include "scheduler/placement/placer.h"
#include "tests/support/seeds.h"

namespace railweave::scheduler::brute_force_test {
namespace {

using fabric::LevelKind;
using testing_support::below;
using testing_support::JobOracle;
using testing_support::PlannedFabric;
using testing_support::Random;
using testing_support::Rule;

std::optional<LevelKind> random_level(Random& random, const PlannedFabric& plan, unsigned percent) {
  if (below(random, 100) >= percent) return std::nullopt;
  std::vector<LevelKind> kinds = plan.levels;
  kinds.push_back(LevelKind::node);
  if (std::ranges::find(kinds, LevelKind::nvlink_domain) == kinds.end()) kinds.push_back(LevelKind::nvlink_domain);
  return kinds[below(random, kinds.size())];
}

JobSpec random_spec(Random& random, const PlannedFabric& plan, std::uint64_t most_ranks) {
  for (;;) {
    JobSpec spec;
    auto& p = spec.parallelism;
    const auto factor = [&](std::uint32_t most) { return static_cast<std::uint32_t>(1 + below(random, most)); };
    p.tensor = factor(4);
    p.context = below(random, 3) == 0 ? 2 : 1;
    p.expert = below(random, 3) == 0 ? 2 : 1;
    p.data = factor(4);
    p.pipeline = factor(3);
    if (rank_count(p) > most_ranks) continue;
    spec.tensor.required = random_level(random, plan, 20);
    spec.context.required = random_level(random, plan, 30);
    spec.expert.required = random_level(random, plan, 30);
    spec.stage.required = random_level(random, plan, 30);
    spec.job.required = random_level(random, plan, 30);
    if (!spec.stage.required) spec.stage.preferred = random_level(random, plan, 30);
    if (below(random, 4) == 0) spec.gpus_per_node = factor(4);
    if (below(random, 5) == 0) spec.exclude_nodes = {"node-" + std::to_string(below(random, plan.hosts.size()))};
    if (below(random, 5) == 0) spec.node_selector = {{"zone", "a"}};
    if (check_job_spec(spec)) return spec;
  }
}

std::string text(const JobSpec& spec) {
  const auto& p = spec.parallelism;
  std::string text = "tp " + std::to_string(p.tensor) + " cp " + std::to_string(p.context) + " ep " +
                     std::to_string(p.expert) + " dp " + std::to_string(p.data) + " pp " + std::to_string(p.pipeline);
  const auto add = [&](const char* name, const LevelRequest& request) {
    if (request.required) text += std::string(", ") + name + " required " + std::string(to_string(*request.required));
    if (request.preferred)
      text += std::string(", ") + name + " preferred " + std::string(to_string(*request.preferred));
  };
  add("tensor", spec.tensor);
  add("context", spec.context);
  add("expert", spec.expert);
  add("stage", spec.stage);
  add("job", spec.job);
  if (spec.gpus_per_node) text += ", per node " + std::to_string(*spec.gpus_per_node);
  if (!spec.exclude_nodes.empty()) text += ", without " + spec.exclude_nodes[0];
  if (!spec.node_selector.empty()) text += ", zone a";
  return text;
}

// Up to two on each host, of two keys with two values each.
void add_taints(Random& random, PlannedFabric& plan) {
  for (auto& host : plan.hosts) {
    if (below(random, 3) == 0) host.labels.emplace_back("taint/team", below(random, 2) == 0 ? "a" : "b");
    if (below(random, 4) == 0) host.labels.emplace_back("taint/nvlink", below(random, 2) == 0 ? "slow" : "");
  }
}

void add_tolerations(Random& random, JobSpec& spec) {
  if (below(random, 2) == 0) spec.tolerations.push_back({"team", {}});
  if (below(random, 3) == 0) spec.tolerations.push_back({"team", "a"});
  if (below(random, 3) == 0) spec.tolerations.push_back({"nvlink", below(random, 2) == 0 ? "slow" : ""});
}

// Levels from near to far: of stage preferences and of the job.
std::vector<LevelKind> levels_from_node(const PlannedFabric& plan) {
  std::vector<LevelKind> levels{LevelKind::node};
  levels.insert(levels.end(), plan.levels.begin(), plan.levels.end());
  return levels;
}

// The rules that the best placement keeps: the required ones, and preferences in order of importance as near as they
// go.
std::vector<Rule> best_rules(const PlannedFabric& plan, const JobSpec& spec, const JobOracle& oracle) {
  std::vector<Rule> rules = oracle.required_rules();
  const auto prefer = [&](Rule rule) {
    rules.push_back(std::move(rule));
    if (oracle.feasible(rules)) return true;
    rules.pop_back();
    return false;
  };
  if (spec.stage.preferred && *spec.stage.preferred == LevelKind::nvlink_domain) {
    prefer(oracle.stage_rule(LevelKind::nvlink_domain));
  } else if (spec.stage.preferred) {
    const auto levels = levels_from_node(plan);
    for (auto at = std::ranges::find(levels, *spec.stage.preferred); at != levels.end(); ++at) {
      if (prefer(oracle.stage_rule(*at))) break;
    }
  }
  if (spec.parallelism.context > 1 && !spec.context.preferred) prefer(oracle.context_rule(LevelKind::nvlink_domain));
  if (spec.parallelism.expert > 1 && !spec.expert.preferred) prefer(oracle.expert_rule(LevelKind::nvlink_domain));
  return rules;
}

bool all_have_nvlink(const PlannedFabric& plan) {
  return std::ranges::all_of(plan.hosts, [](const auto& host) {
    return std::ranges::all_of(host.domain_of_gpu, [](int domain) { return domain >= 0; });
  });
}

TEST(PlacementOnTinyFabrics, IsFoundWhereOneExistsAtTheNearestLevelAndNeverMeansNever) {
  std::uint64_t placed = 0, not_now = 0, never = 0;
  for (std::uint64_t seed = 1; seed <= part_of_seeds(4000); ++seed) {
    Random random(seed);
    PlannedFabric plan = testing_support::random_fabric(random, 6, 4);
    if (seed % 4 == 0) add_taints(random, plan);
    const auto fabric = plan.build();
    const Allocations allocations = testing_support::random_allocations(random, *fabric, below(random, 3) * 0.25);
    JobSpec spec = random_spec(random, plan, 8);
    if (seed % 4 == 0) add_tolerations(random, spec);
    Placer placer(fabric, {PlacementPolicy::best_fit});
    placer.sync(allocations);
    const PlacementResult result = placer.place(spec);
    Placer by_cost(fabric);
    by_cost.sync(allocations);
    const PlacementResult scored = by_cost.place(spec);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + text(spec) + "; " + result.explanation.message);
    ASSERT_EQ(scored.outcome, result.outcome);

    const JobOracle oracle(plan, spec, &allocations);
    const JobOracle when_empty(plan, spec, nullptr);
    const auto required = oracle.required_rules();
    if (!oracle.feasible(required)) {
      const bool ever = when_empty.feasible(when_empty.required_rules());
      ASSERT_EQ(result.outcome, ever ? Outcome::not_now : Outcome::never);
      ++(ever ? not_now : never);
      continue;
    }
    ++placed;
    ASSERT_EQ(result.outcome, Outcome::placed);
    const auto rules = best_rules(plan, spec, oracle);
    ASSERT_EQ(oracle.violation(*fabric, result.placement, rules), "");
    // Cost decides among places that keep what is required and give up nothing that is preferred.
    ASSERT_EQ(oracle.violation(*fabric, scored.placement, rules), "");
    ASSERT_EQ(
        oracle.violation(*fabric, scored.placement,
                         {oracle.job_rule(scored.placement.level), oracle.stage_rule(scored.placement.stage_level)}),
        "");

    // The job itself at the nearest level that goes with them.
    std::vector<std::optional<LevelKind>> levels{std::nullopt};
    for (const auto level : levels_from_node(plan)) levels.emplace_back(level);
    for (const auto& level : levels) {
      auto nearer = rules;
      nearer.push_back(oracle.job_rule(level));
      const bool reached = oracle.violation(*fabric, result.placement, {oracle.job_rule(level)}).empty();
      ASSERT_EQ(oracle.feasible(nearer), reached) << "at " << (level ? to_string(*level) : "island");
      if (!reached) continue;
      // And stages without a level request are as near as possible, given where the job is.
      if (spec.parallelism.pipeline == 1 || spec.stage.preferred || spec.stage.required || spec.gpus_per_node) break;
      if (spec.job.required == LevelKind::nvlink_domain && !all_have_nvlink(plan)) break;
      for (const auto& stage_level : levels) {
        auto stages = nearer;
        stages.push_back(oracle.stage_rule(stage_level));
        const bool aligned = oracle.violation(*fabric, result.placement, {oracle.stage_rule(stage_level)}).empty();
        ASSERT_EQ(oracle.feasible(stages), aligned)
            << "stages at " << (stage_level ? to_string(*stage_level) : "island");
        if (aligned) break;
      }
      break;
    }
    ASSERT_EQ(oracle.violation(*fabric, result.placement, {oracle.job_rule(result.placement.level)}), "")
        << "the level reported";
  }
  // Each outcome is met often enough to mean something.
  EXPECT_GT(placed, part_of_seeds(1000));
  EXPECT_GT(not_now, part_of_seeds(300));
  EXPECT_GT(never, part_of_seeds(300));
}

}  // namespace
}  // namespace railweave::scheduler::brute_force_test
