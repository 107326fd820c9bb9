#include "scheduler/queue/policy/quota_ledger.h"

#include <algorithm>

#include "fabric/base/check.h"

namespace railweave::scheduler {

QuotaLedger::QuotaLedger(const QueuePolicy& policy) {
  std::unordered_map<std::string, std::uint32_t> cohorts;
  for (const TenantQuota& quota : policy.tenants) {
    Tenant tenant{.name = quota.name, .weight = quota.weight};
    if (quota.nominal_gpus) {
      tenant.nominal = tenant.limit = *quota.nominal_gpus;
      if (!quota.cohort.empty()) {
        const auto [at, added] = cohorts.emplace(quota.cohort, static_cast<std::uint32_t>(cohorts_.size()));
        if (added) cohorts_.push_back({quota.cohort, 0, 0});
        tenant.cohort = at->second;
        cohorts_[tenant.cohort].nominal += tenant.nominal;
        tenant.limit = quota.borrow_gpus && *quota.borrow_gpus < kNoLimit - tenant.nominal
                           ? tenant.nominal + *quota.borrow_gpus
                           : kNoLimit;
      }
    }
    by_name_.emplace(quota.name, static_cast<TenantIndex>(tenants_.size()));
    tenants_.push_back(std::move(tenant));
  }
}

TenantIndex QuotaLedger::tenant(std::string_view name) {
  const auto [at, added] = by_name_.emplace(std::string(name), static_cast<TenantIndex>(tenants_.size()));
  if (added) tenants_.push_back({.name = std::string(name)});
  return at->second;
}

void QuotaLedger::take(TenantIndex tenant, std::uint64_t gpus) {
  Tenant& holder = tenants_[tenant];
  holder.used += gpus;
  if (holder.cohort != kNoCohort) cohorts_[holder.cohort].used += gpus;
}

void QuotaLedger::release(TenantIndex tenant, std::uint64_t gpus) {
  Tenant& holder = tenants_[tenant];
  RAILWEAVE_CHECK(holder.used >= gpus, "a tenant releases what it holds");
  holder.used -= gpus;
  if (holder.cohort != kNoCohort) cohorts_[holder.cohort].used -= gpus;
}

QuotaLedger::Verdict QuotaLedger::may_take(TenantIndex tenant, std::uint64_t gpus, std::uint64_t own_freed,
                                           std::uint64_t cohort_freed) const {
  const Tenant& holder = tenants_[tenant];
  if (holder.used - own_freed + gpus > holder.limit) return Verdict::over_limit;
  if (holder.cohort == kNoCohort) return Verdict::within;
  const Cohort& cohort = cohorts_[holder.cohort];
  return cohort.used - cohort_freed + gpus > cohort.nominal ? Verdict::cohort_used_up : Verdict::within;
}

QuotaLedger::CohortUse QuotaLedger::cohort(TenantIndex tenant) const {
  const Tenant& holder = tenants_[tenant];
  if (holder.cohort == kNoCohort) return {};
  const Cohort& cohort = cohorts_[holder.cohort];
  return {cohort.name, cohort.nominal, cohort.used};
}

}  // namespace railweave::scheduler
