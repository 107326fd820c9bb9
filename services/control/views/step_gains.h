// What steps of control have gained, measured: the step times that jobs of one workload reported with and without each. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "fabric/base/enum_text.h"
#include "services/control/state/job.h"
#include "services/control/views/gain_estimate.h"

namespace railweave::control {

struct ClusterState;

struct StepGain {
  static constexpr std::uint64_t kLeastSteps = 10;  // of a job on one side, else they are not counted

  enum class Step : std::uint8_t { order, place, route, guarantee };
  BOOST_DESCRIBE_NESTED_ENUM(Step, order, place, route, guarantee)
  enum class Of : std::uint8_t {
    sameJobs,      // each of several jobs before and after
    workloadJobs,  // different jobs of one workload
    oneJob,        // a single job before and after: no interval
  };
  BOOST_DESCRIBE_NESTED_ENUM(Of, sameJobs, workloadJobs, oneJob)

  Step step = Step::place;
  std::string scheduler;           // whose jobs they are, of order and place: "slurm"; else ""
  std::vector<std::string> parts;  // of it that ran jobs with the step: partitions, namespaces; by name
  Of of = Of::workloadJobs;
  GainEstimate estimate;
  std::uint64_t jobs_with = 0, jobs_without = 0;
  std::uint64_t workloads = 0;
};
constexpr std::string_view to_string(StepGain::Step step) { return to_text(step); }
constexpr std::string_view to_string(StepGain::Of of) { return to_text(of); }

// Of the jobs that are kept and for which `counts` holds. Jobs are of one workload where tenant, workload, model of GPUs,
// parallelism, model and traffic are equal; of them those are compared that differ in that step of control alone. Pairs of the
// same jobs come before different jobs.
std::vector<StepGain> step_gains(const ClusterState& state, const std::function<bool(const Job&)>& counts);

}  // namespace railweave::control
