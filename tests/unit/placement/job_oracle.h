// What a placement must satisfy, said rank by rank from the plan of the fabric, and whether any exists, by trying them
// all. Shares no code with the scheduler beyond JobSpec and its rank order.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "planned_fabric.h"
#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/placement.h"

namespace railweave::scheduler::testing_support {

// Ranks of one class must lie in one part of a partition of the GPUs.
struct Rule {
  std::vector<std::uint64_t> class_of_rank;
  std::vector<int> part_of_gpu;  // by (host, local GPU) in order; -1: may not be used by a class of more than one
  std::string name;
};

class JobOracle {
 public:
  // Places that may be used: not taken, not unavailable, not excluded by the job, not in a part that others use where
  // the job is to be alone. No allocations: as if nothing ran.
  JobOracle(const PlannedFabric& plan, const JobSpec& spec, const Allocations* allocations);

  // Part of every GPU at a level; the island (GPUs of one host in one domain) for none.
  [[nodiscard]] std::vector<int> parts(std::optional<fabric::LevelKind> kind) const;

  // The same, GPUs in no part being in one of their own island.
  [[nodiscard]] std::vector<int> whole_parts(fabric::LevelKind kind) const;
  [[nodiscard]] bool usable(std::size_t gpu) const { return usable_[gpu]; }
  // Host by host, as the plan lists them.
  [[nodiscard]] std::size_t index_of(const PlacementFabric& fabric, fabric::GpuId gpu) const;

  [[nodiscard]] std::vector<Rule> required_rules() const;
  [[nodiscard]] Rule tensor_rule(fabric::LevelKind kind) const { return rule("tensor", kind, &tensor_class); }
  [[nodiscard]] Rule context_rule(fabric::LevelKind kind) const { return rule("context", kind, &context_class); }
  [[nodiscard]] Rule expert_rule(fabric::LevelKind kind) const { return rule("expert", kind, &expert_class); }
  [[nodiscard]] Rule stage_rule(std::optional<fabric::LevelKind> kind) const {
    return rule("stage", kind, &stage_class);
  }
  [[nodiscard]] Rule job_rule(std::optional<fabric::LevelKind> kind) const;

  // Is there any placement that keeps the rules (and gpus_per_node, spares and spread)?
  [[nodiscard]] bool feasible(const std::vector<Rule>& rules) const;
  // "" when the placement keeps the rules, uses each GPU once and only usable ones; else what is wrong.
  [[nodiscard]] std::string violation(const PlacementFabric& fabric, const Placement& placement,
                                      const std::vector<Rule>& rules) const;

 private:
  using Class = std::uint64_t (*)(const Parallelism&, RankCoordinates);
  static std::uint64_t tensor_class(const Parallelism& p, RankCoordinates at);
  static std::uint64_t context_class(const Parallelism& p, RankCoordinates at);
  static std::uint64_t expert_class(const Parallelism& p, RankCoordinates at);
  static std::uint64_t stage_class(const Parallelism& p, RankCoordinates at);
  [[nodiscard]] Rule rule(std::string name, std::optional<fabric::LevelKind> kind, Class class_of) const;

  // GPUs that are the same to every rule.
  struct Spot {
    int host;
    std::size_t gpu;  // one of them
    unsigned free;
    unsigned taken = 0;
  };
  // Spares and spread as far as ranks are placed; once broken by one rank, no other rank repairs it.
  [[nodiscard]] bool keeps_room(const std::vector<Spot>& spots, const Spot& last) const;
  [[nodiscard]] bool assign(std::uint64_t rank, const std::vector<Rule>& rules, std::vector<Spot>& spots,
                            std::vector<std::map<std::uint64_t, int>>& part_of_class,
                            std::vector<unsigned>& on_host) const;

  const PlannedFabric& plan_;
  const JobSpec& spec_;
  std::uint64_t ranks_;
  std::vector<int> host_of_gpu_;
  std::vector<int> domain_of_gpu_;
  std::vector<bool> usable_;
  std::vector<int> spare_part_, spread_part_;  // of GPUs; empty: nothing is asked
};

}  // namespace railweave::scheduler::testing_support
