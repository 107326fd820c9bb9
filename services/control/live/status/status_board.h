// What one subnet's controller shows: its status, published whole, how far its ports are, and its alarms. All are changed by
// the stepping thread; published() and ports() may be called from any thread.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "services/control/live/status/live_fabric.h"
#include "services/control/live/status/port_progress.h"
#include "services/control/live/status/subnet_alarms.h"
#include "services/control/live/status/subnet_status.h"

namespace railweave::control {

class StatusBoard {
 public:
  StatusBoard(const std::string& subnet, const std::string& port, SubnetAlarms::Report report);

  // The stepping thread's own; others see it after publish().
  SubnetStatus& status() { return status_; }
  SubnetAlarms& alarms() { return alarms_; }
  void publish();
  void publish_ports(PortProgress progress);

  [[nodiscard]] SubnetStatusPtr published() const;
  [[nodiscard]] PortProgress ports() const;

 private:
  SubnetStatus status_;
  SubnetAlarms alarms_;
  mutable std::mutex mutex_;  // guards published_ and ports_
  SubnetStatusPtr published_;
  PortProgress ports_;
};

}  // namespace railweave::control
