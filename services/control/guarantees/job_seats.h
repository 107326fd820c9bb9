// Where on a fabric a job's GPUs may be, as seats for a search (scheduler/admission/seat_search.h): GPUs that are free in
// a tree, on nodes that the job allows, in pieces that its tensor groups or its number of GPUs per node ask for. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "scheduler/admission/seat.h"
#include "scheduler/placement/fit/placement_fabric.h"
#include "scheduler/placement/fit/placement_tree.h"
#include "services/control/state/job.h"

namespace railweave::control {

// Seats of which a place has to be made of: those of one group of the level that the job must stay in, with GPUs of one
// model unless it may mix them.
struct SeatScope {
  std::vector<scheduler::Seat> seats;
  std::vector<std::vector<fabric::GpuId>> gpus;  // by seat: `unit_gpus` for each of its units
};

struct JobSeats {
  std::vector<SeatScope> scopes;
  std::uint64_t unit_gpus = 1;
  std::uint64_t units = 0;  // of the job
  // Every place that the job could have is made of these seats, or loads links no less than one that is.
  bool exact = true;
};

// None: jobs that hold more than their ranks' GPUs, that are spread, or whose tensor groups span nodes of a fixed number
// of GPUs are not searched for.
std::optional<JobSeats> job_seats(const scheduler::PlacementFabric& fabric, const scheduler::PlacementTree& tree,
                                  const scheduler::JobSpec& spec);

}  // namespace railweave::control
