// Jobs that leave a place where they would be slow to others, and wait for a good one (QueuePolicy::place_wait, where jobs
// yield). Until their bound they are jobs that fit on good places alone, so all that is decided of jobs that do not fit
// holds for them: others pass, and what backfill reserves for one is a good place, or any from its bound on.
#include <algorithm>

#include "scheduler/queue/cycle/cycle_run.h"

namespace railweave::scheduler {

bool CycleRun::is_picky(const QueueEntry& entry) const {
  return policy_.place_wait.yields && latest_start(entry) > input_.now_us;
}

bool CycleRun::is_good(const JobSpec& spec, const Placement& placement) const {
  if (!placement.idle_gpus.empty()) return true;
  const auto here_us = Placer::period_us(spec, placement);
  const auto best_us = here_us ? input_.best->period_us(spec) : std::nullopt;
  return !best_us || *here_us <= *best_us * (1 + policy_.place_wait.gain);
}

CycleRun::Knowledge& CycleRun::known_of_picky(const QueueEntry& entry, std::uint64_t windows) {
  std::deque<KnownUse>& uses = known_of_picky_[entry.shape];
  const auto known = std::ranges::find_if(
      uses, [&](const KnownUse& use) { return use.windows == windows && same_use(*use.spec, *entry.job->spec); });
  return known != uses.end() ? known->knowledge : uses.emplace_back(entry.job->spec, windows).knowledge;
}

bool CycleRun::yielded_a_place(const QueueEntry& entry) {
  return entry.picky && known(entry, windows_of(entry)).yielded_us > 0;
}

WaitReason CycleRun::waits_for_good_place(const QueueEntry& entry) {
  const std::int64_t until_us = latest_start(entry);
  note_wake(until_us);
  result_.kept.push_back({entry.job->id, {}, until_us});
  return {.code = WaitCode::better_place,
          .yields = true,
          .at_us = until_us,
          .here_us = known(entry, windows_of(entry)).yielded_us,
          .best_us = input_.best->period_us(*entry.job->spec).value_or(0)};
}

CycleRun::Expected CycleRun::expected_start(const QueueEntry& entry, std::int64_t from_us) {
  constexpr int kMaxAsked = 64;  // a place costs more than a fit
  const JobSpec& spec = *entry.job->spec;
  const std::uint64_t exempt = exempt_windows(entry.tenant);
  ++result_.placements_tried;
  if (!entry.picky) return {profile_->earliest(spec, entry.gpus, entry.duration_us, from_us, exempt)};
  const std::int64_t until_us = latest_start(entry);
  int asked = 0;
  const auto good = [&] {
    if (++asked > kMaxAsked) return false;
    const auto placement = later_placer_.try_place(spec);
    return placement && is_good(spec, *placement);
  };
  if (const auto at = profile_->earliest(spec, entry.gpus, entry.duration_us, from_us, exempt, {good, until_us})) {
    return {at, true};
  }
  return {profile_->earliest(spec, entry.gpus, entry.duration_us, std::max(from_us, until_us), exempt)};
}

std::optional<Placement> CycleRun::place_head_later() {
  auto placement = later_placer_.try_place(*head_->entry.job->spec);
  if (placement && head_->good && !is_good(*head_->entry.job->spec, *placement)) placement.reset();
  return placement;
}

}  // namespace railweave::scheduler
