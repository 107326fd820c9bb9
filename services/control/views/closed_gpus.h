// GPUs that a tenant's jobs may not be given for some time: reserved for others, or under maintenance. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/job/job_spec.h"
#include "services/control/state/cluster_state.h"

namespace railweave::control {

struct ClosedGpus {
  std::vector<fabric::GpuId> gpus;   // ascending, each once
  std::vector<std::string> windows;  // names of the reservations and maintenance they belong to
};

// From one time to another, as the queue has it: windows that are over, or of the tenant's own, close nothing.
ClosedGpus closed_gpus(const ClusterState& state, const std::string& tenant, std::int64_t from_us, std::int64_t to_us);

// When a job that starts now is expected to end.
std::int64_t expected_end_us(const ClusterState& state, const scheduler::JobSpec& spec, std::int64_t now_us);
// ... that runs; after now, also where it should have ended before.
std::int64_t expected_end_us(const ClusterState& state, const Job& job, std::int64_t now_us);

}  // namespace railweave::control
