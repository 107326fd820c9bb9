#include "services/control/live/status/status_board.h"

#include <utility>

namespace railweave::control {

StatusBoard::StatusBoard(const std::string& subnet, const std::string& port, SubnetAlarms::Report report)
    : alarms_(subnet, std::move(report)) {
  status_.subnet = subnet;
  status_.port = port;
  status_.problem = "not connected yet";
  publish();
}

void StatusBoard::publish() {
  auto copy = std::make_shared<const SubnetStatus>(status_);
  const std::lock_guard lock(mutex_);
  published_ = std::move(copy);
}

SubnetStatusPtr StatusBoard::published() const {
  const std::lock_guard lock(mutex_);
  return published_;
}

void StatusBoard::publish_ports(PortProgress progress) {
  const std::lock_guard lock(mutex_);
  ports_ = std::move(progress);
}

PortProgress StatusBoard::ports() const {
  const std::lock_guard lock(mutex_);
  return ports_;
}

}  // namespace railweave::control
