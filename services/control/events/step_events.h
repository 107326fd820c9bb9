// That a job has reported how long its steps took, and what that makes of the state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "fabric/base/message.h"
#include "services/control/state/job_id.h"
#include "services/control/state/step_times.h"

namespace railweave::control {

struct ClusterState;

struct JobStepsReported {
  enum class Pace : std::uint8_t { unchanged, slow, onPace };
  BOOST_DESCRIBE_NESTED_ENUM(Pace, unchanged, slow, onPace)

  JobId id;
  std::uint64_t steps = 0;  // since its last report
  double seconds = 0;
  std::string workload, gpu_model;  // as StepTimes
  StepControl control;              // at the time of the report
  std::optional<double> predicted_us;
  std::optional<double> factor;  // of the prediction: the window that ends with this report; none: it goes on
  Pace pace = Pace::unchanged;   // from this report on
  Message on_path;               // where it becomes slow: what is known of its path
};
constexpr std::string_view to_string(JobStepsReported::Pace pace) { return to_text(pace); }

struct Event;
void apply_change(ClusterState& state, const JobStepsReported& body, const Event& event);

// "is slow: its steps take 1.8 times the 830 ms predicted; ..."
Message text(const JobStepsReported& report);

// Whether the report is of the period that goes on; else a new one begins. `is_new`: it has none, or the job has started
// since, so that no step is of an earlier period.
bool goes_on(const StepTimes& times, const JobStepsReported& report, bool is_new);

}  // namespace railweave::control
