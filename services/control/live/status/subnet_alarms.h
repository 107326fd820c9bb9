// The alarms that one subnet's controller has raised: it sets what is wrong now, and the changes are reported.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "services/control/events/command.h"
#include "services/control/state/alarm.h"

namespace railweave::control {

class SubnetAlarms {
 public:
  using Report = std::function<void(decltype(Command::body))>;
  SubnetAlarms(std::string subnet, Report report) : subnet_(std::move(subnet)), report_(std::move(report)) {}

  // All alarms of a kind at once: others of that kind are cleared.
  void set(const std::string& kind, std::vector<Alarm> alarms);
  // One of a kind about the subnet itself; no text: it is cleared.
  void set_subnet(const std::string& kind, AlarmSeverity severity, const std::string& text);
  // Before another mode: clears those of what is written, which say nothing about it. Those of links, devices and the
  // connection hold in every mode, and stand until something else is found.
  void clear_of_mode();
  // Raises again what the table lacks, and clears alarms of this subnet that are not raised: reports may be lost, and
  // the service may have been restarted.
  void repeat_lost(const AlarmTable& table) const;

 private:
  std::string subnet_;
  Report report_;
  std::map<std::string, std::map<std::string, Alarm>> raised_;  // by kind, by id
};

}  // namespace railweave::control
