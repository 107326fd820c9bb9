// Where a job fits now, beside windows, and what earlier attempts of the cycle have shown.
#include <algorithm>
#include <utility>

#include "fabric/base/check.h"
#include "scheduler/queue/cycle/cycle_run.h"

namespace railweave::scheduler {

using fabric::GpuId;

CycleRun::Knowledge& CycleRun::known(const QueueEntry& entry, std::uint64_t windows) {
  if (entry.picky) return known_of_picky(entry, windows);
  if (windows != 0) return known_beside_windows_[{entry.shape, windows}];
  if (entry.shape >= known_.size()) known_.resize(entry.shape + 1);
  return known_[entry.shape];
}

void CycleRun::forget_capacity() {
  const auto forget = [](Knowledge& knowledge) {
    knowledge.no_capacity = false;
    knowledge.yielded_us = 0;
    knowledge.delays_at = 0;
    knowledge.too_long_us = INT64_MAX;
  };
  std::ranges::for_each(known_, forget);
  for (auto& [jobs, knowledge] : known_beside_windows_) forget(knowledge);
  for (auto& [shape, uses] : known_of_picky_) {
    for (KnownUse& use : uses) forget(use.knowledge);
  }
}

std::uint64_t CycleRun::exempt_windows(TenantIndex tenant) const {
  std::uint64_t exempt = 0;
  for (std::size_t i = 0; i < policy_.windows.size(); ++i) {
    const QueueWindow& window = policy_.windows[i];
    const bool own = window.kind == QueueWindow::Kind::reservation && window.tenant == ledger_.name(tenant);
    if (own || window.to_us <= input_.now_us) exempt |= std::uint64_t{1} << i;
  }
  return exempt;
}

std::uint64_t CycleRun::windows_of(const QueueEntry& entry) const {
  if (policy_.windows.empty()) return 0;
  std::uint64_t windows = ~exempt_windows(entry.tenant);
  for (std::size_t i = 0; i < QueuePolicy::kMaxWindows; ++i) {
    const bool overlaps = i < policy_.windows.size() && policy_.windows[i].from_us < input_.now_us + entry.duration_us;
    if (!overlaps) windows &= ~(std::uint64_t{1} << i);
  }
  return windows;
}

void CycleRun::close_windows(std::uint64_t windows) {
  for (std::size_t i = 0; windows != 0; ++i, windows >>= 1U) {
    if ((windows & 1U) == 0) continue;
    close_gpus(policy_.windows[i].gpus);
  }
}

void CycleRun::close_gpus(std::span<const GpuId> gpus) {
  scratch_gpus_.clear();
  for (const GpuId gpu : gpus) {
    const std::uint64_t used = now_placer_.tree().allocation(topology_.host(gpu)).used;
    if ((used >> topology_.local_index(gpu) & 1U) == 0) scratch_gpus_.push_back(gpu);
  }
  RAILWEAVE_CHECK(now_.take(scratch_gpus_), "what is free can be taken");
}

std::optional<Placement> CycleRun::place_now(const QueueEntry& entry, std::uint64_t windows,
                                             std::span<const GpuId> keep_free) {
  Knowledge& knowledge = known(entry, windows);
  if (knowledge.no_capacity) return std::nullopt;
  std::optional<Placement> placement;
  if (now_placer_.tree().total_free() >= entry.gpus) {
    const auto before = now_.checkpoint();
    close_windows(windows);
    close_gpus(keep_free);
    placement = now_placer_.try_place(*entry.job->spec);
    now_.rollback(before);
    ++result_.placements_tried;
  }
  if (placement && entry.picky && !is_good(*entry.job->spec, *placement)) {
    if (keep_free.empty()) knowledge.yielded_us = *Placer::period_us(*entry.job->spec, *placement);
    placement.reset();
  }
  if (!placement && keep_free.empty()) knowledge.no_capacity = true;
  return placement;
}

bool CycleRun::fits_now(const QueueEntry& entry, std::uint64_t windows) {
  const auto before = now_.checkpoint();
  close_windows(windows);
  const bool fits = now_placer_.fits(*entry.job->spec);
  now_.rollback(before);
  ++result_.placements_tried;
  return fits;
}

}  // namespace railweave::scheduler
