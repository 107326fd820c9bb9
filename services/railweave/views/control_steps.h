// What the schedulers beside the service let it decide, and what its advice would have gained so far.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/railweave/terminal/output.h"

namespace railweave::cli {

struct ControlStep {
  std::string scheduler;            // "slurm"
  std::vector<std::string> parts;   // partitions or namespaces of its jobs that hold GPUs, by name
  std::string step;                 // "observe", "order", "place"; "": it does not say
  std::uint64_t jobs = 0;           // that hold GPUs now
  std::uint64_t advised = 0;        // jobs, ended ones too, of which a gain is known
  std::uint64_t better = 0;         // of these, those that would have been faster elsewhere
  std::uint64_t gain_permille = 0;  // of communication per step, mean over the GPUs of all advised jobs
};

// From jobs as GET /v1/jobs lists them, of any state: partitions and namespaces may be at steps of their own, so one for each step that
// a job of a scheduler was at. In the order of the schedulers' names, the step of the newest job first.
std::vector<ControlStep> control_steps(const Json& jobs);

// "step observe (debug, test), 12 jobs placed; elsewhere 3 of 9 would have been faster, 23.4% less communication over all of
// them (predicted)". Of a step that no job holds GPUs at any more: "was at step observe; ..."
std::string control_step_text(const ControlStep& step);
Json control_step_json(const ControlStep& step);

}  // namespace railweave::cli
