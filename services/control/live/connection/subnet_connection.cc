#include "services/control/live/connection/subnet_connection.h"

#include <algorithm>
#include <utility>

namespace railweave::control {

bool SubnetConnection::set_mode(SubnetMode mode) {
  if (mode == mode_) return false;
  mode_ = mode;
  driver_.reset();
  phase_ = Phase::offline;
  retry_at_us_ = 0;
  return true;
}

Result<void> SubnetConnection::open() {
  auto driver = with_.connect(mode_);
  if (!driver) return std::unexpected(driver.error());
  driver_ = std::move(*driver);
  phase_ = Phase::opened;
  retry_wait_us_ = 0;
  return {};
}

void SubnetConnection::close() {
  constexpr std::int64_t kUsPerMs = 1000;
  driver_.reset();
  phase_ = Phase::offline;
  retry_wait_us_ =
      std::clamp(retry_wait_us_ * 2, options_.retry_first.count() * kUsPerMs, options_.retry_most.count() * kUsPerMs);
  retry_at_us_ = with_.monotonic_us() + retry_wait_us_;
}

}  // namespace railweave::control
