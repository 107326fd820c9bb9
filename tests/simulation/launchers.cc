// Launchers, as Slurm and Kubernetes are: they start and end the processes of jobs that were submitted with a launch, and know
// where processes are whatever the service believes.
#include <algorithm>
#include <chrono>
#include <set>

#include "tests/simulation/simulation.h"

namespace railweave::simulation {

using namespace control;  // NOLINT: this file is about its types

namespace {

std::int64_t seconds(unsigned n) { return 1'000'000LL * n; }

}  // namespace

LaunchTerms random_launch(Random& random) {
  LaunchTerms terms;
  terms.accept_us = seconds(1 + random.pick(60));
  terms.run_us = seconds(1 + random.pick(120));
  terms.notice_us = seconds(1 + random.pick(10));
  terms.release_us = seconds(1 + random.pick(60));
  terms.checkpointable = !random.one_in(3);
  return terms;
}

// One step of each launcher, some of which are slow. What it does not hear an answer to it asks again.
void Simulation::run_launchers(Random& random, bool are_prompt) {
  std::vector<JobPtr> jobs;
  auditor_.state().jobs.visit_after(JobId(0), [&](const JobPtr& job) {
    if (job->holds_gpus() && job->launch) jobs.push_back(job);
    return true;
  });
  for (const JobPtr& job : jobs) {
    if (are_prompt || !random.one_in(3)) launch(*job, random, are_prompt);
  }
}

void Simulation::launch(const Job& job, Random& random, bool is_prompt) {
  const JobId id = job.id;
  if (job.move && !job.move->accepted) {
    ++counts_["offers of moves"];
    (void)ask(AnswerMove{id, is_prompt || !random.one_in(3)});
    return;
  }
  switch (job.launch->phase) {
    case LaunchPhase::offered: {
      if (!is_prompt && random.one_in(6)) return;  // it may expire
      const RequestPtr request = ask(AdvanceLaunch{id, LaunchPhase::accepted});
      launched_[id].asked = request;
      request->on_accepted = [this, id, request = request.get()](const ClusterState& state) {
        Launched& launched = launched_[id];
        if (launched.asked.get() != request) return;  // it gave that up meanwhile
        const JobPtr now = state.jobs.find(id);
        if (now == nullptr || !now->holds_gpus() || now->launch->phase != LaunchPhase::accepted) return;
        launched.gpus = now->placement.gpu_of_rank;
        ++counts_["launches"];
      };
      return;
    }
    case LaunchPhase::accepted:
      (void)ask(AdvanceLaunch{id, LaunchPhase::running});
      return;
    case LaunchPhase::running:
      if (!job.launch->left.empty()) {
        if (is_prompt || random.one_in(5)) return end_left(job, random);
        // The node is back before the launcher has ended anything.
        const std::string& gpu = job.launch->left.front();
        const DrainTarget drain{DrainKind::node, gpu.substr(0, gpu.rfind(':'))};
        if (auditor_.state().drains->contains(drain)) (void)ask(ClearDrain{drain, ""});
        return;
      }
      if (!is_prompt && random.one_in(8)) {  // one of its nodes is said to be lost
        (void)ask(RepairJob{id, {job.nodes[random.pick(job.nodes.size())]}, {}, "", {}});
        return;
      }
      if (!random.one_in(12)) return;
      launched_.erase(id);  // its processes end by themselves
      (void)ask(EndJob{id, JobState::completed, "", {}, true});
      return;
    case LaunchPhase::releasing:
      break;
  }
  Launched& launched = launched_[id];
  launched.asked = nullptr;
  std::vector<std::string> nodes;
  if (!is_prompt && random.one_in(3)) {
    std::vector<std::string> all = job.nodes;
    for (const auto& gpu : job.launch->left) all.push_back(gpu.substr(0, gpu.rfind(':')));
    nodes.push_back(all[random.pick(all.size())]);
  }
  const auto& t = auditor_.state().topology();
  std::erase_if(launched.gpus,
                [&](fabric::GpuId gpu) { return nodes.empty() || t.name(t.host(gpu)) == nodes.front(); });
  (void)ask(FreeJob{id, std::move(nodes)});
}

// Processes of ranks that a repair has moved away from a node are ended, first, and that is said.
void Simulation::end_left(const Job& job, Random& random) {
  const auto& t = auditor_.state().topology();
  const std::string& gpu = job.launch->left[random.pick(job.launch->left.size())];
  const std::string node = gpu.substr(0, gpu.rfind(':'));
  std::erase_if(launched_[job.id].gpus, [&](fabric::GpuId one) {
    return t.name(t.host(one)) == node &&
           std::ranges::find(job.placement.gpu_of_rank, one) == job.placement.gpu_of_rank.end();
  });
  ++counts_["nodes freed after repairs"];
  (void)ask(FreeJob{job.id, {node}, false, job.version});
}

// No GPU has processes of two jobs, and none has those of a job that neither holds it nor has yet to free it.
void Simulation::check_processes() {
  // Ranks that a repair moves are started there; where they were they run on until the launcher ends them.
  for (const JobId id : auditor_.take_repaired()) {
    const JobPtr job = auditor_.state().jobs.find(id);
    const auto found = launched_.find(id);
    if (job == nullptr || found == launched_.end() || found->second.gpus.empty()) continue;
    auto& gpus = found->second.gpus;
    for (const auto gpu : job->placement.gpu_of_rank) {
      if (std::ranges::find(gpus, gpu) == gpus.end()) gpus.push_back(gpu);
    }
  }
  const auto& t = auditor_.state().topology();
  std::map<fabric::GpuId, JobId> user;
  for (const auto& [id, launched] : launched_) {
    const JobPtr job = auditor_.state().jobs.find(id);
    for (const auto gpu : launched.gpus) {
      if (const auto [found, is_first] = user.emplace(gpu, id); !is_first) {
        return fail(gpu_text(t, gpu) + " runs processes of " + to_string(found->second) + " and " + to_string(id));
      }
      const bool is_held = job != nullptr && job->holds_gpus() &&
                           (std::ranges::find(job->placement.gpu_of_rank, gpu) != job->placement.gpu_of_rank.end() ||
                            std::ranges::find(job->launch->left, gpu_text(t, gpu)) != job->launch->left.end());
      if (!is_held) return fail(gpu_text(t, gpu) + " runs processes of " + to_string(id) + ", which does not hold it");
    }
  }
}

// Jobs of one GPU, of the tenant without a contract, some of which end, and one of a whole node that waits: room that moves can
// make.
void Simulation::crowd(Random& random) {
  const auto& t = auditor_.state().topology();
  const auto gpus = static_cast<unsigned>(t.gpus().size());
  const auto submit = [&](unsigned tensor, bool is_checkpointable) {
    SubmitJob command = random_submission(random);
    command.spec.tenant = "silver";
    command.spec.parallelism = {.tensor = tensor};
    command.spec.min_runtime_s = 0;
    command.queue = true;
    command.not_before_us = 0;
    command.launch = random_launch(random);
    command.launch->checkpointable = is_checkpointable;
    submit_job(std::move(command));
  };
  const auto pass = [&](unsigned steps) {
    for (; steps > 0; --steps) {
      run_launchers(random, true);
      step(100 + random.pick(400));
    }
  };
  for (unsigned n = gpus; n > 0; --n) submit(1, !random.one_in(4));
  pass(3);
  auditor_.state().jobs.visit_after(JobId(0), [&](const JobPtr& job) {
    if (!job->holds_gpus() || random.one_in(2)) return true;
    launched_.erase(job->id);
    ask(EndJob{job->id, JobState::completed, "", {}, true})->ends = job->id;
    return true;
  });
  submit(gpus / fabric_.hosts(), true);
  pass(2);
}

void Simulation::offer_moves(Random& random) {
  if (!random.one_in(4)) crowd(random);
  MoveTarget target;
  constexpr MoveTarget::For kTargets[] = {MoveTarget::For::head, MoveTarget::For::job, MoveTarget::For::domains};
  target.what = kTargets[random.pick(3)];
  std::vector<JobId> waiting;
  auditor_.state().jobs.visit_after(JobId(0), [&](const JobPtr& job) {
    if (job->state == JobState::queued) waiting.push_back(job->id);
    return true;
  });
  if (target.what == MoveTarget::For::job && !waiting.empty()) target.job = random.any(waiting);
  (void)ask(OfferMoves{target});
}

void Simulation::put_queue_policy(Random& random) {
  scheduler::QueuePolicy policy = auditor_.state().queue_rules->policy;
  constexpr scheduler::Backfill kBackfill[] = {scheduler::Backfill::easy, scheduler::Backfill::conservative};
  policy.backfill = kBackfill[random.pick(2)];
  policy.place_wait.yields = random.one_in(2);
  policy.place_wait.most_us = seconds(random.pick(120));
  policy.moves.automatic = !random.one_in(3);
  policy.moves.after_us = seconds(1 + random.pick(20));
  policy.moves.answer_us = seconds(1 + random.pick(30));
  policy.moves.evict_unanswered = random.one_in(3);
  policy.least_run_us = seconds(random.pick(60));
  (void)ask(PutQueueRules{policy, {}});
}

}  // namespace railweave::simulation
