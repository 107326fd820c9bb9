// The time of a job's step whose groups' flows get max-min fair rates on the routes, each group's at once: a judge that follows
// cables and solves for rates, where placement counts links.
#pragma once

#include <optional>
#include <span>

#include "scheduler/collective/path_model.h"
#include "scheduler/collective/phase_times.h"
#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/placement_fabric.h"

namespace railweave::cli {

// bundle_mbps: what is up, for what stays inside NVLink domains. background: null, the job is alone. none: some flow has no route.
std::optional<double> flow_period_us(const scheduler::PlacementFabric& fabric, const scheduler::PathModel& paths,
                                     std::span<const double> bundle_mbps, const scheduler::JobSpec& spec,
                                     std::span<const fabric::GpuId> gpu_of_rank,
                                     const scheduler::BackgroundFlows* background = nullptr);

}  // namespace railweave::cli
