#include "scheduler/queue/reservation.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/text/time_text.h"
#include "scheduler/queue/cycle/time_profile.h"

namespace railweave::scheduler {

Result<QueueWindow> plan_reservation(Placer& placer, const QueuePolicy& policy, std::span<const RunningJob> running,
                                     const ReservationRequest& request, std::int64_t now_us) {
  const auto wrong = [&](std::string message) {
    return fail(ErrorKind::invalid, "queue.invalidReservation", "reservation '" + request.name + "' " + message);
  };
  if (request.to_us <= request.from_us || request.to_us <= now_us)
    return wrong("must end after it begins, and in the future");
  if (request.shape.tenant.empty()) return wrong("names no tenant");
  if (policy.windows.size() >= QueuePolicy::kMaxWindows)
    return wrong(
        fmt::format("is refused: there are {} windows already; remove one that is over", QueuePolicy::kMaxWindows));
  if (auto checked = check_job_spec(request.shape); !checked) return std::unexpected(std::move(checked.error()));
  TimeProfile profile(placer, now_us);
  for (const RunningJob& job : running) profile.hold_running(job.gpus, expected_end_us(policy, job, now_us), job.id);
  for (const QueueWindow& window : policy.windows) profile.hold(window.gpus, window.from_us, window.to_us);
  profile.show(std::max(now_us, request.from_us), request.to_us, 0);
  PlacementResult result = placer.place(request.shape);
  if (result.outcome != Outcome::placed) {
    return fail(ErrorKind::conflict, "queue.noRoomForReservation",
                "reservation '" + request.name + "' does not fit from " + whole_second_text(request.from_us) + " to " +
                    whole_second_text(request.to_us) + ": " + result.explanation.message);
  }
  return QueueWindow{QueueWindow::Kind::reservation, request.name, request.from_us, request.to_us, request.shape.tenant,
                     result.placement.held_gpus()};
}

}  // namespace railweave::scheduler
