// What a job sends, as stated or assumed, and on which generation of GPUs: the input for scoring its placement.
#pragma once

#include <string_view>

#include "scheduler/collective/calibration.h"
#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/placement_fabric.h"
#include "scheduler/placement/fit/prediction.h"

namespace railweave::scheduler {

struct JobTraffic {
  TrafficSpec traffic;
  bool assumed = false;  // of assumed_model(): the job names neither model nor traffic
};
JobTraffic traffic_of_job(const JobSpec& spec);  // of a checked one

// The generation that a label such as "h100" or "NVIDIA-GB200" names; null: none that is known.
const GpuGeneration* generation_named(std::string_view label);
// What the fabric's GPUs are: the label "gpu" of its first host with GPUs, else by the rate of its NVLink.
const GpuGeneration& generation_of(const PlacementFabric& fabric);

// ... of the GPUs that the job selects by their label; usual: the fabric's.
const GpuGeneration& generation_for(const JobSpec& spec, const GpuGeneration& usual);

Prediction prediction_of(const JobSpec& spec, const JobTraffic& traffic, const GpuGeneration& generation,
                         const PlacementCost& cost);
// us: by CommGroup; infinite where a flow has no route.
Prediction prediction_of(const JobSpec& spec, const JobTraffic& traffic, const GpuGeneration& generation,
                         const std::array<double, kCommGroups>& us);

// The time over which a job spreads what it sends: its step, where its model is stated or assumed; for a job that
// states only its traffic, the communication itself.
double period_us(const JobSpec& spec, const JobTraffic& traffic, const GpuGeneration& generation,
                 const PlacementCost& alone);

}  // namespace railweave::scheduler
