// What the operator does not do before the step `place`, and what it says instead.
#include <algorithm>
#include <iterator>

#include "services/slurm/operator.h"

namespace railweave::slurm {

void Operator::hold_back(Plan& plan) {
  const std::string why = options_.step == Step::observe ? "Railweave only observes (--step observe)"
                                                         : "Railweave only orders ranks (--step order)";
  for (auto* jobs : {&plan.pin, &plan.repin, &plan.place, &plan.later}) {
    for (const SlurmJob* job : *jobs) plan.leave.push_back({job, why});
    jobs->clear();
  }
  for (const SlurmJob* job : plan.evict) say_once("job " + job->id + " would have to leave; " + why);
  plan.evict.clear();
}

void Operator::advise(std::span<const SlurmJob* const> jobs, const Situation& situation,
                      std::vector<Placements::Ask>& asks) {
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    // Its own nodes are free for it: Slurm counts what it uses of them.
    OwnChoice choice = choice_of(*jobs[i], situation);
    const auto& own = jobs[i]->running;
    std::erase_if(choice.excluded, [&](const std::string& node) { return std::ranges::find(own, node) != own.end(); });
    choice.allowed.clear();
    std::ranges::set_difference(all_nodes_, choice.excluded, std::back_inserter(choice.allowed));
    asks[i].advice = placements_.advice(*jobs[i], {choice.excluded, choice.allowed});
  }
}

}  // namespace railweave::slurm
