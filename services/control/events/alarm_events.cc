#include "services/control/events/alarm_events.h"

#include <memory>
#include <utility>

#include "services/control/events/event.h"
#include "services/control/state/cluster_state.h"

namespace railweave::control {
namespace {

void unmute(ClusterState& state, const std::string& id) {
  auto mutes = std::make_shared<MuteTable>(*state.mutes);
  mutes->erase(id);
  state.mutes = std::move(mutes);
}

}  // namespace

void apply_change(ClusterState& state, const AlarmRaised& body, const Event& event) {
  auto alarms = std::make_shared<AlarmTable>(*state.alarms);
  const auto present = alarms->find(body.alarm.id());
  if (present == alarms->end() && alarms->size() >= kMaxAlarms) return;
  Alarm alarm = body.alarm;
  alarm.raised_us = event.time_us;
  alarm.version = event.seq;
  if (present != alarms->end()) {
    const Alarm& before = present->second;
    alarm.raised_us = before.raised_us;
    if (alarm.severity <= before.severity) {
      alarm.acknowledged_us = before.acknowledged_us;
      alarm.acknowledged_by = before.acknowledged_by;
      alarm.acknowledged_note = before.acknowledged_note;
    }
  }
  std::string id = alarm.id();
  if (const AlarmMute* mute = state.mute(id); mute != nullptr && alarm.severity > mute->severity) unmute(state, id);
  alarms->insert_or_assign(std::move(id), std::move(alarm));
  state.alarms = std::move(alarms);
}

void apply_change(ClusterState& state, const AlarmCleared& body, const Event&) {
  auto alarms = std::make_shared<AlarmTable>(*state.alarms);
  alarms->erase(body.id);
  state.alarms = std::move(alarms);
}

void apply_change(ClusterState& state, const AlarmAcknowledged& body, const Event& event) {
  auto alarms = std::make_shared<AlarmTable>(*state.alarms);
  const auto present = alarms->find(body.id);
  if (present == alarms->end()) return;
  Alarm& alarm = present->second;
  alarm.acknowledged_us = body.acknowledged ? event.time_us : 0;
  alarm.acknowledged_by = body.acknowledged ? event.actor : "";
  alarm.acknowledged_note = body.acknowledged ? body.note : "";
  alarm.version = event.seq;
  state.alarms = std::move(alarms);
}

void apply_change(ClusterState& state, const AlarmMuted& body, const Event& event) {
  const auto present = state.alarms->find(body.id);
  if (present != state.alarms->end()) {
    auto alarms = std::make_shared<AlarmTable>(*state.alarms);
    alarms->at(body.id).version = event.seq;
    state.alarms = std::move(alarms);
  }
  if (body.until_us == 0) return unmute(state, body.id);
  const auto severity = present == state.alarms->end() ? AlarmSeverity::warning : state.alarms->at(body.id).severity;
  auto mutes = std::make_shared<MuteTable>(*state.mutes);
  mutes->insert_or_assign(body.id, AlarmMute{event.actor, body.note, severity, event.time_us, body.until_us});
  state.mutes = std::move(mutes);
}

}  // namespace railweave::control
