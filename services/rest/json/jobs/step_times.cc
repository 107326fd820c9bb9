#include "services/rest/json/jobs/step_times.h"

#include <cmath>
#include <optional>
#include <utility>

#include "services/control/codec/prediction_json.h"
#include "services/json/contract_object.h"
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
  return object<"StepPeriod">(
      with<"placing">(period.control.placing), with<"routed">(period.control.routed),
      with<"guaranteed">(period.control.guaranteed), with<"since">(time_or_null(period.since_us)),
      with<"until">(time_or_null(period.until_us)), with<"steps">(period.steps), with<"seconds">(period.seconds),
      with<"stepMs">(ms_or_null_of_s(mean)), with<"predictedMs">(ms_json(period.predicted_us)),
      with<"factor">(compares ? Out(1e6 * *mean / *period.predicted_us) : Out(nullptr)));
}

constexpr auto kReportFields = request_fields<"StepReport">(
    required_field<"steps">(&control::ReportSteps::steps, UpTo{StepTimes::kMaxSteps}),
    required_field<"seconds">(&control::ReportSteps::seconds), field<"workload">(&control::ReportSteps::workload));

std::int64_t permille(double share) { return std::llround(1000 * share); }

}  // namespace

Result<control::ReportSteps> read_step_report(control::JobId id, std::string_view body) {
  auto value = parse_json(body);
  if (!value) return std::unexpected(value.error());
  control::ReportSteps report;
  report.id = id;
  ObjectReader reader(*value, "");
  read_fields(reader, report, kReportFields);
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
  return object<"JobSteps">(
      with<"job">(control::to_string(job)), with<"workload">(times == nullptr ? Out(nullptr) : Out(shown.workload)),
      with<"gpuModel">(times == nullptr ? Out(nullptr) : Out(shown.gpu_model)), with<"reports">(shown.reports),
      with<"reportedAt">(time_or_null(shown.reported_us)), with<"nextReportAt">(time_or_null(shown.next_us())),
      with<"slow">(shown.slow), with<"factor">(number_or_null(shown.factor)),
      with<"onPath">(shown.on_path.empty() ? Out(nullptr) : Out(shown.on_path.text(reader))),
      with<"periods">(std::move(periods)), with<"version">(shown.version));
}

std::string write_step_times(control::JobId job, const StepTimes* times, const MessageReader& reader) {
  return dump(step_times_json(job, times, reader));
}

std::string write_gains(std::span<const StepGain> gains, std::uint64_t seq) {
  Out items = Out::array();
  for (const StepGain& gain : gains) {
    const auto& interval = gain.estimate.interval;
    items.push_back(object<"StepGain">(
        with<"step">(gain.step), with<"scheduler">(gain.scheduler.empty() ? Out(nullptr) : Out(gain.scheduler)),
        with<"parts">(gain.parts), with<"of">(gain.of), with<"gainPermille">(permille(gain.estimate.gain)),
        with<"interval">(interval ? object<"StepGain.interval">(with<"lowPermille">(permille(interval->low)),
                                                                with<"highPermille">(permille(interval->high)))
                                  : Out(nullptr)),
        with<"jobsWith">(gain.jobs_with), with<"jobsWithout">(gain.jobs_without), with<"workloads">(gain.workloads)));
  }
  return dump(object<"Gains">(with<"gains">(std::move(items)), with<"seq">(seq)));
}

}  // namespace railweave::api
