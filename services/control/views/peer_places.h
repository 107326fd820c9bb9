// Where the peers of jobs are, for what is predicted from a state.
#pragma once

#include <memory>

#include "scheduler/placement/score/job_traffic.h"
#include "services/control/state/job_table.h"

namespace railweave::control {

// The table is read at each call. The GPUs are good until it changes.
scheduler::PeerGpus peer_places(std::shared_ptr<const JobTable> jobs);

}  // namespace railweave::control
