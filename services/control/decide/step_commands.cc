// What jobs report of their steps.
#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/text/time_text.h"
#include "scheduler/placement/score/job_traffic.h"
#include "services/control/decide/commands.h"
#include "services/control/decide/refusal.h"
#include "services/control/events/step_events.h"
#include "services/control/views/job_ports.h"

namespace railweave::control {
namespace {

StepControl::Placing placing_of(const Job& job) {
  if (const auto said = parse_enum<StepControl::Placing>(job.spec.external.step)) return *said;
  return job.adopted ? StepControl::Placing::observe : StepControl::Placing::place;
}

bool has_own_routes(const ClusterState& state, const Job& job) {
  const fabric::Topology& topology = state.topology();
  std::vector<fabric::SubnetId> subnets;
  for (const fabric::PortId port : job_ports(*state.placement_fabric, job.placement.gpu_of_rank)) {
    if (const auto subnet = topology.subnet(port)) subnets.push_back(subnet);
  }
  std::ranges::sort(subnets);
  const auto twice = std::ranges::unique(subnets);
  subnets.erase(twice.begin(), twice.end());
  return !subnets.empty() && std::ranges::all_of(subnets, [&](fabric::SubnetId subnet) {
    return state.mode(topology.name(subnet)) != SubnetMode::observe;
  });
}

std::optional<Rejection> refused(const Job& job, const StepTimes* before, const ReportSteps& command,
                                 std::int64_t now_us) {
  const auto rejection = [](ErrorKind kind, const char* code, std::string what, std::string hint) {
    return Rejection{{kind, code, std::move(what), {}, std::move(hint)}, nullptr};
  };
  const std::string name = to_string(job.id);
  if (!job.holds_gpus()) {
    return rejection(ErrorKind::conflict, "jobs.notRunning",
                     fmt::format("{} is {}: only placed jobs report steps", name, to_string(job.state)), {});
  }
  if (before == nullptr || before->reports == 0) return std::nullopt;
  if (now_us < before->next_us()) {
    return rejection(
        ErrorKind::busy, "steps.tooSoon",
        fmt::format("{} reported {} s ago", name, (now_us - before->reported_us) / 1'000'000),
        "add these steps to its next report, from " + whole_second_text(before->next_us() + 999'999) + " on");
  }
  constexpr double kSlackS = 5;
  const double passed_s = static_cast<double>(now_us - before->reported_us) / 1e6;
  if (command.seconds <= passed_s * 1.1 + kSlackS) return std::nullopt;
  return rejection(
      ErrorKind::impossible, "steps.moreThanPassed",
      fmt::format("{} reports steps of {:.4g} s, {:.4g} s after its last report", name, command.seconds, passed_s),
      "report from one rank alone, and each step once");
}

// The window that would end with this report; none: it goes on.
std::optional<double> judged_factor(const StepTimes* before, const JobStepsReported& report, bool is_new) {
  if (!report.predicted_us || *report.predicted_us <= 0) return std::nullopt;
  if (before == nullptr || !goes_on(*before, report, is_new)) return std::nullopt;
  const std::uint64_t steps = before->window_steps + report.steps;
  if (steps < StepTimes::kJudgedSteps) return std::nullopt;
  return 1e6 * (before->window_seconds + report.seconds) / static_cast<double>(steps) / *report.predicted_us;
}

}  // namespace

DecisionResult decide_command(const DecisionInput& in, const ReportSteps& command) {
  const ClusterState& state = in.state;
  const JobPtr job = state.jobs.find(command.id);
  if (job == nullptr) return job_not_found(command.id);
  const StepTimesPtr before = state.steps.find(command.id);
  if (auto no = refused(*job, before.get(), command, in.now_us)) return std::unexpected(std::move(*no));
  JobStepsReported report{.id = command.id, .steps = command.steps, .seconds = command.seconds};
  // Names of other schedulers' jobs are made of their ids: no two are alike.
  const std::string name = job->spec.external.id.empty() ? job->spec.name : std::string();
  report.workload = !command.workload.empty() ? command.workload : before ? before->workload : name;
  report.gpu_model = scheduler::generation_of(*state.placement_fabric, job->placement.gpu_of_rank).name;
  report.control = {placing_of(*job), has_own_routes(state, *job), job->guarantee.has_value()};
  const auto& predicted = job->placement.predicted;
  if (predicted && predicted->reachable && !predicted->assumed) report.predicted_us = predicted->step_us;
  const bool is_new = before == nullptr || job->started_us > before->reported_us;
  report.factor = judged_factor(before.get(), report, is_new);
  const bool was_slow = before != nullptr && before->slow;
  if (report.factor && !was_slow && *report.factor >= StepTimes::kSlow) {
    report.pace = JobStepsReported::Pace::slow;
    report.on_path = command.on_path;
  } else if (report.factor && was_slow && *report.factor < StepTimes::kOnPace) {
    report.pace = JobStepsReported::Pace::onPace;
  }
  return Decision{{std::move(report)}, command.id, false};
}

}  // namespace railweave::control
