// The queue as JSON: waiting jobs and why they wait, shares of tenants, stranded GPUs, reservations, plans of repair
// and defragmentation.
#pragma once

#include <string>
#include <string_view>

#include "fabric/base/error.h"
#include "scheduler/queue/repair/defragment.h"
#include "scheduler/queue/repair/stranded.h"
#include "services/control/decide/queue_runner.h"
#include "services/control/events/command.h"
#include "services/control/guarantees/job_repair.h"

namespace railweave::api {

// {"waiting", "gpusWaiting", "oldestSubmittedAt", "running", "freeGpus", "lastCycle": {...} or null}
std::string write_queue(const control::ClusterState& state, const control::QueueView& view);
// A waiting job: its place in the queue (from 1), why it waits (null: submitted after the last cycle), and when it is
// expected to start (0: not known).
std::string write_waiting(const control::Job& job, std::uint64_t place, const scheduler::WaitReason* reason,
                          std::int64_t expected_us, const MessageReader& reader);

struct TenantShare {
  const control::Tenant* tenant = nullptr;
  std::uint64_t running_gpus = 0;
  std::uint64_t waiting_gpus = 0;
  double average_gpus = 0;  // over the half-life
};
std::string write_share(const TenantShare& share, std::uint64_t total_gpus);

std::string write_stranded(const scheduler::StrandedGpus& stranded, std::size_t shapes, std::uint64_t seq);
std::string write_defragmentation(const fabric::Topology& topology, const std::vector<scheduler::DefragmentStep>& steps,
                                  std::uint64_t seq);

// Body of PUT /v1/reservations/{name}.
Result<control::PutReservation> read_reservation(const std::string& name, std::string_view body);
std::string write_reservation(const fabric::Topology& topology, const control::GpuReservation& reservation);

// Body of POST /v1/jobs/{id}/repair; may be empty.
Result<control::RepairJob> read_repair(control::JobId id, std::string_view body);
std::string write_repair(const fabric::Topology& topology, const control::Job& job,
                         const control::RequestedRepair& repair);

}  // namespace railweave::api
