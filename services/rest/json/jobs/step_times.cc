#include "services/rest/json/jobs/step_times.h"

#include <cmath>
#include <optional>
#include <utility>

#include "services/control/codec/prediction_json.h"
#include "services/json/json_out.h"
#include "services/json/strict_json.h"
#include "services/rest/json/time_value.h"

namespace railweave::api {
namespace {

using control::StepGain;
using control::StepPeriod;
using control::StepTimes;

Out number_or_null(const std::optional<double>& number) { return number ? Out(*number) : Out(nullptr); }

Out ms_or_null_of_s(const std::optional<double>& seconds) { return seconds ? ms_json(1e6 * *seconds) : Out(nullptr); }

Out period_json(const StepPeriod& period) {
  const auto mean = period.mean_s();
  const bool compares = mean && period.predicted_us && *period.predicted_us > 0;
  return {{"placing", control::to_string(period.control.placing)},
          {"routed", period.control.routed},
          {"guaranteed", period.control.guaranteed},
          {"since", time_or_null(period.since_us)},
          {"until", time_or_null(period.until_us)},
          {"steps", period.steps},
          {"seconds", period.seconds},
          {"stepMs", ms_or_null_of_s(mean)},
          {"predictedMs", ms_json(period.predicted_us)},
          {"factor", compares ? Out(1e6 * *mean / *period.predicted_us) : Out(nullptr)}};
}

std::int64_t permille(double share) { return std::llround(1000 * share); }

}  // namespace

Result<control::ReportSteps> read_step_report(control::JobId id, std::string_view body) {
  auto value = parse_json(body);
  if (!value) return std::unexpected(value.error());
  control::ReportSteps report;
  report.id = id;
  ObjectReader reader(*value, "");
  reader.require("steps");
  reader.read("steps", report.steps, StepTimes::kMaxSteps);
  reader.require("seconds");
  reader.read("seconds", report.seconds);
  reader.read("workload", report.workload);
  if (!reader.failed()) {
    if (report.steps == 0) reader.set_error("steps", "is 0", "1 to 1000000000: those since the last report");
    if (!(report.seconds > 0) || report.seconds > StepTimes::kMaxSeconds) {
      reader.set_error("seconds", "is not above 0 and at most a year", "how long these steps took together");
    }
    if (report.workload.size() > StepTimes::kMaxWorkloadBytes) {
      reader.set_error("workload", "is longer than 253 bytes", "a name that jobs to be compared share");
    }
  }
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return report;
}

Out step_times_json(control::JobId job, const StepTimes* times, const MessageReader& reader) {
  static const StepTimes kNone;
  const StepTimes& shown = times == nullptr ? kNone : *times;
  Out periods = Out::array();
  for (const StepPeriod& period : shown.periods) periods.push_back(period_json(period));
  return {{"job", control::to_string(job)},
          {"workload", times == nullptr ? Out(nullptr) : Out(shown.workload)},
          {"gpuModel", times == nullptr ? Out(nullptr) : Out(shown.gpu_model)},
          {"reports", shown.reports},
          {"reportedAt", time_or_null(shown.reported_us)},
          {"nextReportAt", time_or_null(shown.next_us())},
          {"slow", shown.slow},
          {"factor", number_or_null(shown.factor)},
          {"onPath", shown.on_path.empty() ? Out(nullptr) : Out(shown.on_path.text(reader))},
          {"periods", std::move(periods)},
          {"version", shown.version}};
}

std::string write_step_times(control::JobId job, const StepTimes* times, const MessageReader& reader) {
  return dump(step_times_json(job, times, reader));
}

std::string write_gains(std::span<const StepGain> gains, std::uint64_t seq) {
  Out items = Out::array();
  for (const StepGain& gain : gains) {
    const auto& interval = gain.estimate.interval;
    items.push_back({{"step", control::to_string(gain.step)},
                     {"scheduler", gain.scheduler.empty() ? Out(nullptr) : Out(gain.scheduler)},
                     {"parts", gain.parts},
                     {"of", control::to_string(gain.of)},
                     {"gainPermille", permille(gain.estimate.gain)},
                     {"interval", interval ? Out{{"lowPermille", permille(interval->low)},
                                                 {"highPermille", permille(interval->high)}}
                                           : Out(nullptr)},
                     {"jobsWith", gain.jobs_with},
                     {"jobsWithout", gain.jobs_without},
                     {"workloads", gain.workloads}});
  }
  return dump({{"gains", std::move(items)}, {"seq", seq}});
}

}  // namespace railweave::api
