#include "services/rest/handlers/jobs/expected_start.h"

#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

#include "services/rest/access/viewer.h"
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

// Calls use() with the forecasts of the state. False: another thread takes long to look ahead.
template <class Use>
bool with_forecasts(const ControlPlane& plane, const control::ClusterState& state, Use use) {
  constexpr std::chrono::milliseconds kLongestWait{500};
  KnownForecast& known = known_forecast();
  const std::unique_lock lock(known.mutex, kLongestWait);
  if (!lock) return false;
  const std::int64_t now_us = plane.loop.now_us();
  const bool fresh = known.plane == &plane && known.queue_version == state.queue_version &&
                     known.view_version == state.view_version && now_us < known.forecasts.valid_until_us;
  if (!fresh) {
    known.forecasts = worker_forecast().of(state, now_us, worker_placers(plane));
    known.plane = &plane;
    known.queue_version = state.queue_version;
    known.view_version = state.view_version;
  }
  use(known.forecasts.by_job);
  return true;
}

}  // namespace

std::optional<control::ExpectedStart> expected_start(const ControlPlane& plane, const control::ClusterState& state,
                                                     control::JobId job) {
  std::optional<control::ExpectedStart> start;
  (void)with_forecasts(plane, state, [&](const auto& by_job) {
    if (const auto at = by_job.find(job); at != by_job.end()) start = at->second;
  });
  return start;
}

std::vector<std::int64_t> expected_times(const ControlPlane& plane, const control::ClusterState& state,
                                         std::span<const control::JobId> jobs) {
  std::vector<std::int64_t> times(jobs.size(), 0);
  (void)with_forecasts(plane, state, [&](const auto& by_job) {
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (const auto at = by_job.find(jobs[i]); at != by_job.end()) times[i] = at->second.at_us;
    }
  });
  return times;
}

control::ExpectedStart expected_start(const ControlPlane& plane, const control::ClusterState& state,
                                      const scheduler::JobSpec& spec) {
  auto forecasts = worker_forecast().of(state, plane.loop.now_us(), worker_placers(plane), &spec);
  return std::move(forecasts.by_job[control::StartForecast::candidate(state)]);
}

void leave_own_tenant(const control::ClusterState& state, const std::string& tenant, control::ExpectedStart& start) {
  start.earlier_ends +=
      std::erase_if(start.ends, [&](const auto& end) { return !is_job_of(state, tenant, to_string(end.job)); });
}

}  // namespace railweave::api
