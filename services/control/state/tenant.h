// A tenant: the owner of jobs, with its limits and quota of GPUs. Durable intent, part of ClusterState.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "fabric/base/enum_text.h"

namespace railweave::control {

// What happens when nodes or links under one of the tenant's jobs are lost.
enum class RepairPolicy : std::uint8_t {
  propose,  // an event reports the damage; POST /v1/jobs/{id}/repair moves the ranks
  apply,    // ranks move to other GPUs once the loss has lasted for Tenant::repair_after_s
};
BOOST_DESCRIBE_ENUM(RepairPolicy, propose, apply)
constexpr std::string_view to_string(RepairPolicy policy) { return to_text(policy); }

struct Tenant {
  static constexpr double kLeastWeight = 1e-6, kMaxWeight = 1e6;  // so that shares of the fabric stay finite

  std::string name;
  std::string description;
  std::optional<std::uint64_t> max_gpus;  // limit of GPUs held by placed jobs; none: no limit
  // GPUs that the tenant may always have. In a cohort it may hold more while other tenants do not use theirs.
  std::optional<std::uint64_t> quota_gpus;
  std::string cohort;                        // "": neither lends nor borrows
  std::optional<std::uint64_t> borrow_gpus;  // limit of what it may borrow; none: all that is unused
  double weight = 1;                         // relative fair share, kLeastWeight..kMaxWeight
  RepairPolicy repair = RepairPolicy::propose;
  std::uint32_t repair_after_s = 30;  // a link that flaps must not restart jobs
  // The highest priority class that its jobs may have, by value; higher ones evict jobs of other tenants.
  std::string max_priority = "normal";
  bool moves = true;          // its jobs that say they are checkpointable may be offered other GPUs
  std::uint64_t version = 0;  // seq of the event that last changed it: its ETag
  // Which tenant of this name it is: what is older belonged to another one, that was removed.
  std::uint64_t created = 0;    // seq of the event that created it; 0: before that was kept
  std::uint64_t first_job = 0;  // the number of the first job that can be its own

  [[nodiscard]] bool same_rules(const Tenant& other) const {
    return description == other.description && max_gpus == other.max_gpus && quota_gpus == other.quota_gpus &&
           cohort == other.cohort && borrow_gpus == other.borrow_gpus && weight == other.weight &&
           repair == other.repair && repair_after_s == other.repair_after_s && max_priority == other.max_priority &&
           moves == other.moves;
  }
};

using TenantTable = std::map<std::string, Tenant, std::less<>>;

}  // namespace railweave::control
