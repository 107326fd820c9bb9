#include "services/control/state/launch.h"

namespace railweave::control {

void Launch::enter(LaunchPhase next, std::int64_t now_us) {
  phase = next;
  overdue = false;
  switch (next) {
    case LaunchPhase::offered:
      deadline_us = now_us + terms.accept_us;
      becomes = JobState::queued;
      in_favour_of = JobId();
      lost_gpu_s = 0;
      reason.clear();
      freed.clear();
      return;
    case LaunchPhase::accepted:
      deadline_us = now_us + terms.run_us;
      return;
    case LaunchPhase::running:
      deadline_us = left.empty() ? 0 : now_us + terms.release_us;
      return;
    case LaunchPhase::releasing:
      deadline_us = now_us + terms.release_us + (becomes == JobState::queued ? terms.notice_us : 0);
      return;
  }
}

std::set<JobId> jobs_that_left(const LeftGpus& left, const std::string& gpu_or_node) {
  std::set<JobId> jobs;
  const auto add = [&](const std::string& from, const auto& is_meant) {
    for (auto at = left.lower_bound({from, JobId()}); at != left.end() && is_meant(at->first); ++at) {
      jobs.insert(at->second);
    }
  };
  const std::string node = gpu_or_node + ":";
  add(gpu_or_node, [&](const std::string& gpu) { return gpu == gpu_or_node; });
  add(node, [&](const std::string& gpu) { return gpu.starts_with(node); });
  return jobs;
}

}  // namespace railweave::control
