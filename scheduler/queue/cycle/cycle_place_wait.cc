// Jobs that wait for a better place than the one that is free. Each keeps that one: for the others its GPUs, and its part
// of its tenant's quota, are taken, as if it had started. So it can start there when its time is over, whatever comes.
#include <algorithm>
#include <cmath>
#include <utility>

#include "fabric/base/check.h"
#include "scheduler/queue/cycle/cycle_run.h"

namespace railweave::scheduler {

using fabric::GpuId;

// What the last cycle kept, where it is in service; found again where only that it was kept is known.
void CycleRun::keep_again(std::span<const QueueEntry> entries) {
  if (policy_.place_wait.yields) return;
  const auto keep = [&](const QueueEntry& entry, std::span<const GpuId> gpus) {
    if (!now_.take(gpus)) return;
    kept_.push_back({.entry = entry,
                     .until_us = std::max(entry.job->place_until_us, input_.now_us),
                     .gpus = {gpus.begin(), gpus.end()}});
    count_kept(kept_.back());
  };
  std::vector<const QueueEntry*> unknown;
  for (const QueueEntry& entry : entries) {
    const QueuedJob& job = *entry.job;
    if (latest_start(entry) == 0) continue;
    const bool in_service = std::ranges::all_of(job.kept, [&](GpuId gpu) {
      const HostAllocation& host = now_placer_.tree().allocation(topology_.host(gpu));
      return !host.unavailable && (host.closed >> topology_.local_index(gpu) & 1U) == 0;
    });
    if (!job.kept.empty() && in_service) {
      keep(entry, job.kept);
    } else if (job.keeps_place && job.place_until_us != 0) {
      unknown.push_back(&entry);
    }
  }
  for (const QueueEntry* entry : unknown) {
    if (const auto placement = place_now(*entry, windows_of(*entry))) keep(*entry, placement->held_gpus());
  }
}

void CycleRun::count_kept(Kept& kept) {
  ledger_.take(kept.entry.tenant, kept.gpus.size());
  kept_gpus_.resize(ledger_.tenant_count());
  kept_gpus_[kept.entry.tenant] += kept.gpus.size();
  if (profile_) kept.hold = profile_->hold(kept.gpus, input_.now_us, kept.until_us + kept.entry.duration_us);
}

CycleRun::Kept CycleRun::open(std::vector<Kept>::iterator at) {
  Kept kept = std::move(*at);
  kept_.erase(at);
  RAILWEAVE_CHECK(now_.release(kept.gpus), "what is kept is taken");
  ledger_.release(kept.entry.tenant, kept.gpus.size());
  kept_gpus_[kept.entry.tenant] -= kept.gpus.size();
  if (kept.hold && profile_) profile_->drop(*kept.hold);
  kept.hold.reset();
  forget_capacity();
  return kept;
}

void CycleRun::open_own(const QueueEntry& entry) {
  const auto at = std::ranges::find(kept_, entry.job->id, [](const Kept& kept) { return kept.entry.job->id; });
  if (at != kept_.end()) open(at);
}

// Until when it may wait for a better place, since it had the first one; 0: it does not wait.
std::int64_t CycleRun::latest_start(const QueueEntry& entry) const {
  const PlaceWait& rule = policy_.place_wait;
  if (input_.best == nullptr || rule.most_us == 0 || policy_.backfill == Backfill::none || entry.starving) return 0;
  if (entry.job->takes_any_place || !entry.says_duration) return 0;
  if (entry.job->place_until_us != 0) return entry.job->place_until_us;
  const auto share_us = static_cast<std::int64_t>(rule.share * static_cast<double>(entry.duration_us));
  return input_.now_us + std::min(rule.most_us, share_us);
}

// True: it waits on, and keeps this place.
bool CycleRun::waits_for_place(const QueueEntry& entry, const Placement& placement) {
  if (policy_.place_wait.yields) return false;
  const std::int64_t until_us = latest_start(entry);
  if (until_us <= input_.now_us || !placement.idle_gpus.empty()) return false;
  const JobSpec& spec = *entry.job->spec;
  const auto here_us = Placer::period_us(spec, placement);
  const auto best_us = here_us ? input_.best->period_us(spec) : std::nullopt;
  if (!best_us || *here_us <= *best_us * (1 + policy_.place_wait.gain)) return false;
  if (!may_start_later(entry, placement, until_us)) return false;
  kept_.push_back({.entry = entry, .until_us = until_us, .gpus = placement.held_gpus(), .placement = placement});
  RAILWEAVE_CHECK(now_.take(kept_.back().gpus), "a placement takes free GPUs");
  count_kept(kept_.back());
  ++changes_;
  result_.kept.push_back({entry.job->id, kept_.back().gpus, until_us});
  note_wake(until_us);
  wait(entry, {.code = WaitCode::better_place, .at_us = until_us, .here_us = *here_us, .best_us = *best_us});
  return true;
}

// Whether it could start on this place as late as that: no window begins, and no job that waits is delayed.
bool CycleRun::may_start_later(const QueueEntry& entry, const Placement& placement, std::int64_t until_us) {
  QueueEntry longer = entry;
  longer.duration_us += until_us - input_.now_us;
  if (windows_of(longer) != windows_of(entry)) return false;
  if (!head_) return true;
  const std::int64_t end_us = until_us + entry.duration_us;
  const auto gpus = placement.held_gpus();
  if (policy_.backfill == Backfill::conservative) {
    profile_->show(input_.now_us, end_us, exempt_windows(entry.tenant));
    const PlacementTree& tree = profile_->placer().tree();
    return std::ranges::none_of(gpus, [&](GpuId gpu) {
      return (tree.allocation(topology_.host(gpu)).used >> topology_.local_index(gpu) & 1U) != 0;
    });
  }
  if (end_us <= head_->at_us) return true;
  const auto hold = profile_->hold(gpus, input_.now_us, end_us);
  const auto beside = place_head_later();
  profile_->drop(hold);
  ++result_.placements_tried;
  if (beside) plan_head(*beside);
  return beside.has_value();
}

bool CycleRun::same_claim(const QueueEntry& a, const QueueEntry& b) {
  return a.value() == b.value() && same_use(*a.job->spec, *b.job->spec);
}

bool CycleRun::equal_waits_for_place(const QueueEntry& entry) const {
  return std::ranges::any_of(kept_, [&](const Kept& kept) { return kept.placement && same_claim(kept.entry, entry); });
}

// Whether the earlier one may start where the later one would, and the later one on what the earlier one kept, with no
// window in their way and without a delay of a job that waits.
bool CycleRun::may_exchange(const Kept& earlier, const QueueEntry& later) const {
  if (windows_of(earlier.entry) != windows_of(later)) return false;
  if (!head_) return true;
  if (earlier.entry.duration_us > later.duration_us) return false;
  return later.job->place_until_us == 0 ||
         input_.now_us + later.duration_us <= earlier.until_us + earlier.entry.duration_us;
}

// Where an earlier job with the same claim waits for a better place, no later one starts before it: the earlier one
// starts here, or else on what it kept. True: the later one has to be placed again.
bool CycleRun::start_equal_first(const QueueEntry& entry, const Placement& placement, bool passed_others,
                                 const Elsewhere& elsewhere) {
  const auto equal =
      std::ranges::find_if(kept_, [&](const Kept& kept) { return kept.placement && same_claim(kept.entry, entry); });
  if (equal == kept_.end()) return false;
  const bool exchanged = may_exchange(*equal, entry);
  Kept kept = open(equal);
  std::erase_if(result_.waiting, [&](const WaitingJob& waiting) { return waiting.job == kept.entry.job->id; });
  std::erase_if(result_.kept, [&](const KeptGpus& gpus) { return gpus.job == kept.entry.job->id; });
  const bool started =
      exchanged ? start(kept.entry, placement, passed_others, elsewhere)
                : start(kept.entry, std::move(*kept.placement), passed_others, {&now_placer_, windows_of(kept.entry)});
  if (started) result_.starts.back().waited = PlaceWaitEnd::equal_next;
  return true;
}

// A job that may evict others has first what those keep: nothing is lost by that.
bool CycleRun::admit_over_kept(const QueueEntry& entry) {
  if (entry.priority == nullptr || !entry.priority->may_preempt) return false;
  std::vector<Kept> opened;
  for (auto at = kept_.begin(); at != kept_.end();) {
    const bool lower =
        at->entry.value() < entry.value() && at->entry.priority != nullptr && at->entry.priority->preemptible;
    if (!lower) {
      ++at;
      continue;
    }
    const auto index = at - kept_.begin();
    opened.push_back(open(at));
    at = kept_.begin() + index;
  }
  if (opened.empty()) return false;
  const bool admitted = admit(entry) || preempt(entry, Victims::all);
  for (Kept& kept : opened) {  // those that it left alone
    if (!now_.take(kept.gpus)) continue;
    count_kept(kept);
    kept_.push_back(std::move(kept));
  }
  return admitted;
}

}  // namespace railweave::scheduler
