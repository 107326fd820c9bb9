// What happens to alarms.
#pragma once

#include <cstdint>
#include <string>

#include "services/control/state/alarm.h"

namespace railweave::control {

struct ClusterState;

struct AlarmRaised {
  Alarm alarm;  // not acknowledged; one that stands already stays so unless its severity rises
};
struct AlarmCleared {
  std::string id;
};
struct AlarmAcknowledged {  // by the event's actor
  std::string id;
  bool acknowledged = true;  // false: taken back
  std::string note;
};
struct AlarmMuted {  // by the event's actor
  std::string id;
  std::int64_t until_us = 0;  // 0: not muted any more
  std::string note;
};

struct Event;
void apply_change(ClusterState& state, const AlarmRaised& body, const Event& event);
void apply_change(ClusterState& state, const AlarmCleared& body, const Event& event);
void apply_change(ClusterState& state, const AlarmAcknowledged& body, const Event& event);
void apply_change(ClusterState& state, const AlarmMuted& body, const Event& event);

}  // namespace railweave::control
