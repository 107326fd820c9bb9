// What a job sends, as stated or assumed, and on which generation of GPUs: the input for scoring its placement.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "scheduler/collective/calibration.h"
#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/placement_fabric.h"
#include "scheduler/placement/fit/prediction.h"

namespace railweave::scheduler {

struct JobTraffic {
  TrafficSpec traffic;
  bool assumed = false;  // of assumed_model(): the job names neither model nor traffic
};
JobTraffic traffic_of_job(const JobSpec& spec);  // of a checked one, without what it exchanges with its peers

// The GPUs of a job, by rank; empty: it is not placed.
using PeerGpus = std::function<std::span<const fabric::GpuId>(std::uint64_t job)>;
enum class PeersOf : std::uint8_t {
  counted,  // RolePeer::counted: what predictions and loads on links have
  all,      // what the choice of a place depends on
};
// With what it exchanges with those of its peers that are placed. No function: with none of them.
JobTraffic traffic_of_job(const JobSpec& spec, const PeerGpus& places, PeersOf of = PeersOf::counted);

// What GPUs are, by PlacementFabric::gpu_models(): of a model; the fabric's first ones; the slowest of some. H100 where
// the constants of a model are not known.
const GpuGeneration& generation_of(const PlacementFabric& fabric, unsigned model);
const GpuGeneration& generation_of(const PlacementFabric& fabric);
const GpuGeneration& generation_of(const PlacementFabric& fabric, std::span<const fabric::GpuId> gpus);

Prediction prediction_of(const JobSpec& spec, const JobTraffic& traffic, const GpuGeneration& generation,
                         const PlacementCost& cost);
// us: by CommGroup; infinite where a flow has no route.
Prediction prediction_of(const JobSpec& spec, const JobTraffic& traffic, const GpuGeneration& generation,
                         const std::array<double, kCommGroups>& us);

// The time over which a job spreads what it sends: its step, where its model is stated or assumed; for a job that
// states only its traffic, the communication itself.
double period_us(const JobSpec& spec, const JobTraffic& traffic, const GpuGeneration& generation,
                 const PlacementCost& alone);
double period_us(const JobSpec& spec, const Prediction& prediction);  // of a placement whose ranks reach each other

}  // namespace railweave::scheduler
