#include "services/control/state/step_times.h"

#include <algorithm>

namespace railweave::control {

std::int64_t StepTimes::next_us() const {
  if (reports == 0) return 0;
  return reported_us + std::max(kLeastBetweenUs, (reported_us - first_us) / kShareBetween);
}

}  // namespace railweave::control
