#include "scheduler/queue/repair/defragment.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "fabric/base/check.h"
#include "scheduler/placement/fit/placement_transaction.h"

namespace railweave::scheduler {
namespace {

using fabric::GpuId;
using fabric::NvlinkDomainId;

class Defragmenter {
 public:
  Defragmenter(Placer& placer, std::span<const RunningJob> running, const DefragmentOptions& options)
      : placer_(placer),
        topology_(placer.fabric().topology()),
        running_(running),
        options_(options),
        tree_(placer.tree(), topology_) {
    for (const RunningJob& job : running) gpus_.emplace_back(job.gpus.begin(), job.gpus.end());
  }

  std::vector<DefragmentStep> plan();

 private:
  struct Option {  // a domain that could be emptied
    double gpu_s_per_gpu;
    NvlinkDomainId domain;
    std::vector<std::size_t> jobs;
    friend bool operator<(const Option& a, const Option& b) {
      return std::tie(a.gpu_s_per_gpu, a.domain) < std::tie(b.gpu_s_per_gpu, b.domain);
    }
  };
  [[nodiscard]] std::vector<Option> options() const;
  [[nodiscard]] std::optional<DefragmentStep> empty(const Option& option);
  [[nodiscard]] std::vector<GpuId> free_gpus(NvlinkDomainId domain) const;
  [[nodiscard]] bool available(NvlinkDomainId domain) const;

  Placer& placer_;
  const fabric::Topology& topology_;
  std::span<const RunningJob> running_;
  const DefragmentOptions& options_;
  PlacementTransaction tree_;
  std::vector<std::vector<GpuId>> gpus_;  // of each running job, after the steps so far
};

std::vector<GpuId> Defragmenter::free_gpus(NvlinkDomainId domain) const {
  std::vector<GpuId> free;
  for (const GpuId gpu : topology_.gpus(domain)) {
    const HostAllocation& host = placer_.tree().allocation(topology_.host(gpu));
    if (!host.unavailable && ((host.used | host.closed) >> topology_.local_index(gpu) & 1U) == 0) free.push_back(gpu);
  }
  return free;
}

bool Defragmenter::available(NvlinkDomainId domain) const {
  return std::ranges::none_of(topology_.gpus(domain),
                              [&](GpuId gpu) { return placer_.tree().allocation(topology_.host(gpu)).unavailable; });
}

std::vector<Defragmenter::Option> Defragmenter::options() const {
  std::map<NvlinkDomainId, std::set<std::size_t>> jobs_of;
  std::map<NvlinkDomainId, std::size_t> held;
  for (std::size_t job = 0; job < gpus_.size(); ++job) {
    for (const GpuId gpu : gpus_[job]) {
      const NvlinkDomainId domain = topology_.nvlink_domain(gpu);
      if (!domain) continue;
      jobs_of[domain].insert(job);
      ++held[domain];
    }
  }
  std::vector<Option> found;
  for (const auto& [domain, jobs] : jobs_of) {
    const std::size_t size = topology_.gpus(domain).size();
    if (held[domain] == size || jobs.size() > options_.most_jobs_per_step || !available(domain)) continue;
    if (held[domain] + free_gpus(domain).size() != size) continue;  // an unknown job holds a part
    double cost = 0;
    bool movable = true;
    for (const std::size_t job : jobs) {
      const auto restart_s = options_.restart_s(running_[job]);
      // Idle GPUs that a job holds depend on where it is: it is not moved.
      const bool holds_idle = gpus_[job].size() > rank_count(running_[job].spec->parallelism);
      movable = movable && restart_s.has_value() && !holds_idle;
      cost += restart_s.value_or(0) * static_cast<double>(gpus_[job].size());
    }
    if (movable) found.push_back({cost / static_cast<double>(size), domain, {jobs.begin(), jobs.end()}});
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Moves every job of the domain to free GPUs of partly used domains: wholly free domains stay free.
std::optional<DefragmentStep> Defragmenter::empty(const Option& option) {
  const auto before = tree_.checkpoint();
  std::vector<NvlinkDomainId> whole;
  for (const NvlinkDomainId domain : topology_.nvlink_domains()) {
    const auto free = free_gpus(domain);
    if (domain != option.domain && !free.empty() && free.size() == topology_.gpus(domain).size())
      whole.push_back(domain);
  }
  DefragmentStep step;
  for (const std::size_t job : option.jobs) {
    // As if the domain were lost: ranks keep their GPUs elsewhere, blocks move whole.
    for (const NvlinkDomainId domain : whole) RAILWEAVE_CHECK(tree_.take(free_gpus(domain)), "free domains are free");
    const auto domain_gpus = topology_.gpus(option.domain);
    const JobSpec& spec = *running_[job].spec;
    const auto closed = options_.closed ? options_.closed(running_[job]) : std::vector<GpuId>();
    const CutOff cut_off = options_.cut_off ? options_.cut_off(running_[job]) : CutOff();
    auto plan = plan_repair(placer_,
                            {.spec = &spec,
                             .gpu_of_rank = gpus_[job],
                             .block_gpus = spec.parallelism.tensor,
                             .closed = closed,
                             .cut_off = cut_off ? &cut_off : nullptr},
                            domain_gpus);
    for (const NvlinkDomainId domain : whole) {
      RAILWEAVE_CHECK(tree_.release(std::vector<GpuId>(topology_.gpus(domain).begin(), topology_.gpus(domain).end())),
                      "what was taken is released");
    }
    if (!plan || plan->moves.empty()) {
      tree_.rollback(before);
      return std::nullopt;
    }
    RAILWEAVE_CHECK(tree_.release(gpus_[job]) && tree_.take(plan->gpu_of_rank), "a plan takes free GPUs");
    const double cost = options_.restart_s(running_[job]).value_or(0) * static_cast<double>(gpus_[job].size());
    step.cost_gpu_s += cost;
    step.moves.push_back({running_[job].id, std::move(plan->moves), std::move(plan->gpu_of_rank), cost});
  }
  for (const NvlinkDomainId domain : topology_.nvlink_domains()) {
    const std::size_t free = free_gpus(domain).size();
    if (free == 0 || free != topology_.gpus(domain).size() || std::ranges::binary_search(whole, domain)) continue;
    step.frees.push_back(domain);
    step.freed_gpus += free;
  }
  if (step.frees.empty()) {
    tree_.rollback(before);
    return std::nullopt;
  }
  return step;
}

std::vector<DefragmentStep> Defragmenter::plan() {
  std::vector<DefragmentStep> steps;
  while (steps.size() < options_.most_steps) {
    std::optional<DefragmentStep> step;
    for (const Option& option : options()) {
      if ((step = empty(option))) break;
    }
    if (!step) break;
    for (const JobMove& move : step->moves) {
      const auto at = std::ranges::find(running_, move.job, &RunningJob::id) - running_.begin();
      gpus_[static_cast<std::size_t>(at)] = move.gpu_of_rank;
    }
    steps.push_back(std::move(*step));
  }
  tree_.rollback();
  return steps;
}

}  // namespace

std::vector<DefragmentStep> plan_defragmentation(Placer& placer, std::span<const RunningJob> running,
                                                 const DefragmentOptions& options) {
  return Defragmenter(placer, running, options).plan();
}

}  // namespace railweave::scheduler
