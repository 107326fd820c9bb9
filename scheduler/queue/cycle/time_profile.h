// Which GPUs are held from when to when, and when a job would first fit: running jobs until their expected ends,
// reservations of waiting jobs, windows. Shows one interval at a time on the tree of a Placer of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "scheduler/placement/placer.h"
#include "scheduler/queue/policy/queue_job.h"
#include "scheduler/queue/policy/queue_policy.h"

namespace railweave::scheduler {

// By the job's own expected duration, else the policy's; a job that runs over is expected to end overrun_us after now.
std::int64_t expected_end_us(const QueuePolicy& policy, const RunningJob& job, std::int64_t now_us);

// What else must hold of the tree, asked where a job fits; and until when it is asked.
struct StartCondition {
  std::function<bool()> holds;
  std::int64_t last_us = INT64_MAX;
};

class TimeProfile {
 public:
  static constexpr std::int64_t kForever = INT64_MAX;
  using HoldId = std::uint32_t;

  // The placer is synced to the allocations; its tree is this profile's from now on, until it is synced again.
  TimeProfile(Placer& placer, std::int64_t now_us);

  // GPUs that the allocations show as taken are held by a running job, or forever where no known job holds them.
  // `window`: of QueuePolicy::windows, or -1.
  HoldId hold(std::span<const fabric::GpuId> gpus, std::int64_t from_us, std::int64_t to_us, QueueJobId job = 0,
              int window = -1);
  void hold_running(std::span<const fabric::GpuId> gpus, std::int64_t to_us, QueueJobId job);
  void drop(HoldId hold);
  void drop_job(QueueJobId job);  // all it holds

  struct Earliest {
    std::int64_t at_us = 0;
    QueueJobId after = 0;  // the job whose end frees the GPUs
  };
  // The first time from `from_us` on at which the job fits for its whole duration; the tree shows that interval then.
  // `exempt`: windows that do not concern it, a bit each. O(holds + GPUs held), and a fit per end of a hold at which
  // enough GPUs are free.
  [[nodiscard]] std::optional<Earliest> earliest(const JobSpec& spec, std::uint64_t gpus, std::int64_t duration_us,
                                                 std::int64_t from_us, std::uint64_t exempt,
                                                 const StartCondition& condition = {});

  // On the interval shown:
  void show(std::int64_t from_us, std::int64_t to_us, std::uint64_t exempt);
  [[nodiscard]] bool fits(const JobSpec& spec) { return placer_->fits(spec); }
  [[nodiscard]] Placer& placer() { return *placer_; }

 private:
  struct Hold {
    std::vector<fabric::GpuId> own;  // of what the caller does not keep
    std::span<const fabric::GpuId> gpus;
    std::int64_t from_us, to_us;
    QueueJobId job;
    int window;
    bool dropped = false;
    bool active = false;
  };
  struct Edge {
    std::int64_t at_us;
    HoldId hold;
    friend bool operator<(const Edge& a, const Edge& b) {
      return a.at_us != b.at_us ? a.at_us < b.at_us : a.hold < b.hold;
    }
  };
  [[nodiscard]] bool concerns(const Hold& hold) const;
  void set_active(Hold& hold, bool active);
  HoldId add(Hold hold);

  Placer* placer_;
  const fabric::Topology* topology_;
  std::int64_t now_us_;
  std::vector<Hold> holds_;
  std::vector<Edge> ends_, begins_;     // sorted; begins after now alone
  std::vector<std::uint16_t> holders_;  // active holds by GPU, one more where it is held forever
  std::int64_t shown_from_us_ = 0, shown_to_us_ = 0;
  std::uint64_t exempt_ = 0;
};

}  // namespace railweave::scheduler
