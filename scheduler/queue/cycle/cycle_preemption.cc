// The part of a cycle that asks plan_preemption(): which jobs quotas and classes allow to be evicted for a job.
#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "fabric/base/check.h"
#include "scheduler/queue/cycle/cycle_run.h"

namespace railweave::scheduler {

using fabric::GpuId;

namespace {

// Whether it is evicted by its class; otherwise what it borrowed is reclaimed.
bool by_priority(const PossibleVictim& victim, const QueueEntry& entry) {
  return victim.priority < entry.value() && entry.priority != nullptr && entry.priority->may_preempt;
}

}  // namespace

// Jobs of lower classes: of its own tenant, of tenants without a quota and of tenants that borrow. Also jobs of tenants
// that borrow from its cohort, if its own tenant stays within its nominal quota with this job. A tenant within its
// quota loses no job to other tenants, whatever their priority.
std::vector<PossibleVictim> CycleRun::candidates_for(const QueueEntry& entry, Victims victims) {
  std::vector<PossibleVictim> candidates;
  const bool may_preempt = victims != Victims::owed && entry.priority != nullptr && entry.priority->may_preempt;
  const bool owed = ledger_.has_quota(entry.tenant) && ledger_.within_nominal(entry.tenant, entry.gpus);
  if (!may_preempt && !owed) return candidates;
  for (std::size_t i = 0; i < input_.running.size(); ++i) {
    const RunningJob& job = input_.running[i];
    const PriorityClass* priority = find_class(policy_, job.spec->priority);
    if (priority == nullptr || !priority->preemptible || !running_at_.contains(job.id)) continue;
    if (job.releases_us != 0) continue;
    const TenantIndex tenant = running_tenant_[i];
    const bool lower = may_preempt && priority->value < entry.value();
    const bool borrows = ledger_.has_quota(tenant) && !ledger_.within_nominal(tenant);
    const bool unprotected =
        tenant == entry.tenant || (victims == Victims::all && (!ledger_.has_quota(tenant) || borrows));
    const bool reclaimed = owed && borrows && tenant != entry.tenant && ledger_.same_cohort(tenant, entry.tenant) &&
                           (policy_.reclaim_any_priority || priority->value <= entry.value());
    if (!(lower && unprotected) && !reclaimed) continue;
    const std::int64_t from_us =
        job.started_us + (job.spec->min_runtime_s ? *job.spec->min_runtime_s * 1'000'000 : policy_.least_run_us);
    if (from_us > input_.now_us) {
      note_wake(from_us);
      continue;
    }
    // A checkpoint is later than now where the time of day was set back.
    const std::int64_t lost_us = std::max<std::int64_t>(0, input_.now_us - std::max(job.started_us, job.saved_us));
    const double lost_gpu_s = static_cast<double>(lost_us) * 1e-6 * static_cast<double>(job.gpus.size());
    candidates.push_back({job.id, priority->value, lost_gpu_s, job.gpus});
  }
  return candidates;
}

// Another tenant with a quota may lose jobs until it no longer borrows; the last one may take it below its quota. So
// there must be an order in which each is evicted while the tenant still borrows.
bool CycleRun::may_go_together(std::span<const PossibleVictim> candidates, TenantIndex claimant,
                               std::span<const std::size_t> set) const {
  struct Loss {
    std::uint64_t sum = 0, most = 0;
  };
  std::map<TenantIndex, Loss> losses;
  for (const std::size_t i : set) {
    const TenantIndex tenant = running_tenant_[running_at_.at(candidates[i].id)];
    if (tenant == claimant || !ledger_.has_quota(tenant)) continue;
    Loss& loss = losses[tenant];
    loss.sum += candidates[i].gpus.size();
    loss.most = std::max<std::uint64_t>(loss.most, candidates[i].gpus.size());
  }
  return std::ranges::all_of(losses, [&](const auto& of_tenant) {
    const auto& [tenant, loss] = of_tenant;
    return ledger_.used(tenant) - loss.sum + loss.most > ledger_.nominal(tenant);
  });
}

bool CycleRun::quota_without(std::span<const PossibleVictim> candidates, const QueueEntry& entry,
                             std::span<const std::size_t> set) const {
  if (!ledger_.has_quota(entry.tenant)) return true;
  std::uint64_t own = 0;
  std::uint64_t cohort = 0;
  for (const std::size_t i : set) {
    const TenantIndex tenant = running_tenant_[running_at_.at(candidates[i].id)];
    if (tenant == entry.tenant) own += candidates[i].gpus.size();
    if (tenant == entry.tenant || ledger_.same_cohort(tenant, entry.tenant)) cohort += candidates[i].gpus.size();
  }
  return ledger_.may_take(entry.tenant, entry.gpus, own, cohort) == QuotaLedger::Verdict::within;
}

bool CycleRun::preempt(const QueueEntry& entry, Victims victims) {
  if (plans_ >= policy_.preemption_plans || entry.job->awaits_release) return false;
  if (equal_waits_for_place(entry)) return false;  // by choice: no job is evicted for a later one
  const std::vector<PossibleVictim> candidates = candidates_for(entry, victims);
  if (candidates.empty()) return false;
  std::vector<std::size_t> all(candidates.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (!quota_without(candidates, entry, all)) return false;
  ++plans_;
  const std::uint64_t windows = windows_of(entry);
  PreemptionQuestion question{.candidates = candidates, .gpus = entry.gpus};
  question.fits = [&] { return fits_now(entry, windows); };
  question.allowed = [&](std::span<const std::size_t> set) { return may_go_together(candidates, entry.tenant, set); };
  question.enough = [&](std::span<const std::size_t> set) { return quota_without(candidates, entry, set); };
  const auto plan = plan_preemption(now_placer_, question);
  if (!plan) return false;

  const auto before = now_.checkpoint();
  for (const std::size_t i : plan->victims) {
    RAILWEAVE_CHECK(now_.release(candidates[i].gpus), "running jobs hold their GPUs");
  }
  forget_capacity();  // more GPUs are free than before
  auto placement = place_now(entry, windows);
  if (!placement) {  // enough GPUs, but no links between them
    now_.rollback(before);
    forget_capacity();
    return false;
  }
  if (head_ && profile_) {
    // Behind a waiting head: it must still fit at its time. (The victims' GPUs could only help it.)
    const auto hold = profile_->hold(placement->held_gpus(), input_.now_us, input_.now_us + entry.duration_us);
    auto beside = policy_.backfill == Backfill::easy ? later_placer_.try_place(*head_->entry.job->spec) : std::nullopt;
    profile_->drop(hold);
    if (!beside) {
      now_.rollback(before);
      forget_capacity();
      return false;
    }
    plan_head(*beside);
  }
  std::vector<QueueJobId> evicted;
  for (const std::size_t i : plan->victims) evicted.push_back(candidates[i].id);
  // The quota was checked for its ranks; it may hold more GPUs beside them.
  if (!placement->idle_gpus.empty() && ledger_.has_quota(entry.tenant)) {
    QueueEntry whole = entry;
    whole.gpus = placement->held_gpus().size();
    const bool reclaims =
        std::ranges::any_of(plan->victims, [&](std::size_t i) { return !by_priority(candidates[i], entry); });
    if (!quota_without(candidates, whole, plan->victims) ||
        (reclaims && !ledger_.within_nominal(entry.tenant, whole.gpus))) {
      now_.rollback(before);
      forget_capacity();
      return false;
    }
  }
  const std::span<const GpuId> of_head =
      head_ && profile_ ? std::span<const GpuId>(head_->gpus) : std::span<const GpuId>();
  if (!passes_gate(entry, *placement, evicted,
                   {&now_placer_, windows, of_head})) {  // no job is evicted for a job that cannot start
    now_.rollback(before);
    forget_capacity();
    return true;
  }
  for (const std::size_t i : plan->victims) {
    const PossibleVictim& victim = candidates[i];
    const std::size_t at = running_at_.at(victim.id);
    ledger_.release(running_tenant_[at], victim.gpus.size());
    running_at_.erase(victim.id);
    if (profile_) profile_->drop_job(victim.id);
    result_.evictions.push_back({victim.id, entry.job->id, victim.lost_gpu_s, !by_priority(victim, entry)});
  }
  take(entry, std::move(*placement), head_.has_value(), std::move(evicted));
  return true;
}

}  // namespace railweave::scheduler
