// Guarantees of jobs that send to another role reach to where that is placed (views/role_receivers.h): a place is refused where
// they do not. Pure but for the book that is passed in.
#pragma once

#include <expected>
#include <set>
#include <string>
#include <vector>

#include "scheduler/admission/bandwidth_admission.h"
#include "services/control/events/command.h"
#include "services/control/views/guarantee_book.h"

namespace railweave::control {

// Reserves in the ledger what the guarantees of the jobs need that the job receives data from, with it at this place, in the
// place of what they have there. Jobs that have nothing in the ledger are passed over. name: as reservations name the job. Refused,
// with some of them reserved: conflict "admission.linksFull", "admission.lanesTaken" and "admission.notConnected".
// Precondition: the book is at the state.
std::expected<std::vector<fabric::ReservationPtr>, Rejection> renew_senders(
    const ClusterState& state, const scheduler::JobSpec& spec, const std::string& name,
    const scheduler::Placement& placement, fabric::Ledger& ledger, GuaranteeBook& book,
    std::vector<scheduler::Rejected::Where>* blocked);

// Jobs with a guarantee that reaches to a role which is not where it was: it started, moved or ended.
std::set<JobId> reaching_elsewhere(const ClusterState& before, const ClusterState& after);

// Replaces in a ledger what these jobs have.
void put_renewed(fabric::Ledger& ledger, const std::vector<fabric::ReservationPtr>& renewed);

}  // namespace railweave::control
