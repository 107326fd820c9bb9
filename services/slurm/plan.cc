#include "services/slurm/plan.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include <fmt/core.h>

namespace railweave::slurm {
namespace {

bool stuck(const Situation& situation, const SlurmJob& job) {
  // Of several partitions Slurm says so of one, before it tries the next.
  if (job.reason.starts_with("ReqNodeNotAvail") && !job.needs.partition.contains(',')) return true;
  if (job.eligible_s > 0 && situation.now_s - job.eligible_s > situation.patience_s) return true;
  return std::ranges::any_of(
      job.pinned, [&](const std::string& node) { return std::ranges::binary_search(situation.unavailable, node); });
}

// Why Slurm does not begin it on the nodes of its pin, and would not on others either, or on others that only Slurm knows;
// "": there is no such reason.
std::string refusal_of(const Situation& situation, const SlurmJob& job) {
  if (job.reason == "BadConstraints") {
    return situation.has_blocks ? "its blocks, or the job's segments, do not allow the nodes that Railweave chose"
                                : "Slurm does not take the nodes that Railweave chose (BadConstraints)";
  }
  if (job.reason.starts_with("ReqNodeNotAvail") && job.reason.contains("eserved")) {
    return "Slurm does not give it the nodes that Railweave chose (" + job.reason + ")";
  }
  // Limits of accounts, QOS and licences hold back the job wherever it would run: no GPUs are held for it meanwhile.
  for (const std::string_view limit :
       {"QOS", "Assoc", "MaxMemPerLimit", "Licenses", "BurstBuffer", "MaxJobs", "Partition", "AccountNot"}) {
    if (job.reason.starts_with(limit)) return "Slurm holds it back by " + job.reason;
  }
  return {};
}

constexpr std::string_view kArrayWords = "waits for its array, tasks at a time: ";

// Tasks of each array that hold GPUs, and how many may run; 0: not known.
struct Array {
  std::size_t held = 0, most = 0;
};
using Arrays = std::map<std::string, Array>;

Arrays read_arrays(const Situation& situation) {
  Arrays arrays;
  for (const SlurmJob& job : *situation.jobs) {
    if (job.array().empty()) continue;
    Array& array = arrays[job.array()];
    if (situation.placements.contains(job.key()) && !job.is_over_limit()) ++array.held;
    if (const std::size_t at = job.mark.find(kArrayWords); at != std::string::npos)
      array.most = std::strtoul(job.mark.c_str() + at + kArrayWords.size(), nullptr, 10);
  }
  return arrays;
}

// Whether its array lets it run now; it counts as held from then on.
bool takes_turn(Arrays& arrays, const SlurmJob& job) {
  const auto array = arrays.find(job.array());
  if (array == arrays.end()) return true;
  if (array->second.most != 0 && array->second.held >= array->second.most) return false;
  ++array->second.held;
  return true;
}

void plan_pending(const Situation& situation, const SlurmJob& job, const Held* held, Arrays& arrays, Plan& plan) {
  if (!job.marked()) return;
  if (job.is_left()) {
    if (held != nullptr) plan.end.push_back(*held);
  } else if (held != nullptr) {
    const bool pinned = job.is_pinned() && job.placed_by(held->id) && held->phase != Held::Phase::offered;
    if (const std::string refused = pinned ? refusal_of(situation, job) : std::string(); !refused.empty()) {
      plan.leave.push_back({&job, refused});
    } else if (held->phase == Held::Phase::releasing || job.waits_for_itself()) {
      plan.repin.push_back(&job);
    } else if (!pinned) {
      plan.pin.push_back(&job);
    } else if (stuck(situation, job)) {
      plan.repin.push_back(&job);
    }
  } else if (job.nodes == 0 || job.gpus == 0 || job.gpus % job.nodes != 0) {
    plan.leave.push_back({&job, "not the same number of GPUs on a given number of nodes"});
  } else if (job.waits_for_itself() || !takes_turn(arrays, job)) {
    plan.later.push_back(&job);
  } else {
    plan.place.push_back(&job);
  }
}

void plan_running(const SlurmJob& job, const Held* held, Plan& plan) {
  if (job.gpus == 0 || job.running.empty()) return;
  if (held == nullptr) {
    plan.adopt.push_back(&job);
  } else if (held->phase == Held::Phase::releasing) {
    plan.evict.push_back(&job);
  } else if (!job.placed_by(held->id)) {
    plan.verify.push_back(&job);
  } else if (held->phase != Held::Phase::running && !job.configuring()) {
    (job.runs_where_marked() ? plan.began : plan.verify).push_back(&job);
  }
}

// Parts of a heterogeneous job follow its first one.
void join_parts(std::vector<const SlurmJob*>& jobs) {
  std::map<unsigned, std::size_t> first;
  std::vector<std::pair<std::size_t, const SlurmJob*>> order;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    order.emplace_back(jobs[i]->het == 0 ? i : first.try_emplace(jobs[i]->het, i).first->second, jobs[i]);
  std::ranges::stable_sort(order, {}, &std::pair<std::size_t, const SlurmJob*>::first);
  std::ranges::transform(order, jobs.begin(), [](const auto& entry) { return entry.second; });
}

}  // namespace

std::string array_limit_words(std::size_t tasks) { return fmt::format("{}{}", kArrayWords, tasks); }

Plan make_plan(const Situation& situation) {
  Plan plan;
  std::set<std::string> seen;
  Arrays arrays = read_arrays(situation);
  const auto held_by = [&](const std::string& key) -> const Held* {
    const auto held = situation.placements.find(key);
    return held == situation.placements.end() ? nullptr : &held->second;
  };
  const auto clearing = [&](const std::string& key) {
    seen.insert(key);
    const Held* held = held_by(key);
    if (held != nullptr && held->phase != Held::Phase::releasing) plan.release.push_back(*held);
  };
  for (const SlurmJob& job : *situation.jobs) {
    seen.insert(job.key());
    if (job.ending()) {
      clearing(job.key());
      // One that is requeued counts as started again already, while its nodes are still those of the start before.
      if (job.restarts > 0) clearing(job.key_of_start(job.restarts - 1));
    } else if (job.pending()) {
      plan_pending(situation, job, held_by(job.key()), arrays, plan);
    } else {
      plan_running(job, held_by(job.key()), plan);
    }
  }
  for (const auto& [key, held] : situation.placements) {
    if (!seen.contains(key)) plan.end.push_back(held);
  }
  join_parts(plan.place);
  return plan;
}

}  // namespace railweave::slurm
