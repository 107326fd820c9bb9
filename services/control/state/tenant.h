// A tenant: who jobs are placed for, and how much they may hold.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace railweave::control {

// What is done for its jobs when nodes or links under them are lost.
enum class RepairPolicy : std::uint8_t {
  propose,  // an event says so; POST /v1/jobs/{id}/repair moves the ranks
  apply,    // moved at once
};
constexpr std::string_view to_string(RepairPolicy policy) {
  return policy == RepairPolicy::apply ? "apply" : "propose";
}

struct Tenant {
  std::string name;
  std::string description;
  std::optional<std::uint64_t> max_gpus;  // held by placed jobs at one time; none: no limit
  // Quota: what it may always have. In a cohort it may hold more while the others leave theirs unused.
  std::optional<std::uint64_t> quota_gpus;
  std::string cohort;                        // "": lends to and borrows from nobody
  std::optional<std::uint64_t> borrow_gpus;  // the most it may borrow; none: whatever the cohort leaves
  double weight = 1;                         // of its fair share
  RepairPolicy repair = RepairPolicy::propose;
  std::uint64_t version = 0;  // seq of the event that last changed it: its ETag

  [[nodiscard]] bool same_rules(const Tenant& other) const {
    return description == other.description && max_gpus == other.max_gpus && quota_gpus == other.quota_gpus &&
           cohort == other.cohort && borrow_gpus == other.borrow_gpus && weight == other.weight &&
           repair == other.repair;
  }
};

using TenantTable = std::map<std::string, Tenant, std::less<>>;

}  // namespace railweave::control
