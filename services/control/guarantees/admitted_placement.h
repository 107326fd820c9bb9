// Where a job goes such that what it is promised on the network fits beside the guarantees that there are.
#pragma once

#include <expected>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/admission/bandwidth_admission.h"
#include "services/control/events/command.h"
#include "services/control/views/guarantee_book.h"
#include "services/control/views/placer_cache.h"

namespace railweave::control {

// A refusal with outcome and explanation, as the answer to "where would it go": not now, or never. Others are as they
// were.
Rejection as_answer(const ClusterState& state, Rejection rejection);

// What the job is due on the network: what it asks within its tenant's contract, else the contract's own terms, with
// the class and the rate that apply to it alone. None: best effort. Errors: impossible "admission.noContract",
// "admission.overContract"; "admission.classNotAllowed", "admission.unknownClass".
Result<std::optional<scheduler::Contract>> job_terms(const ClusterState& state, const scheduler::JobSpec& spec);

// Beyond the contract's GPUs or NVLink domains: "contracts.gpuLimit", "nvlink.overQuota"; none: within.
std::optional<Rejection> over_quota(const ClusterState& state, const scheduler::JobSpec& spec,
                                    const scheduler::Placement& placement);

// Whether a placement that was chosen can be given its guarantee; none: it has none to be given. Brings the book to the
// state. Refused: conflict "admission.linksFull" with the links and who has them; impossible "admission.neverFits"
// where nobody has anything of them; "contracts.gpuLimit"; "nvlink.overQuota"; as job_terms().
std::expected<std::optional<JobGuarantee>, Rejection> admit(const ClusterState& state, const scheduler::JobSpec& spec,
                                                            const scheduler::Placement& placement, GuaranteeBook& book);

struct AdmittedPlacement {
  scheduler::PlacementResult result;  // placed
  std::optional<JobGuarantee> guarantee;
  fabric::ReservationPtr reservation;  // null: none
  std::vector<std::string> warnings;
};

// Placement on what guarantees leave of links, admitted; where links are full, again without the hosts behind them, at
// most kPlacementTries times.
inline constexpr unsigned kPlacementTries = 4;
std::expected<AdmittedPlacement, Rejection> admitted_placement(const ClusterState& state,
                                                               const scheduler::JobSpec& spec, PlacerCache& placers,
                                                               bool with_alternatives = false);

// The hosts whose cables are among the links, and those on the same switch as a port of the job whose links are: all
// that hang there would send over the same ones.
void add_hosts_behind(const ClusterState& state, const GuaranteeBook& book, const std::vector<fabric::PortId>& ports,
                      const std::vector<scheduler::Rejected::Where>& links, std::set<fabric::HostId>& hosts);

// One job's terms against a ledger that is like the book's: the book is at the state.
struct GrantRequest {
  std::string job;  // as reservations name it
  const scheduler::JobSpec& spec;
  const scheduler::Placement& placement;
  const scheduler::Contract& terms;  // of job_terms()
};
struct Grant {
  std::optional<JobGuarantee> guarantee;
  fabric::ReservationPtr reservation;  // null: it sends nothing over the network
  std::vector<std::string> warnings;
};
std::expected<Grant, Rejection> grant(const ClusterState& state, const GrantRequest& wanted,
                                      const fabric::Ledger& ledger, GuaranteeBook& book,
                                      std::vector<scheduler::Rejected::Where>* blocked = nullptr);

std::vector<BlockedLink> blocked_links(const std::vector<scheduler::Rejected::Where>& links);

}  // namespace railweave::control
