#include "services/control/events/step_events.h"

#include <cmath>
#include <iterator>
#include <memory>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/check.h"
#include "services/control/events/event.h"
#include "services/control/state/cluster_state.h"

namespace railweave::control {

namespace {

// The journal keeps predictions to the nanosecond.
bool is_same(const std::optional<double>& was, const std::optional<double>& is) {
  constexpr double kRounding = 1e-6;
  if (!was || !is) return was == is;
  return std::abs(*was - *is) <= kRounding * *was;
}

}  // namespace

bool goes_on(const StepTimes& times, const JobStepsReported& report, bool is_new) {
  if (is_new || times.periods.empty()) return false;
  const StepPeriod& last = times.periods.back();
  return last.control == report.control && is_same(last.predicted_us, report.predicted_us);
}

void apply_change(ClusterState& state, const JobStepsReported& body, const Event& event) {
  const JobPtr job = state.jobs.find(body.id);
  RAILWEAVE_CHECK(job != nullptr, "the job of an event exists");
  const StepTimesPtr before = state.steps.find(body.id);
  auto times = before ? std::make_shared<StepTimes>(*before) : std::make_shared<StepTimes>();
  const bool is_new = before == nullptr || job->started_us > times->reported_us;
  if (!goes_on(*times, body, is_new)) {
    if (times->periods.size() == StepTimes::kMaxPeriods) times->periods.erase(std::next(times->periods.begin()));
    times->periods.push_back({body.control, body.predicted_us, event.time_us, event.time_us, 0, 0});
    times->window_steps = 0;
    times->window_seconds = 0;
    // Some of its steps ran before the change: they are of neither period.
    if (is_new) {
      times->periods.back().steps = body.steps;
      times->periods.back().seconds = body.seconds;
    }
  } else {
    StepPeriod& period = times->periods.back();
    period.steps += body.steps;
    period.seconds += body.seconds;
    period.until_us = event.time_us;
    times->window_steps += body.steps;
    times->window_seconds += body.seconds;
  }
  if (body.factor) {
    times->factor = body.factor;
    times->window_steps = 0;
    times->window_seconds = 0;
  }
  if (body.pace != JobStepsReported::Pace::unchanged) {
    times->slow = body.pace == JobStepsReported::Pace::slow;
    times->on_path = body.on_path;
  }
  times->id = body.id;
  times->workload = body.workload;
  times->gpu_model = body.gpu_model;
  if (times->first_us == 0) times->first_us = event.time_us;
  times->reported_us = event.time_us;
  ++times->reports;
  times->version = event.seq;
  state.steps.put(std::move(times));
}

Message text(const JobStepsReported& report) {
  const double mean_ms = 1000 * report.seconds / static_cast<double>(report.steps);
  if (report.pace == JobStepsReported::Pace::unchanged || !report.factor || !report.predicted_us) {
    return fmt::format("reported {} step{} of {:.4g} ms", report.steps, report.steps == 1 ? "" : "s", mean_ms);
  }
  const std::string times =
      fmt::format("its steps take {:.2f} times the {:.4g} ms predicted", *report.factor, *report.predicted_us / 1000);
  if (report.pace == JobStepsReported::Pace::onPace) return "is not slow any more: " + times;
  Message slow("is slow: " + times);
  if (!report.on_path.empty()) {
    slow += "; ";
    slow += report.on_path;
  }
  return slow;
}

}  // namespace railweave::control
