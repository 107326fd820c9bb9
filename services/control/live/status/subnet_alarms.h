// The alarms that one subnet's controller has raised: told what is wrong now, it reports what that changes.
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

  // All alarms of a kind at once: those of that kind that are not among them are over.
  void set(const std::string& kind, std::vector<Alarm> alarms);
  // One of a kind about the subnet itself; no text: it is over.
  void set_subnet(const std::string& kind, AlarmSeverity severity, const std::string& text);
  // All are over: what was wrong in another mode says nothing of this one.
  void clear();
  // Reports again what the table lacks, and clears what it has of this subnet that is not so: reports may be lost, and
  // the service may have been away.
  void repeat_lost(const AlarmTable& table) const;

 private:
  std::string subnet_;
  Report report_;
  std::map<std::string, std::map<std::string, Alarm>> raised_;  // by kind, by id
};

}  // namespace railweave::control
