// Placement and bandwidth admission together: finds GPUs for a job such that its guarantee fits beside the existing
// ones. Used by decide() and by what-if queries. Pure but for the caches that are passed in.
#pragma once

#include <expected>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/admission/bandwidth_admission.h"
#include "scheduler/admission/seat.h"
#include "services/control/events/command.h"
#include "services/control/views/guarantee_book.h"
#include "services/control/views/placer_cache.h"

namespace railweave::control {

// Adds the outcome (not now, or never) and an explanation to a refusal, as a placement query answers it. Refusals of
// other kinds are returned unchanged.
Rejection as_answer(const ClusterState& state, Rejection rejection);

// The terms of the job's guarantee: its request within its tenant's contract, else the contract's own terms, with the
// job's class and rate. None: best effort. Errors: impossible "admission.noContract",
// "admission.overContract", "admission.betweenRoles"; "admission.classNotAllowed", "admission.unknownClass".
Result<std::optional<scheduler::Contract>> job_terms(const ClusterState& state, const scheduler::JobSpec& spec);

// The refusal if the placement exceeds the contract's GPUs or NVLink domains: "contracts.gpuLimit", "nvlink.overQuota".
// None: it is within the limits.
std::optional<Rejection> over_quota(const ClusterState& state, const scheduler::JobSpec& spec,
                                    const scheduler::Placement& placement);

// The guarantee for a chosen placement; none: the job is best effort. Brings the book to the state. Refused: conflict
// "admission.linksFull" and "admission.lanesTaken" with the links and the jobs that hold them; impossible
// "admission.noLanes"; "admission.notConnected"; "contracts.gpuLimit"; "nvlink.overQuota"; as job_terms().
std::expected<std::optional<JobGuarantee>, Rejection> admit(const ClusterState& state, const scheduler::JobSpec& spec,
                                                            const scheduler::Placement& placement, GuaranteeBook& book);

struct AdmittedPlacement {
  scheduler::PlacementResult result;  // outcome: placed
  std::optional<JobGuarantee> guarantee;
  fabric::ReservationPtr reservation;  // null: none
  std::vector<std::string> warnings;
};

// Places the job by the residual capacity of links and admits it (placement_tries.h): on no GPU that is set aside for
// others until the job is expected to end, and only where its ranks have routes to each other. It is impossible
// "admission.neverFits" only where that is proven (fits_on_no_cable()). work: what may be computed to find other places;
// null: as much as one request may.
std::expected<AdmittedPlacement, Rejection> admitted_placement(const ClusterState& state,
                                                               const scheduler::JobSpec& spec, PlacerCache& placers,
                                                               std::int64_t now_us, bool with_alternatives = false,
                                                               scheduler::SearchWork* work = nullptr);

// Why the job's ranks there could not exchange their data: impossible where every link is up, else a conflict.
std::optional<Rejection> cut_off(const ClusterState& state, const scheduler::JobSpec& spec,
                                 const scheduler::Placement& placement, const JobReach& reach);

// Adds the hosts whose traffic has to cross one of these links: the hosts at a link's end, and all hosts on a leaf
// whose uplink it is and to which a port of the job is connected.
void add_hosts_behind(const ClusterState& state, const GuaranteeBook& book, const std::vector<fabric::PortId>& ports,
                      const std::vector<scheduler::Rejected::Where>& links, std::set<fabric::HostId>& hosts);

// Admission of one job against a ledger, which may differ from the book's. Precondition: the book is at the state.
struct GrantRequest {
  std::string job;  // as reservations name it
  const scheduler::JobSpec& spec;
  const scheduler::Placement& placement;
  const scheduler::Contract& terms;  // of job_terms()
  std::optional<std::uint8_t> lane;  // of its own that it has now
};
struct Grant {
  std::optional<JobGuarantee> guarantee;
  fabric::ReservationPtr reservation;  // null: it sends nothing over the network
  std::vector<std::string> warnings;
  // What jobs that send to it have reserved then, in the place of what they have.
  std::vector<fabric::ReservationPtr> renewed;
};
std::expected<Grant, Rejection> grant(const ClusterState& state, const GrantRequest& wanted,
                                      const fabric::Ledger& ledger, GuaranteeBook& book,
                                      std::vector<scheduler::Rejected::Where>* blocked = nullptr);

// The guarantee of "this job" beside those in the book, which is brought to the state; refused as over_quota() and grant().
// Without terms it is best effort, and refused only where the guarantees of jobs that send to it do not reach it.
std::expected<Grant, Rejection> grant_within_quota(const ClusterState& state, const scheduler::JobSpec& spec,
                                                   const scheduler::Placement& placement,
                                                   const std::optional<scheduler::Contract>& terms, GuaranteeBook& book,
                                                   std::vector<scheduler::Rejected::Where>* blocked);

std::vector<BlockedLink> blocked_links(const std::vector<scheduler::Rejected::Where>& links);

}  // namespace railweave::control
