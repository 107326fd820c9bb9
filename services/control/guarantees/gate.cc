#include "services/control/guarantees/gate.h"

#include "services/control/guarantees/admitted_placement.h"

namespace railweave::control {

std::string GuaranteeGate::start(const scheduler::QueuedJob& job, const scheduler::Placement& placement,
                                 std::span<const scheduler::QueueJobId> evicted) {
  const auto contract = state_.contracts->find(job.spec->tenant);
  const bool counts_domains = contract != state_.contracts->end() && contract->second.terms.max_nvlink_domains;
  if (counts_domains && domains_counted_.contains(job.spec->tenant)) {
    return "its tenant has a limit of NVLink domains, and another job of the tenant starts in the same cycle";
  }
  if (auto over = over_quota(state_, *job.spec, placement)) return over->error.message;
  if (auto cut = cut_off(state_, *job.spec, placement, reach_)) return cut->error.message;
  const auto terms = job_terms(state_, *job.spec);
  if (!terms) return terms.error().message;
  const auto pass = [&] {
    evicted_.insert(evicted.begin(), evicted.end());
    if (counts_domains) domains_counted_.insert(job.spec->tenant);
    return std::string();
  };
  if (!*terms) return pass();
  if (!ledger_) {
    if (auto brought = book_.bring_to(state_); !brought) return brought.error().message;
    ledger_ = book_.ledger();
  }
  fabric::Ledger trial = *ledger_;
  const auto release = [&](scheduler::QueueJobId id) {
    const std::string name = to_string(JobId(id));
    for (const auto& reservation : trial.reservations_of(name)) (void)trial.release(name, reservation->qos_class);
  };
  for (const auto id : evicted_) release(id);  // jobs evicted before the first request for bandwidth
  for (const auto id : evicted) release(id);
  auto admitted = grant(state_, {to_string(JobId(job.id)), *job.spec, placement, **terms}, trial, book_);
  if (!admitted) return admitted.error().error.message;
  if (admitted->reservation != nullptr) trial.reserve(admitted->reservation);
  ledger_ = std::move(trial);
  if (admitted->guarantee) granted_.insert_or_assign(job.id, *admitted->guarantee);
  return pass();
}

std::optional<JobGuarantee> GuaranteeGate::granted(scheduler::QueueJobId job) const {
  const auto at = granted_.find(job);
  return at == granted_.end() ? std::nullopt : std::optional(at->second);
}

}  // namespace railweave::control
