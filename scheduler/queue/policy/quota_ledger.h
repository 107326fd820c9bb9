// How many GPUs each tenant and cohort holds, and whether it may hold more. Built per cycle from the running jobs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "scheduler/queue/policy/queue_policy.h"

namespace railweave::scheduler {

using TenantIndex = std::uint32_t;

class QuotaLedger {
 public:
  explicit QuotaLedger(const QueuePolicy& policy);

  // Tenants that the policy does not name are added as they come, without a quota.
  [[nodiscard]] TenantIndex tenant(std::string_view name);
  [[nodiscard]] std::size_t tenant_count() const { return tenants_.size(); }
  [[nodiscard]] const std::string& name(TenantIndex tenant) const { return tenants_[tenant].name; }
  [[nodiscard]] double weight(TenantIndex tenant) const { return tenants_[tenant].weight; }
  [[nodiscard]] std::uint64_t used(TenantIndex tenant) const { return tenants_[tenant].used; }
  [[nodiscard]] bool has_quota(TenantIndex tenant) const { return tenants_[tenant].nominal != kNoLimit; }

  void take(TenantIndex tenant, std::uint64_t gpus);
  void release(TenantIndex tenant, std::uint64_t gpus);

  enum class Verdict : std::uint8_t {
    within,          // may have them
    over_limit,      // nominal and borrowing limit together are not enough: only its own jobs' ends help
    cohort_used_up,  // the others' unused quota is not enough
  };
  // Supposing that own_freed of its own GPUs, and cohort_freed of its whole cohort (its own included), were released.
  [[nodiscard]] Verdict may_take(TenantIndex tenant, std::uint64_t gpus, std::uint64_t own_freed = 0,
                                 std::uint64_t cohort_freed = 0) const;
  // Whether it stays within its nominal quota with `more` GPUs.
  [[nodiscard]] bool within_nominal(TenantIndex tenant, std::uint64_t more = 0) const {
    return tenants_[tenant].used + more <= tenants_[tenant].nominal;
  }
  [[nodiscard]] bool same_cohort(TenantIndex a, TenantIndex b) const {
    return tenants_[a].cohort != kNoCohort && tenants_[a].cohort == tenants_[b].cohort;
  }
  [[nodiscard]] std::uint64_t nominal(TenantIndex tenant) const { return tenants_[tenant].nominal; }
  // The most it may hold, borrowed GPUs included; UINT64_MAX: whatever its cohort leaves.
  [[nodiscard]] std::uint64_t limit(TenantIndex tenant) const { return tenants_[tenant].limit; }
  struct CohortUse {
    std::string_view name;  // empty: it is in none
    std::uint64_t nominal = 0, used = 0;
  };
  [[nodiscard]] CohortUse cohort(TenantIndex tenant) const;

 private:
  static constexpr std::uint64_t kNoLimit = UINT64_MAX;
  static constexpr std::uint32_t kNoCohort = UINT32_MAX;
  struct Tenant {
    std::string name;
    std::uint64_t nominal = kNoLimit;
    std::uint64_t limit = kNoLimit;
    std::uint64_t used = 0;
    std::uint32_t cohort = kNoCohort;
    double weight = 1;
  };
  struct Cohort {
    std::string name;
    std::uint64_t nominal = 0;
    std::uint64_t used = 0;
  };
  std::vector<Tenant> tenants_;
  std::vector<Cohort> cohorts_;
  std::unordered_map<std::string, TenantIndex> by_name_;
};

}  // namespace railweave::scheduler
