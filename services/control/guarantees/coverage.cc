#include "services/control/guarantees/coverage.h"

#include <utility>

#include "fabric/capacity/lane_owners.h"

namespace railweave::control {

CoverageStep next_coverage(const ClusterState& state, GuaranteeBook& book) {
  auto& waiting = book.to_cover();
  while (!waiting.empty()) {
    const auto first = waiting.begin();
    const JobPtr job = state.guaranteed->contains(first->first) ? state.jobs.find(first->first) : nullptr;
    const auto basis = basis_of(state.view);
    if (job == nullptr || !job->guarantee->survives_link_failure || job->guarantee->covered ||
        job->guarantee->at_risk() || !basis || !book.bring_to(state)) {
      waiting.erase(first);
      continue;
    }
    // In steps while the number of unknown failures falls. It does not fall if they exceed the cache of
    // FailureCoverage; then surviving() computes all of them at once.
    const std::size_t unknown = book.unknown_failures(*job);
    if (unknown > kFailuresPerStep && unknown < first->second) {
      first->second = unknown;
      book.compute_failures(*job, kFailuresPerStep);
      return {{}, true};
    }
    waiting.erase(first);
    auto wanted = book.surviving(*job);
    if (!wanted || !wanted->complete || wanted->reservation == nullptr) continue;
    fabric::Ledger ledger = book.ledger();
    (void)ledger.release(to_string(job->id), wanted->reservation->qos_class);
    if (!ledger.full_links(wanted->reservation->loads, wanted->reservation->qos_class, 1).empty()) continue;
    if (!fabric::lane_is_free(ledger, *wanted->reservation)) continue;
    JobGuarantee now = *job->guarantee;
    now.covered = true;
    now.basis = *basis;
    return {{GuaranteeChanged{job->id, job->spec.tenant, GuaranteeChange::covered, std::move(now), 0}},
            !waiting.empty()};
  }
  return {};
}

}  // namespace railweave::control
