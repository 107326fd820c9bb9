#include "services/slurm/plan.h"

#include <algorithm>
#include <set>

namespace railweave::slurm {
namespace {

bool stuck(const Situation& situation, const SlurmJob& job) {
  if (job.reason.starts_with("ReqNodeNotAvail") || job.reason == "BadConstraints") return true;
  if (job.eligible_s > 0 && situation.now_s - job.eligible_s > situation.patience_s) return true;
  return std::ranges::any_of(
      job.pinned, [&](const std::string& node) { return std::ranges::binary_search(situation.unavailable, node); });
}

void plan_pending(const Situation& situation, const SlurmJob& job, const std::string* placement, Plan& plan) {
  if (!job.marked()) return;
  if (placement != nullptr) {
    const bool pinned = !job.pinned.empty() && job.placed_by(*placement);
    if (!pinned) {
      plan.pin.push_back(&job);
    } else if (stuck(situation, job)) {
      plan.repin.push_back(&job);
    }
  } else if (job.het || job.nodes == 0 || job.gpus == 0 || job.gpus % job.nodes != 0) {
    plan.leave.push_back(&job);
  } else {
    plan.place.push_back(&job);
  }
}

}  // namespace

Plan make_plan(const Situation& situation) {
  Plan plan;
  std::set<std::string> seen;
  for (const SlurmJob& job : *situation.jobs) {
    seen.insert(job.key());
    const auto held = situation.placements.find(job.key());
    const std::string* placement = held == situation.placements.end() ? nullptr : &held->second;
    if (job.ending()) {
      // One that is requeued counts as started again already, while its nodes are still those of the start before.
      if (job.restarts > 0) seen.insert(job.key_of_start(job.restarts - 1));
    } else if (job.pending()) {
      plan_pending(situation, job, placement, plan);
    } else if (job.gpus == 0 || job.running.empty()) {
      continue;
    } else if (placement == nullptr) {
      plan.adopt.push_back(&job);
    } else if (!job.placed_by(*placement)) {
      plan.verify.push_back(&job);
    }
  }
  for (const auto& [key, placement] : situation.placements) {
    if (!seen.contains(key)) plan.end.push_back(placement);
  }
  return plan;
}

}  // namespace railweave::slurm
