#include "services/control/views/step_gains.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "services/control/state/cluster_state.h"

namespace railweave::control {
namespace {

using Placing = StepControl::Placing;

// The steps of one job under one control.
struct Sample {
  JobId job;
  std::size_t workload = 0;  // by number
  std::string scheduler, part;
  StepControl control;
  double mean_s = 0;
};

// Numbers workloads as they come.
class Workloads {
 public:
  std::size_t number_of(const StepTimes& times, const scheduler::JobSpec& spec) {
    auto& alike = known_[std::tuple(spec.tenant, times.workload, times.gpu_model)];
    const auto same = std::ranges::find_if(alike, [&](const auto& known) {
      return known.first->parallelism == spec.parallelism && known.first->model == spec.model &&
             known.first->traffic == spec.traffic;
    });
    if (same != alike.end()) return same->second;
    alike.emplace_back(&spec, next_);
    return next_++;
  }

 private:
  std::map<std::tuple<std::string, std::string, std::string>,
           std::vector<std::pair<const scheduler::JobSpec*, std::size_t>>>
      known_;
  std::size_t next_ = 0;
};

void add_samples(const StepTimes& times, const Job& job, std::size_t workload, std::vector<Sample>& samples) {
  std::vector<std::pair<StepControl, std::pair<std::uint64_t, double>>> sums;
  for (const StepPeriod& period : times.periods) {
    auto at = std::ranges::find(sums, period.control, &decltype(sums)::value_type::first);
    if (at == sums.end()) at = sums.insert(at, {period.control, {0, 0.0}});
    at->second.first += period.steps;
    at->second.second += period.seconds;
  }
  for (const auto& [control, sum] : sums) {
    if (sum.first < StepGain::kLeastSteps || sum.second <= 0) continue;
    samples.push_back({times.id, workload, job.spec.external.scheduler, job.spec.external.part, control,
                       sum.second / static_cast<double>(sum.first)});
  }
}

// Whether steps under this control ran with it; none: neither with nor, but for it, without.
std::optional<bool> side(StepGain::Step step, const StepControl& control) {
  switch (step) {
    case StepGain::Step::order:
    case StepGain::Step::place:
      if (control.placing == Placing::observe) return false;
      if (control.placing == (step == StepGain::Step::order ? Placing::order : Placing::place)) return true;
      return std::nullopt;
    case StepGain::Step::route:
      return control.routed;
    case StepGain::Step::guarantee:
      return control.guaranteed;
  }
  return std::nullopt;
}

// What is left of a control where the step is taken out.
StepControl rest_of(StepGain::Step step, StepControl control) {
  if (step == StepGain::Step::route) {
    control.routed = false;
  } else if (step == StepGain::Step::guarantee) {
    control.guaranteed = false;
  } else {
    control.placing = Placing::observe;
  }
  return control;
}

using Stratum = std::tuple<std::size_t, Placing, bool, bool>;

// The samples that one gain is computed of.
struct Compared {
  struct Sides {
    std::optional<double> without_s, with_s;
  };
  std::map<std::pair<Stratum, JobId>, Sides> jobs;
  std::set<std::string> parts;  // with it

  void add(StepGain::Step step, const Sample& sample) {
    const auto with = side(step, sample.control);
    if (!with) return;
    const StepControl rest = rest_of(step, sample.control);
    auto& sides = jobs[{{sample.workload, rest.placing, rest.routed, rest.guaranteed}, sample.job}];
    (*with ? sides.with_s : sides.without_s) = sample.mean_s;
    if (*with && !sample.scheduler.empty() && !sample.part.empty()) parts.insert(sample.part);
  }
};

std::optional<StepGain> gain_of(const Compared& compared) {
  std::vector<StepPair> pairs;
  std::map<Stratum, StepStratum> strata;
  std::map<std::size_t, std::uint64_t> paired;  // by workload
  for (const auto& [key, sides] : compared.jobs) {
    if (sides.without_s && sides.with_s) {
      pairs.push_back({*sides.without_s, *sides.with_s});
      ++paired[std::get<0>(key.first)];
    } else if (sides.with_s) {
      strata[key.first].with_s.push_back(*sides.with_s);
    } else {
      strata[key.first].without_s.push_back(*sides.without_s);
    }
  }
  StepGain gain;
  std::vector<StepStratum> several;
  if (pairs.size() < 2) {
    for (auto& [key, stratum] : strata) {
      if (!stratum.counts()) continue;
      gain.jobs_with += stratum.with_s.size();
      gain.jobs_without += stratum.without_s.size();
      several.push_back(std::move(stratum));
    }
  }
  if (const auto found = gain_of_strata(several)) {
    gain.estimate = *found;
    gain.workloads = several.size();
    return gain;
  }
  const auto found = gain_of_pairs(pairs);
  if (!found) return std::nullopt;
  gain.of = pairs.size() == 1 ? StepGain::Of::oneJob : StepGain::Of::sameJobs;
  gain.estimate = *found;
  gain.jobs_with = gain.jobs_without = pairs.size();
  gain.workloads = paired.size();
  return gain;
}

}  // namespace

std::vector<StepGain> step_gains(const ClusterState& state, const std::function<bool(const Job&)>& counts) {
  Workloads workloads;
  std::vector<JobPtr> kept;  // for as long as their specifications are compared
  std::vector<Sample> samples;
  state.steps.visit([&](const StepTimes& times) {
    JobPtr job = state.jobs.find(times.id);
    if (job == nullptr || times.workload.empty() || !counts(*job)) return;
    add_samples(times, *job, workloads.number_of(times, job->spec), samples);
    kept.push_back(std::move(job));
  });
  using Step = StepGain::Step;
  std::map<std::pair<Step, std::string>, Compared> compared;
  for (const Sample& sample : samples) {
    for (const Step step : {Step::order, Step::place}) compared[{step, sample.scheduler}].add(step, sample);
    for (const Step step : {Step::route, Step::guarantee}) compared[{step, {}}].add(step, sample);
  }
  std::vector<StepGain> gains;
  for (const auto& [key, of_one] : compared) {
    auto gain = gain_of(of_one);
    if (!gain) continue;
    std::tie(gain->step, gain->scheduler) = key;
    if (!gain->scheduler.empty()) gain->parts.assign(of_one.parts.begin(), of_one.parts.end());
    gains.push_back(std::move(*gain));
  }
  return gains;
}

}  // namespace railweave::control
