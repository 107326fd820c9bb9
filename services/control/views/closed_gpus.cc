#include "services/control/views/closed_gpus.h"

#include <algorithm>

namespace railweave::control {

using scheduler::QueueWindow;

ClosedGpus closed_gpus(const ClusterState& state, const std::string& tenant, std::int64_t from_us, std::int64_t to_us) {
  ClosedGpus closed;
  for (const auto& [name, reservation] : *state.reservations) {
    const QueueWindow& window = reservation.window;
    const bool own = window.kind == QueueWindow::Kind::reservation && window.tenant == tenant;
    if (own || window.to_us <= from_us || window.from_us >= to_us) continue;
    closed.gpus.insert(closed.gpus.end(), window.gpus.begin(), window.gpus.end());
    closed.windows.push_back(name);
  }
  std::ranges::sort(closed.gpus);
  const auto repeated = std::ranges::unique(closed.gpus);
  closed.gpus.erase(repeated.begin(), repeated.end());
  return closed;
}

std::int64_t expected_end_us(const ClusterState& state, const scheduler::JobSpec& spec, std::int64_t now_us) {
  const auto& policy = state.queue_rules->policy;
  return now_us + (spec.expected_duration_s ? *spec.expected_duration_s * 1'000'000 : policy.default_duration_us);
}

std::int64_t expected_end_us(const ClusterState& state, const Job& job, std::int64_t now_us) {
  const std::int64_t end_us = expected_end_us(state, job.spec, job.started_us);
  return end_us > now_us ? end_us : now_us + state.queue_rules->policy.overrun_us;
}

}  // namespace railweave::control
