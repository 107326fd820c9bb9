#include "scheduler/queue/cycle/cycle_run.h"

#include <algorithm>
#include <utility>

#include "fabric/base/check.h"

namespace railweave::scheduler {

using fabric::GpuId;

CycleRun::CycleRun(Placer& now, Placer& later, const QueueInput& input)
    : now_placer_(now),
      later_placer_(later),
      input_(input),
      policy_(*input.policy),
      topology_(now.fabric().topology()),
      total_gpus_(static_cast<double>(std::max<std::uint64_t>(1, now.fabric().hierarchy().total_capacity()))),
      ledger_(policy_),
      now_(now.tree(), topology_) {
  for (std::size_t i = 0; i < input.running.size(); ++i) {
    const RunningJob& job = input.running[i];
    running_at_.emplace(job.id, i);
    running_tenant_.push_back(ledger_.tenant(job.spec->tenant));
    ledger_.take(running_tenant_.back(), job.gpus.size());
  }
}

CycleResult CycleRun::run() {
  // 1. heads: what waits, in classes, each tenant's jobs in the order they came.
  std::vector<QueueEntry> entries = heads();
  result_.waiting.reserve(entries.size());
  keep_again(entries);
  QueueOrder order(std::move(entries), [this](TenantIndex tenant) { return share(tenant); });
  // In order (2.), each is nominated (3.), admitted (4.), given GPUs by preemption (5.) or backfilled (6.).
  // Preemption comes before backfill, so that no additional job is evicted for what was just backfilled.
  while (const QueueEntry* entry = order.next()) decide(*entry);
  result_.shapes = shapes_.count();
  for (const QueueWindow& window : policy_.windows) {
    if (result_.waiting.empty()) break;
    note_wake(window.from_us);
    note_wake(window.to_us);
  }
  // A job that runs over is expected to run on: what would have delayed the head may then start.
  if (head_ && policy_.backfill != Backfill::none) {
    for (const RunningJob& job : input_.running) note_wake(expected_end_us(policy_, job, input_.now_us));
  }
  now_.rollback();
  return std::move(result_);
}

void CycleRun::decide(const QueueEntry& entry) {
  open_own(entry);
  if (start_in_some_shape(entry)) return;
  if (nominate(entry)) place(entry);
}

void CycleRun::place(const QueueEntry& entry) {
  if (!head_) {
    if (admit(entry) || only_now_) return;
    // What it could have now is yielded to others: none of them is evicted for a better place.
    if (!yielded_a_place(entry) && (admit_over_kept(entry) || preempt(entry, Victims::all))) return;
    return become_head(entry);
  }
  switch (policy_.backfill) {
    case Backfill::none:
      return wait_behind(entry);
    case Backfill::easy:
      return backfill_easy(entry);
    case Backfill::conservative:
      return backfill_conservative(entry);
  }
}

std::vector<QueueEntry> CycleRun::heads() {
  std::vector<QueueEntry> entries;
  entries.reserve(input_.queued.size());
  for (const QueuedJob& job : input_.queued) {
    const bool one_shape = job.digest.tenant != 0 || job.spec->shapes.empty();
    entries.push_back(entry_of(one_shape ? job : in_smallest_shape(job)));
  }
  started_gpus_.assign(ledger_.tenant_count(), 0);
  return entries;
}

QueueEntry CycleRun::entry_of(const QueuedJob& job) {
  QueueEntry entry{.job = &job};
  std::optional<std::int64_t> duration_s;
  if (const JobDigest& digest = job.digest; digest.tenant != 0) {
    // Each number is looked up once in a cycle, by the first job that has it.
    const auto once = [](auto& known, std::uint32_t number, auto look_up) {
      if (number >= known.size()) known.resize(number + std::size_t{1});
      if (!known[number]) known[number] = look_up();
      return *known[number];
    };
    entry.priority =
        once(of_digest_.priority, digest.priority, [&] { return find_class(policy_, job.spec->priority); });
    entry.tenant = once(of_digest_.tenant, digest.tenant, [&] { return ledger_.tenant(job.spec->tenant); });
    entry.shape = once(of_digest_.shape, digest.shape, [&] { return shapes_.of(*job.spec); });
    entry.gpus = digest.gpus;
    duration_s = digest.expected_duration_s;
  } else {
    entry.priority = find_class(policy_, job.spec->priority);
    entry.tenant = ledger_.tenant(job.spec->tenant);
    entry.shape = shapes_.of(*job.spec);
    entry.gpus = rank_count(job.spec->parallelism);
    duration_s = job.spec->expected_duration_s;
  }
  entry.says_duration = duration_s.has_value();
  entry.duration_us = std::max<std::int64_t>(1, duration_s ? *duration_s * 1'000'000 : policy_.default_duration_us);
  entry.starving = input_.now_us - job.submitted_us >= policy_.starvation_bound_us;
  entry.picky = is_picky(entry);
  return entry;
}

bool CycleRun::nominate(const QueueEntry& entry) {
  if (!entry.job->held.empty()) {
    wait(entry, {.code = WaitCode::held, .why = entry.job->held});
    return false;
  }
  if (entry.job->not_before_us > input_.now_us) {
    note_wake(entry.job->not_before_us);
    wait(entry, {.code = WaitCode::not_before, .at_us = entry.job->not_before_us});
    return false;
  }
  const QuotaLedger::Verdict verdict = ledger_.may_take(entry.tenant, entry.gpus);
  if (verdict == QuotaLedger::Verdict::within) return true;
  // A tenant within its quota may reclaim what others borrowed, and its jobs of lower priority make way for this one.
  if (!preempt(entry, head_ ? Victims::own_or_owed : Victims::all)) wait_for_quota(entry, verdict);
  return false;
}

bool CycleRun::admit(const QueueEntry& entry) {
  const std::uint64_t windows = windows_of(entry);
  auto placement = place_now(entry, windows);
  if (!placement) return false;
  use(entry, std::move(*placement), false, {&now_placer_, windows});
  return true;  // it started, or waits at the gate or for a better place
}

// The first job that waits for GPUs: from here on nothing starts that would delay it. One that fits at no known time
// delays no other job.
void CycleRun::become_head(const QueueEntry& entry) {
  const std::uint64_t windows = windows_of(entry);
  WaitReason reason{.starving = entry.starving};
  const bool first_of_shape = !known(entry, windows).no_time;
  if (input_.explain && first_of_shape) {
    const auto before = now_.checkpoint();
    close_windows(windows);
    reason.placement = std::make_shared<const PlacementResult>(now_placer_.place_or_say_why(*entry.job->spec));
    now_.rollback(before);
    ++result_.placements_tried;
  }
  std::optional<TimeProfile::Earliest> earliest;
  bool good = false;
  if (first_of_shape) {
    open_profile();
    // What a picky job could have now is not good enough, whatever the profile makes of it.
    const Expected expected = expected_start(entry, input_.now_us + (yielded_a_place(entry) ? 1 : 0));
    earliest = expected.at;
    good = expected.good;
    if (earliest && earliest->at_us <= input_.now_us) {  // enough GPUs, but no links between them: no time is known
      known(entry, windows).no_path = true;
      earliest.reset();
    }
  }
  if (!earliest) {
    known(entry, windows).no_time = true;
    if (reason.placement && reason.placement->explanation.code == "jobs.unreachable") {
      known(entry, windows).no_path = true;
    }
    const bool never = reason.placement && reason.placement->outcome == Outcome::never;
    reason.code = never                           ? WaitCode::never_fits
                  : known(entry, windows).no_path ? WaitCode::no_capacity
                                                  : WaitCode::no_known_time;
    return wait(entry, std::move(reason));
  }
  head_ = Head{entry, earliest->at_us, good, {}};
  if (const auto placement = place_head_later()) plan_head(*placement);
  if (policy_.backfill == Backfill::conservative) {
    const std::int64_t from_us = entry.job->awaits_release ? input_.now_us : head_->at_us;
    profile_->hold(head_->gpus, from_us, head_->at_us + entry.duration_us);
    ++reserved_;
  }
  reason.at_us = earliest->at_us;
  reason.job = earliest->after;
  wait(entry, std::move(reason));
}

// Starts a job that ends before the head starts, or beside which the head still fits at its time.
void CycleRun::backfill_easy(const QueueEntry& entry) {
  const std::uint64_t windows = windows_of(entry);
  Knowledge& knowledge = known(entry, windows);
  const std::int64_t head_in_us = head_->at_us - input_.now_us;
  // Jobs that make way for the head may be gone at any time before: what is free for it meanwhile stays free, or others would
  // have to make way for it again, and so on.
  const bool head_may_start = head_->entry.job->awaits_release;
  const bool over_by_then = !head_may_start && entry.duration_us <= head_in_us;
  const auto delays = [&] {
    wait(entry, {.code = WaitCode::would_delay, .job = head_->entry.job->id, .at_us = head_->at_us});
  };
  if (knowledge.no_capacity) return wait_behind(entry);
  if (!over_by_then && knowledge.delays_at == changes_) return delays();
  auto placement = place_now(entry, windows);
  if (!placement) return !yielded_a_place(entry) && preempt(entry, Victims::owed) ? void() : wait_behind(entry);
  if (!over_by_then) {
    const std::int64_t for_us = std::max(entry.duration_us, head_may_start ? head_in_us + 1 : 0);
    const auto hold = profile_->hold(placement->held_gpus(), input_.now_us, input_.now_us + for_us);
    auto beside = place_head_later();
    profile_->drop(hold);
    ++result_.placements_tried;
    if (beside) {
      plan_head(*beside);  // the candidate may use GPUs that were planned for the head
    } else {
      placement = place_now(entry, windows, head_->gpus);
      if (!placement) {
        knowledge.delays_at = changes_;
        return delays();
      }
    }
  }
  const std::span<const GpuId> of_head = over_by_then ? std::span<const GpuId>() : head_->gpus;
  use(entry, std::move(*placement), true, {&now_placer_, windows, of_head});
}

// Each of the first waiting jobs holds GPUs from a time on; the others start where they overlap none of these.
void CycleRun::backfill_conservative(const QueueEntry& entry) {
  const std::uint64_t windows = windows_of(entry);
  Knowledge& knowledge = known(entry, windows);
  if (knowledge.no_time) return wait(entry, {.code = WaitCode::no_known_time});
  const std::uint64_t exempt = exempt_windows(entry.tenant);
  const bool reserve = reserved_ < policy_.reserved_jobs && !only_now_;
  std::optional<TimeProfile::Earliest> earliest;
  if (entry.picky) (void)place_now(entry, windows);  // whether it yields a place, from which on its bound counts
  if (reserve) {
    earliest = expected_start(entry, input_.now_us).at;
    if (!earliest) {
      knowledge.no_time = true;
      return wait(entry, {.code = WaitCode::no_known_time});
    }
  } else if (!knowledge.no_capacity && entry.duration_us < knowledge.too_long_us) {
    knowledge.no_capacity = !fits_now(entry, windows);
    profile_->show(input_.now_us, input_.now_us + entry.duration_us, exempt);
    ++result_.placements_tried;
    if (!knowledge.no_capacity && profile_->fits(*entry.job->spec)) {
      earliest = TimeProfile::Earliest{input_.now_us, 0};
    } else {
      knowledge.too_long_us = entry.duration_us;
    }
  }
  if (!earliest) return wait_behind(entry);
  auto placement = later_placer_.try_place(*entry.job->spec);
  if (placement && entry.picky && earliest->at_us == input_.now_us && !is_good(*entry.job->spec, *placement)) {
    return wait_behind(entry);
  }
  if (!placement) {  // enough GPUs, but no links between them
    knowledge.no_capacity = true;
    return wait_behind(entry);
  }
  if (earliest->at_us == input_.now_us) {
    return use(entry, std::move(*placement), true, {&later_placer_});
  }
  profile_->hold(placement->held_gpus(), earliest->at_us, earliest->at_us + entry.duration_us);
  ++reserved_;
  wait(entry, {.code = WaitCode::no_capacity, .job = earliest->after, .at_us = earliest->at_us});
}

// --- what they share

bool CycleRun::passes_gate(const QueueEntry& entry, Placement& placement, std::span<const QueueJobId> evicted,
                           const Elsewhere& elsewhere) {
  if (input_.gate == nullptr) return true;
  Message why("", {"bandwidth is held for ", JobPart{gate_kept_for_}, ", which has waited longest"});
  if (gate_kept_for_ == 0) {
    const auto before = now_.checkpoint();
    if (elsewhere.placer == &now_placer_) {
      close_windows(elsewhere.windows);
      close_gpus(elsewhere.keep_free);
    }
    why = input_.gate->start(*entry.job, placement, evicted, *elsewhere.placer);
    now_.rollback(before);
  }
  if (why.empty()) return true;
  if (entry.starving && gate_kept_for_ == 0) gate_kept_for_ = entry.job->id;
  wait(entry, {.code = WaitCode::bandwidth, .starving = entry.starving, .why = std::move(why)});
  return false;
}

void CycleRun::use(const QueueEntry& entry, Placement placement, bool passed_others, const Elsewhere& elsewhere) {
  if (waits_for_place(entry, placement)) return;
  if (start_equal_first(entry, placement, passed_others, elsewhere)) return place(entry);
  start(entry, std::move(placement), passed_others, elsewhere);
}

bool CycleRun::start(const QueueEntry& entry, Placement placement, bool passed_others, const Elsewhere& elsewhere) {
  if (!placement.idle_gpus.empty()) {
    QueueEntry whole = entry;
    whole.gpus = placement.held_gpus().size();
    const auto verdict = ledger_.may_take(entry.tenant, whole.gpus);
    if (verdict != QuotaLedger::Verdict::within) {  // for its ranks, but not for what it holds beside them
      wait_for_quota(whole, verdict);
      return false;
    }
  }
  if (!passes_gate(entry, placement, {}, elsewhere)) return false;
  take(entry, std::move(placement), passed_others, {});
  return true;
}

void CycleRun::take(const QueueEntry& entry, Placement placement, bool passed_others, std::vector<QueueJobId> evicted) {
  const auto gpus = placement.held_gpus();
  RAILWEAVE_CHECK(now_.take(gpus), "a placement takes free GPUs");
  ledger_.take(entry.tenant, gpus.size());
  started_gpus_[entry.tenant] += gpus.size();
  const std::int64_t end_us = input_.now_us + entry.duration_us;
  if (profile_) profile_->hold(gpus, input_.now_us, end_us, entry.job->id);
  started_.push_back({entry.job->id, result_.starts.size(), end_us, entry.tenant});
  ++changes_;
  const std::int64_t until_us = entry.job->place_until_us;
  const PlaceWaitEnd waited = until_us == 0              ? PlaceWaitEnd::none
                              : until_us > input_.now_us ? PlaceWaitEnd::better
                                                         : PlaceWaitEnd::over;
  result_.starts.push_back({entry.job->id, std::move(placement), passed_others, waited, std::move(evicted)});
  if (shapes_of_.contains(entry.job->id)) result_.starts.back().shape = entry.job->spec->parallelism;
}

void CycleRun::wait(const QueueEntry& entry, WaitReason reason) {
  if (!entry.starving) note_wake(entry.job->submitted_us + policy_.starvation_bound_us);
  const bool for_gpus = reason.code == WaitCode::no_capacity || reason.code == WaitCode::behind ||
                        reason.code == WaitCode::would_delay || reason.code == WaitCode::no_known_time;
  if (for_gpus && yielded_a_place(entry)) reason = waits_for_good_place(entry);
  result_.waiting.push_back({entry.job->id, std::move(reason), entry.job->told});
}

void CycleRun::wait_behind(const QueueEntry& entry) {
  const QueueEntry& head = head_->entry;
  wait(entry, {.code = WaitCode::behind,
               .higher_priority = !head.starving && head.value() > entry.value(),
               .starving = head.starving,
               .job = head.job->id});
}

void CycleRun::open_profile() {
  if (profile_) return;
  profile_.emplace(later_placer_, input_.now_us);
  for (const auto& job : input_.running)
    profile_->hold_running(job.gpus, expected_end_us(policy_, job, input_.now_us), job.id);
  for (const auto& job : input_.running) {
    if (!running_at_.contains(job.id)) profile_->drop_job(job.id);
  }
  for (const auto& started : started_) {
    profile_->hold(result_.starts[started.at].placement.held_gpus(), input_.now_us, started.end_us, started.job);
  }
  for (Kept& kept : kept_) {
    kept.hold = profile_->hold(kept.gpus, input_.now_us, kept.until_us + kept.entry.duration_us);
  }
  for (std::size_t i = 0; i < policy_.windows.size(); ++i) {
    const QueueWindow& window = policy_.windows[i];
    if (window.to_us > input_.now_us) {
      profile_->hold(window.gpus, window.from_us, window.to_us, 0, static_cast<int>(i));
    }
  }
}

const std::vector<CycleRun::Release>& CycleRun::releases(TenantIndex tenant) {
  if (const std::size_t changes = result_.starts.size() + result_.evictions.size(); changes != releases_at_) {
    releases_.clear();
    releases_at_ = changes;
  }
  const auto [known, is_new] = releases_.try_emplace(tenant);
  std::vector<Release>& list = known->second;
  if (!is_new) return list;
  const auto add = [&](TenantIndex holder, std::int64_t end_us, QueueJobId job, std::uint64_t gpus) {
    if (holder == tenant) {
      list.push_back({end_us, job, gpus, gpus});
    } else if (ledger_.same_cohort(holder, tenant)) {
      list.push_back({end_us, job, 0, gpus});
    }
  };
  for (std::size_t i = 0; i < input_.running.size(); ++i) {
    const RunningJob& job = input_.running[i];
    if (!running_at_.contains(job.id)) continue;
    add(running_tenant_[i], expected_end_us(policy_, job, input_.now_us), job.id, job.gpus.size());
  }
  for (const Started& started : started_) {
    add(started.tenant, started.end_us, started.job, result_.starts[started.at].placement.held_gpus().size());
  }
  std::ranges::sort(list, {}, [](const Release& release) { return std::pair(release.at_us, release.job); });
  for (std::size_t i = 1; i < list.size(); ++i) {
    list[i].own += list[i - 1].own;
    list[i].cohort += list[i - 1].cohort;
  }
  return list;
}

void CycleRun::wait_for_quota(const QueueEntry& entry, QuotaLedger::Verdict verdict) {
  const QuotaLedger::CohortUse cohort = ledger_.cohort(entry.tenant);
  const bool own = verdict == QuotaLedger::Verdict::over_limit;
  WaitReason reason{.code = own ? WaitCode::tenant_quota : WaitCode::cohort_quota,
                    .quota_gpus = ledger_.nominal(entry.tenant),
                    .used_gpus = ledger_.used(entry.tenant),
                    .needed_gpus = entry.gpus,
                    .cohort_quota_gpus = cohort.nominal,
                    .cohort_used_gpus = cohort.used,
                    .name = ledger_.name(entry.tenant),
                    .cohort = std::string(cohort.name)};
  if (!cohort.name.empty() && ledger_.limit(entry.tenant) != UINT64_MAX) {
    reason.borrow_gpus = ledger_.limit(entry.tenant) - ledger_.nominal(entry.tenant);
  }
  const auto& list = releases(entry.tenant);
  const auto first = std::ranges::partition_point(list, [&](const Release& release) {
    return ledger_.may_take(entry.tenant, entry.gpus, release.own, release.cohort) != QuotaLedger::Verdict::within;
  });
  if (first != list.end()) {
    reason.at_us = first->at_us;
    reason.job = first->job;
  }
  wait(entry, std::move(reason));
}

double CycleRun::share(TenantIndex tenant) const {
  if (policy_.fair_share == FairShareRule::none) return 0;
  const double started = static_cast<double>(started_gpus_[tenant]);
  const std::uint64_t kept = tenant < kept_gpus_.size() ? kept_gpus_[tenant] : 0;
  double gpus = static_cast<double>(ledger_.used(tenant) - kept);
  if (policy_.fair_share == FairShareRule::decayed) {
    gpus = started;
    if (input_.used != nullptr) gpus += input_.used->average_gpus(ledger_.name(tenant), input_.now_us);
  }
  return gpus / (total_gpus_ * ledger_.weight(tenant));
}

void CycleRun::note_wake(std::int64_t at_us) {
  if (at_us > input_.now_us && (result_.wake_us == 0 || at_us < result_.wake_us)) result_.wake_us = at_us;
}

}  // namespace railweave::scheduler
