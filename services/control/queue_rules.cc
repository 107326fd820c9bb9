#include "services/control/queue_rules.h"

#include <algorithm>

namespace railweave::control {

scheduler::QueuePolicy default_queue_policy() {
  scheduler::QueuePolicy policy;
  policy.classes = {{"low", -100, false, true}, {"normal", 0, false, true}, {"high", 100, true, false}};
  return policy;
}

scheduler::QueuePolicy whole_policy(const QueueRules& rules, const TenantTable& tenants,
                                    const ReservationTable& reservations, std::int64_t now_us) {
  scheduler::QueuePolicy policy = rules.policy;
  for (const auto& [name, tenant] : tenants) {
    scheduler::TenantQuota quota{name, tenant.quota_gpus, {}, {}, tenant.weight};
    if (!tenant.quota_gpus) {
      quota.nominal_gpus = tenant.max_gpus;  // a limit is a quota that neither lends nor borrows
    } else {
      quota.cohort = tenant.cohort;
      quota.borrow_gpus = tenant.borrow_gpus;
      if (tenant.max_gpus) {
        quota.nominal_gpus = std::min(*tenant.quota_gpus, *tenant.max_gpus);
        quota.borrow_gpus = std::min(quota.borrow_gpus.value_or(UINT64_MAX), *tenant.max_gpus - *quota.nominal_gpus);
      }
    }
    policy.tenants.push_back(std::move(quota));
  }
  for (const auto& [name, reservation] : reservations) {
    if (reservation.window.to_us > now_us && policy.windows.size() < scheduler::QueuePolicy::kMaxWindows) {
      policy.windows.push_back(reservation.window);
    }
  }
  return policy;
}

}  // namespace railweave::control
