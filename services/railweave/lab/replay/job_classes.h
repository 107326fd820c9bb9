// Classes of traffic for jobs by the GPU time that their communication holds up: Crux (SIGCOMM 2024) gives a job the priority of
// its GPU intensity, the computation of a step over the time that its fullest link takes for what the step sends. Crux also
// corrects intensities by how communication overlaps, and joins priorities by which jobs meet; here jobs in the order of their
// intensities are cut into classes of equal number.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/flow/flow_paths.h"
#include "scheduler/collective/routed_traffic.h"
#include "scheduler/job/job_spec.h"

namespace railweave::cli {

inline constexpr unsigned kMaxJobClasses = 8;

// FLOPs of a step per microsecond of its fullest link; 0: it sends nothing that has a route.
double gpu_intensity(const scheduler::JobSpec& spec, std::span<const scheduler::PortFlow> flows,
                     const fabric::PathWalker& walker, std::span<const double> capacity_mbps);

// By job: 0 is the best class. Equal intensities are in the order of the jobs.
std::vector<std::uint8_t> job_classes(std::span<const double> intensities, unsigned classes);

// What a lane for each class has in the VL arbitration table of a port: twice the next one's, as exactly as the table can.
std::vector<double> class_weights(unsigned classes);

}  // namespace railweave::cli
