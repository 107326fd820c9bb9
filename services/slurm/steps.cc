// What the operator does not do before the step `place`, and what it says instead.
#include <algorithm>
#include <iterator>

#include "services/slurm/operator.h"

namespace railweave::slurm {

void Operator::read_steps(const std::vector<SlurmJob>& jobs) {
  step_of_parts_.clear();
  for (const SlurmJob& job : jobs) {
    if (job.het == 0) continue;
    const Step own = options_.steps.of(job.needs.partition);
    const auto [parts, first] = step_of_parts_.try_emplace(job.het, own);
    if (!first) parts->second = std::min(parts->second, own);
  }
}

Step Operator::step_of(const SlurmJob& job) const {
  const auto parts = step_of_parts_.find(job.het);
  return parts == step_of_parts_.end() ? options_.steps.of(job.needs.partition) : parts->second;
}

void Operator::hold_back(Plan& plan) {
  const auto why = [&](const SlurmJob& job) -> std::string {
    return step_of(job) == Step::observe ? "Railweave only observes (step observe)"
                                         : "Railweave only orders ranks (step order)";
  };
  const auto is_held_back = [&](const SlurmJob* job) { return step_of(*job) != Step::place; };
  for (auto* jobs : {&plan.pin, &plan.repin, &plan.place, &plan.later}) {
    for (const SlurmJob* job : *jobs) {
      if (is_held_back(job)) plan.leave.push_back({job, why(*job)});
    }
    std::erase_if(*jobs, is_held_back);
  }
  for (const SlurmJob* job : plan.evict) {
    if (is_held_back(job)) say_once("job " + job->id + " would have to leave; " + why(*job));
  }
  std::erase_if(plan.evict, is_held_back);
}

void Operator::advise(const Situation& situation, std::vector<Placements::Ask>& asks) {
  for (Placements::Ask& ask : asks) {
    if (ask.step == Step::place) continue;
    // Its own nodes are free for it: Slurm counts what it uses of them.
    OwnChoice choice = choice_of(*ask.job, situation);
    const auto& own = ask.job->running;
    std::erase_if(choice.excluded, [&](const std::string& node) { return std::ranges::find(own, node) != own.end(); });
    choice.allowed.clear();
    std::ranges::set_difference(all_nodes_, choice.excluded, std::back_inserter(choice.allowed));
    ask.advice = placements_.advice(*ask.job, {choice.excluded, choice.allowed});
  }
}

}  // namespace railweave::slurm
