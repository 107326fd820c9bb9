#include "services/control/codec/step_json.h"

#include <memory>
#include <utility>

#include "services/control/codec/event_body.h"
#include "services/control/codec/job_number.h"
#include "services/control/codec/message_json.h"
#include "services/control/state/cluster_state.h"

namespace railweave::api {
namespace {

using control::JobStepsReported;
using control::StepControl;
using control::StepPeriod;
using control::StepTimes;

constexpr ByText kPlacing{[](StepControl::Placing placing) { return control::to_string(placing); },
                          [](std::string_view text) { return parse_enum<StepControl::Placing>(text); },
                          "step of control"};
constexpr ByText kPace{[](JobStepsReported::Pace pace) { return control::to_string(pace); },
                       [](std::string_view text) { return parse_enum<JobStepsReported::Pace>(text); }, "pace"};

constexpr auto in_control(auto member) {
  return [member](auto& record) -> auto& { return record.control.*member; };
}

constexpr std::tuple kReportedFields{field("number", &JobStepsReported::id, JobNumber{}),
                                     field("steps", &JobStepsReported::steps),
                                     field("seconds", &JobStepsReported::seconds),
                                     field("workload", &JobStepsReported::workload),
                                     field("gpuModel", &JobStepsReported::gpu_model),
                                     field("placing", in_control(&StepControl::placing), kPlacing),
                                     optional_field("routed", in_control(&StepControl::routed)),
                                     optional_field("guaranteed", in_control(&StepControl::guaranteed)),
                                     optional_field("predictedUs", &JobStepsReported::predicted_us),
                                     optional_field("factor", &JobStepsReported::factor),
                                     optional_field("pace", &JobStepsReported::pace, kPace),
                                     optional_field("onPath", &JobStepsReported::on_path, Said{})};
constexpr std::tuple kPeriodFields{field("placing", in_control(&StepControl::placing), kPlacing),
                                   optional_field("routed", in_control(&StepControl::routed)),
                                   optional_field("guaranteed", in_control(&StepControl::guaranteed)),
                                   optional_field("predictedUs", &StepPeriod::predicted_us),
                                   field("sinceUs", &StepPeriod::since_us),
                                   field("untilUs", &StepPeriod::until_us),
                                   field("steps", &StepPeriod::steps),
                                   field("seconds", &StepPeriod::seconds)};
constexpr std::tuple kTimesFields{field("number", &StepTimes::id, JobNumber{}),
                                  field("workload", &StepTimes::workload),
                                  field("gpuModel", &StepTimes::gpu_model),
                                  field("periods", &StepTimes::periods, list_of<StepPeriod>(kPeriodFields)),
                                  field("firstUs", &StepTimes::first_us),
                                  field("reportedUs", &StepTimes::reported_us),
                                  field("reports", &StepTimes::reports),
                                  optional_field("windowSteps", &StepTimes::window_steps),
                                  optional_field("windowSeconds", &StepTimes::window_seconds),
                                  optional_field("slow", &StepTimes::slow),
                                  optional_field("factor", &StepTimes::factor),
                                  optional_field("onPath", &StepTimes::on_path, Said{}),
                                  field("version", &StepTimes::version)};

}  // namespace

Out to_json(const JobStepsReported& event) { return fields_json(event, kReportedFields); }

std::optional<Result<control::EventBody>> step_event_from_json(std::string_view kind, const Json& data) {
  if (kind == "job.stepsReported" || kind == "job.slow" || kind == "job.onPace") {
    return body_of<JobStepsReported>(data, kReportedFields);
  }
  return std::nullopt;
}

Out step_times_to_json(const control::StepTable& steps) {
  Out list = Out::array();
  steps.visit([&](const StepTimes& times) { list.push_back(fields_json(times, kTimesFields)); });
  return list;
}

Result<void> read_step_times(const Json& value, control::ClusterState& state) {
  for (const auto& item : value) {
    auto times = record_from_json<StepTimes>(item, "/steps", kTimesFields);
    if (!times) return std::unexpected(times.error());
    if (state.jobs.find(times->id) != nullptr) state.steps.put(std::make_shared<const StepTimes>(std::move(*times)));
  }
  return {};
}

}  // namespace railweave::api
