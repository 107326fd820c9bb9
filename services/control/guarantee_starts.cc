#include "services/control/guarantee_starts.h"

namespace railweave::control {

std::string GuaranteeStarts::start(JobId job, const scheduler::JobSpec& spec, const scheduler::Placement& placement,
                                   std::span<const JobId> evicted) {
  const auto terms = job_terms(state_, spec);
  if (!terms) return terms.error().message;
  if (!*terms && !ledger_ && state_.guaranteed->empty()) return {};
  if (!ledger_) {
    if (auto brought = book_.bring_to(state_); !brought) return *terms ? brought.error().message : std::string();
    ledger_ = book_.ledger();
  }
  fabric::Ledger then = *ledger_;
  for (const JobId gone : evicted) {
    for (const auto& held : then.reservations_of(to_string(gone))) (void)then.release(held->job, held->qos_class);
  }
  if (*terms) {
    auto made = grant(state_, {to_string(job), spec, placement, **terms}, then, book_);
    if (!made) return made.error().error.message;
    if (made->reservation) then.reserve(made->reservation);
    granted_.insert_or_assign(job, std::move(*made->guarantee));
  }
  ledger_ = std::move(then);
  return {};
}

std::optional<JobGuarantee> GuaranteeStarts::granted(JobId job) const {
  const auto at = granted_.find(job);
  return at == granted_.end() ? std::nullopt : std::optional(at->second);
}

}  // namespace railweave::control
