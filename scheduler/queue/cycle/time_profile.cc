#include "scheduler/queue/cycle/time_profile.h"

#include <algorithm>
#include <utility>

#include "fabric/base/check.h"

namespace railweave::scheduler {

using fabric::GpuId;

std::int64_t expected_end_us(const QueuePolicy& policy, const RunningJob& job, std::int64_t now_us) {
  if (job.releases_us != 0) return job.releases_us > now_us ? job.releases_us : now_us + policy.overrun_us;
  const std::int64_t duration_us =
      job.spec->expected_duration_s ? *job.spec->expected_duration_s * 1'000'000 : policy.default_duration_us;
  const std::int64_t end_us = job.started_us + duration_us;
  return end_us > now_us ? end_us : now_us + policy.overrun_us;
}

TimeProfile::TimeProfile(Placer& placer, std::int64_t now_us)
    : placer_(&placer),
      topology_(&placer.fabric().topology()),
      now_us_(now_us),
      holders_(topology_->gpus().size(), 0),
      shown_from_us_(now_us),
      shown_to_us_(now_us) {
  for (const auto host : topology_->hosts()) {
    const std::uint64_t used = placer.tree().allocation(host).used;
    const auto gpus = topology_->gpus(host);
    if (used == 0) continue;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      if ((used >> i & 1U) != 0) holders_[gpus[i].index()] = 1;
    }
  }
}

bool TimeProfile::concerns(const Hold& hold) const {
  if (hold.dropped || hold.from_us >= shown_to_us_ || hold.to_us <= shown_from_us_) return false;
  return hold.window < 0 || (exempt_ >> static_cast<unsigned>(hold.window) & 1U) == 0;
}

void TimeProfile::set_active(Hold& hold, bool active) {
  if (hold.active == active) return;
  hold.active = active;
  PlacementTree& tree = placer_->tree();
  for (std::size_t i = 0; i < hold.gpus.size();) {
    const fabric::HostId host = topology_->host(hold.gpus[i]);
    HostAllocation allocation = tree.allocation(host);
    for (; i < hold.gpus.size() && topology_->host(hold.gpus[i]) == host; ++i) {
      std::uint16_t& holders = holders_[hold.gpus[i].index()];
      const std::uint64_t bit = std::uint64_t{1} << topology_->local_index(hold.gpus[i]);
      if (active) {
        if (holders++ == 0) allocation.used |= bit;
      } else {
        RAILWEAVE_CHECK(holders > 0, "who lets go of a GPU held it");
        if (--holders == 0) allocation.used &= ~bit;
      }
    }
    tree.set(host, allocation);
  }
}

TimeProfile::HoldId TimeProfile::add(Hold hold) {
  const auto id = static_cast<HoldId>(holds_.size());
  const Edge end{hold.to_us, id};
  ends_.insert(std::upper_bound(ends_.begin(), ends_.end(), end), end);
  if (hold.from_us > now_us_) {
    const Edge begin{hold.from_us, id};
    begins_.insert(std::upper_bound(begins_.begin(), begins_.end(), begin), begin);
  }
  holds_.push_back(std::move(hold));
  if (!holds_.back().own.empty()) holds_.back().gpus = holds_.back().own;
  return id;
}

TimeProfile::HoldId TimeProfile::hold(std::span<const GpuId> gpus, std::int64_t from_us, std::int64_t to_us,
                                      QueueJobId job, int window) {
  const HoldId id = add({{gpus.begin(), gpus.end()}, {}, from_us, to_us, job, window});
  if (concerns(holds_[id])) set_active(holds_[id], true);
  return id;
}

void TimeProfile::hold_running(std::span<const GpuId> gpus, std::int64_t to_us, QueueJobId job) {
  const HoldId id = add({{}, gpus, INT64_MIN, to_us, job, -1});
  holds_[id].active = true;  // its GPUs are taken already: they count as held by this job, no longer forever
  if (!concerns(holds_[id])) set_active(holds_[id], false);
}

void TimeProfile::drop(HoldId hold) {
  holds_[hold].dropped = true;
  set_active(holds_[hold], false);
}

void TimeProfile::drop_job(QueueJobId job) {
  for (HoldId hold = 0; hold < holds_.size(); ++hold) {
    if (holds_[hold].job == job && !holds_[hold].dropped) drop(hold);
  }
}

void TimeProfile::show(std::int64_t from_us, std::int64_t to_us, std::uint64_t exempt) {
  shown_from_us_ = from_us;
  shown_to_us_ = to_us;
  exempt_ = exempt;
  for (Hold& hold : holds_) set_active(hold, concerns(hold));
}

std::optional<TimeProfile::Earliest> TimeProfile::earliest(const JobSpec& spec, std::uint64_t gpus,
                                                           std::int64_t duration_us, std::int64_t from_us,
                                                           std::uint64_t exempt, const StartCondition& condition) {
  const auto until = [&](std::int64_t at) { return at > kForever - duration_us ? kForever : at + duration_us; };
  show(from_us, until(from_us), exempt);
  auto end = std::ranges::upper_bound(ends_, from_us, {}, &Edge::at_us);
  auto begin = std::ranges::lower_bound(begins_, shown_to_us_, {}, &Edge::at_us);
  Earliest when{from_us, 0};
  while (true) {
    if (placer_->tree().total_free() >= gpus && placer_->fits(spec) && (!condition.holds || condition.holds()))
      return when;
    if (end == ends_.end() || end->at_us == kForever || end->at_us > condition.last_us) return std::nullopt;
    // On to the next end of a hold: nothing gets free before.
    when.at_us = shown_from_us_ = end->at_us;
    shown_to_us_ = until(shown_from_us_);
    for (; end != ends_.end() && end->at_us == when.at_us; ++end) {
      Hold& hold = holds_[end->hold];
      if (hold.active && hold.job != 0) when.after = hold.job;
      set_active(hold, false);
    }
    for (; begin != begins_.end() && begin->at_us < shown_to_us_; ++begin) {
      set_active(holds_[begin->hold], concerns(holds_[begin->hold]));
    }
  }
}

}  // namespace railweave::scheduler
