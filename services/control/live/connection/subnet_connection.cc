#include "services/control/live/connection/subnet_connection.h"

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
  backoff_.reset();
  return {};
}

void SubnetConnection::close() {
  driver_.reset();
  phase_ = Phase::offline;
  retry_at_us_ = with_.monotonic_us() + backoff_.next().count();
}

}  // namespace railweave::control
