#include "services/control/state/queue_rules.h"

#include <algorithm>

namespace railweave::control {

scheduler::QueuePolicy default_queue_policy() {
  scheduler::QueuePolicy policy;
  policy.classes = {{"low", -100, false, true}, {"normal", 0, false, true}, {"high", 100, true, false}};
  return policy;
}

scheduler::QueuePolicy whole_policy(const QueueRules& rules, const TenantTable& tenants, const ContractTable& contracts,
                                    const ReservationTable& reservations, std::int64_t now_us) {
  scheduler::QueuePolicy policy = rules.policy;
  for (const auto& [name, tenant] : tenants) {
    scheduler::TenantQuota quota{name, tenant.quota_gpus, {}, {}, tenant.weight};
    std::optional<std::uint64_t> max_gpus = tenant.max_gpus;
    if (const auto contract = contracts.find(name); contract != contracts.end() && contract->second.terms.max_gpus) {
      max_gpus = std::min(max_gpus.value_or(UINT64_MAX), *contract->second.terms.max_gpus);
    }
    if (!tenant.quota_gpus) {
      quota.nominal_gpus = max_gpus;  // a limit is a quota that neither lends nor borrows
    } else {
      quota.cohort = tenant.cohort;
      quota.borrow_gpus = tenant.borrow_gpus;
      if (max_gpus) {
        quota.nominal_gpus = std::min(*tenant.quota_gpus, *max_gpus);
        quota.borrow_gpus = std::min(quota.borrow_gpus.value_or(UINT64_MAX), *max_gpus - *quota.nominal_gpus);
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
