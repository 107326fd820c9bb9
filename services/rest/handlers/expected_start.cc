#include "services/rest/handlers/expected_start.h"

#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

#include "services/rest/handlers/worker_placers.h"

namespace railweave::api {
namespace {

control::StartForecast& worker_forecast() {
  thread_local control::StartForecast forecast;
  return forecast;
}

// Of one service and state of its queue.
struct KnownForecast {
  std::timed_mutex mutex;  // guards the rest; held while one thread looks ahead
  const ControlPlane* plane = nullptr;
  std::uint64_t queue_version = 0, view_version = 0;
  control::StartForecasts forecasts;
};

KnownForecast& known_forecast() {
  static KnownForecast known;
  return known;
}

}  // namespace

std::optional<control::ExpectedStart> expected_start(const ControlPlane& plane, const control::ClusterState& state,
                                                     control::JobId job) {
  constexpr std::chrono::milliseconds kLongestWait{500};
  KnownForecast& known = known_forecast();
  const std::unique_lock lock(known.mutex, kLongestWait);
  if (!lock) return std::nullopt;
  const std::int64_t now_us = plane.loop.now_us();
  const bool fresh = known.plane == &plane && known.queue_version == state.queue_version &&
                     known.view_version == state.view_version && now_us < known.forecasts.valid_until_us;
  if (!fresh) {
    known.forecasts = worker_forecast().of(state, now_us, worker_placers(plane));
    known.plane = &plane;
    known.queue_version = state.queue_version;
    known.view_version = state.view_version;
  }
  const auto at = known.forecasts.by_job.find(job);
  return at == known.forecasts.by_job.end() ? std::nullopt : std::optional(at->second);
}

control::ExpectedStart expected_start(const ControlPlane& plane, const control::ClusterState& state,
                                      const scheduler::JobSpec& spec) {
  auto forecasts = worker_forecast().of(state, plane.loop.now_us(), worker_placers(plane), &spec);
  return std::move(forecasts.by_job[control::StartForecast::candidate(state)]);
}

void leave_own_tenant(const std::string& tenant, control::ExpectedStart& start) {
  start.earlier_ends += std::erase_if(start.ends, [&](const auto& end) { return end.tenant != tenant; });
}

}  // namespace railweave::api
