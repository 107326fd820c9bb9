#include "services/control/events/left_gpus.h"

#include <algorithm>

#include "services/control/state/cluster_state.h"

namespace railweave::control {

void leave(ClusterState& state, Job& job, const std::vector<std::string>& gpus, std::int64_t now_us) {
  Launch& launch = *job.launch;
  launch.left.insert(launch.left.end(), gpus.begin(), gpus.end());
  std::ranges::sort(launch.left);
  const auto repeated = std::ranges::unique(launch.left);
  launch.left.erase(repeated.begin(), repeated.end());
  state.leave_gpus(job, true);
  if (launch.phase == LaunchPhase::running) launch.enter(LaunchPhase::running, now_us);
}

bool free_left(ClusterState& state, Job& job, const std::vector<std::string>& nodes) {
  Launch& launch = *job.launch;
  const auto is_free = [&](const std::string& gpu) {
    return std::ranges::find(nodes, gpu.substr(0, gpu.rfind(':'))) != nodes.end();
  };
  if (std::ranges::none_of(launch.left, is_free)) return false;
  state.leave_gpus(job, false);
  std::erase_if(launch.left, is_free);
  state.leave_gpus(job, true);
  if (launch.phase == LaunchPhase::running && launch.left.empty()) launch.enter(LaunchPhase::running, 0);
  return true;
}

void drop_left(ClusterState& state, Job& job) {
  if (!job.launch || job.launch->left.empty()) return;
  state.leave_gpus(job, false);
  job.launch->left.clear();
}

}  // namespace railweave::control
