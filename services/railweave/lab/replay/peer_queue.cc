#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "services/railweave/lab/replay/peer_placers.h"
#include "services/railweave/lab/replay/replay_queue.h"

namespace railweave::cli {
namespace {

using fabric::GpuId;

class PeerQueue : public ReplayQueue {
 public:
  PeerQueue(const scheduler::PlacementFabric& fabric, PeerPolicy policy, bool backfills)
      : placer_(fabric, policy), backfills_(backfills) {}

  std::vector<ReplayStart> decide(std::int64_t now_us, const ReplayJobs& jobs, const std::vector<JobIndex>& waiting,
                                  const std::vector<JobIndex>& running) override {
    std::vector<ReplayStart> starts;
    std::size_t at = 0;
    for (; at < waiting.size(); ++at) {
      auto gpus = place(placer_, jobs[waiting[at]].spec);
      if (gpus.empty()) break;
      placer_.take(gpus);
      starts.push_back({waiting[at], std::move(gpus)});
    }
    if (at < waiting.size() && backfills_) backfill(now_us, jobs, std::span(waiting).subspan(at), running, starts);
    return starts;
  }

  void ended(const ReplayJob& job, JobIndex /*number*/) override { placer_.release(job.gpus); }

 private:
  static std::vector<GpuId> place(const PeerPlacer& placer, const scheduler::JobSpec& spec) {
    return placer.place(spec.parallelism.tensor, spec.parallelism.data);
  }
  static std::int64_t expected_us(const ReplayJob& job) { return *job.spec.expected_duration_s * 1'000'000; }

  // EASY: starts jobs that end before the first waiting job is expected to start, or that leave it room.
  void backfill(std::int64_t now_us, const ReplayJobs& jobs, std::span<const JobIndex> waiting,
                const std::vector<JobIndex>& running, std::vector<ReplayStart>& starts) {
    struct End {
      std::int64_t at_us;
      std::span<const GpuId> gpus;
    };
    std::vector<End> ends;
    for (const JobIndex job : running) {
      const std::int64_t end_us = jobs[job].started_us + expected_us(jobs[job]);
      ends.push_back({end_us > now_us ? end_us : now_us + 300'000'000, jobs[job].gpus});
    }
    for (const auto& start : starts) ends.push_back({now_us + expected_us(jobs[start.job]), start.gpus});
    std::ranges::stable_sort(ends, {}, &End::at_us);
    const scheduler::JobSpec& head = jobs[waiting.front()].spec;
    PeerPlacer later = placer_;
    std::int64_t head_us = now_us;
    for (std::size_t i = 0; i < ends.size();) {
      head_us = ends[i].at_us;
      for (; i < ends.size() && ends[i].at_us == head_us; ++i) later.release(ends[i].gpus);
      if (!place(later, head).empty()) break;
    }
    std::set<std::pair<std::uint32_t, std::uint32_t>> no_room, delays;  // tensor, groups
    for (const JobIndex job : waiting.subspan(1)) {
      const auto& p = jobs[job].spec.parallelism;
      const std::pair shape(p.tensor, p.data);
      const bool over = now_us + expected_us(jobs[job]) <= head_us;
      if (no_room.contains(shape) || (!over && delays.contains(shape))) continue;
      auto gpus = place(placer_, jobs[job].spec);
      if (gpus.empty()) {
        no_room.insert(shape);
        continue;
      }
      if (!over) {
        later.take(gpus);
        if (place(later, head).empty()) {
          later.release(gpus);
          delays.insert(shape);
          continue;
        }
      }
      placer_.take(gpus);
      starts.push_back({job, std::move(gpus)});
    }
  }

  PeerPlacer placer_;
  bool backfills_;
};

PeerPolicy policy_of(std::string_view name) {
  constexpr std::pair<std::string_view, PeerPolicy> kPolicies[] = {{"random", PeerPolicy::random},
                                                                   {"best-fit", PeerPolicy::best_fit},
                                                                   {"tree", PeerPolicy::tree},
                                                                   {"block", PeerPolicy::block}};
  const auto found = std::ranges::find(kPolicies, name, &std::pair<std::string_view, PeerPolicy>::first);
  return found == std::end(kPolicies) ? PeerPolicy::first_fit : found->second;
}

}  // namespace

std::unique_ptr<ReplayQueue> make_peer_queue(const scheduler::PlacementFabricPtr& fabric,
                                             const ReplayOptions& options) {
  return std::make_unique<PeerQueue>(*fabric, policy_of(options.policy), options.backfill != scheduler::Backfill::none);
}

}  // namespace railweave::cli
