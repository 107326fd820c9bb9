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
      deadline_us = 0;
      return;
    case LaunchPhase::releasing:
      deadline_us = now_us + terms.release_us + (becomes == JobState::queued ? terms.notice_us : 0);
      return;
  }
}

}  // namespace railweave::control
