// Jobs that may run in one of several shapes: each shape as a job of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/job/job_spec.h"

namespace railweave::scheduler {

// The job in each of its shapes, in the order of the request; the job itself where it has one.
std::vector<JobSpec> specs_by_shape(const JobSpec& spec);

// Of the smallest shape: what it needs at least.
std::uint64_t fewest_ranks(const JobSpec& spec);

// The job in its smallest shape, the first of several: as this one it holds its place in the queue and is refused.
JobSpec smallest_shape(const JobSpec& spec);

// Microseconds for a unit of the job's work, to compare its shapes by: lower is better. period_us: of a step. The work of
// a step is the global batch of its model, whatever the shape, or else as much for every data-parallel rank.
double unit_of_work_us(const JobSpec& spec, double period_us);

// What shapes are compared by.
struct ShapeMerit {
  double unit_us = 0;  // unit_of_work_us(); infinite: not predicted, as in a fabric without a known network
  std::uint64_t ranks = 0;
};

// Places in `merits`, the best first: those that are as fast as the fastest, within 1%, from small to large, then the others by their
// time. From large to small where one of them is not predicted.
std::vector<std::size_t> best_first(std::span<const ShapeMerit> merits);

}  // namespace railweave::scheduler
