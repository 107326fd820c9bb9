// Jobs that may run in one of several shapes. Each is decided in the shapes in which it fits now, the best first; where it
// can start in none, it waits as a job of its smallest shape, which is what the head of the queue needs at least.
#include <algorithm>
#include <limits>
#include <utility>

#include "scheduler/job/alternative_shapes.h"
#include "scheduler/queue/cycle/cycle_run.h"

namespace railweave::scheduler {

const QueuedJob& CycleRun::in_smallest_shape(const QueuedJob& job) {
  std::deque<Shape>& shapes = shapes_of_[job.id];
  std::vector<JobSpec> specs = specs_by_shape(*job.spec);
  std::ranges::stable_sort(specs, {}, [](const JobSpec& spec) { return rank_count(spec.parallelism); });
  for (JobSpec& spec : specs) {
    Shape& shape = shapes.emplace_back(std::move(spec), job);
    shape.job.spec = &shape.spec;
  }
  return shapes.front().job;
}

std::vector<QueueEntry> CycleRun::shapes_that_fit(const QueueEntry& entry) {
  std::vector<QueueEntry> fitting;
  std::vector<ShapeMerit> merits;
  for (const Shape& shape : shapes_of_.at(entry.job->id)) {
    const QueueEntry as = entry_of(shape.job);
    if (ledger_.may_take(as.tenant, as.gpus) != QuotaLedger::Verdict::within) continue;
    const auto placement = place_now(as, windows_of(as));
    if (!placement) continue;
    const auto period_us = now_placer_.priced_period_us(shape.spec, *placement);
    fitting.push_back(as);
    merits.push_back({period_us ? unit_of_work_us(shape.spec, *period_us) : std::numeric_limits<double>::infinity(),
                      rank_count(shape.spec.parallelism)});
  }
  std::vector<QueueEntry> entries;
  for (const std::size_t i : best_first(merits)) entries.push_back(fitting[i]);
  return entries;
}

bool CycleRun::start_in_some_shape(const QueueEntry& entry) {
  if (!shapes_of_.contains(entry.job->id)) return false;
  if (!entry.job->held.empty() || entry.job->not_before_us > input_.now_us) return false;
  if (head_ && policy_.backfill == Backfill::none) return false;
  const auto of_job = [&](const auto& one) { return one.job == entry.job->id; };
  for (const QueueEntry& as : shapes_that_fit(entry)) {
    only_now_ = true;
    place(as);
    only_now_ = false;
    if (std::ranges::any_of(result_.starts, of_job) || std::ranges::any_of(result_.kept, of_job)) return true;
    std::erase_if(result_.waiting, of_job);
    if (gate_kept_for_ == entry.job->id) gate_kept_for_ = 0;
  }
  return false;
}

}  // namespace railweave::scheduler
