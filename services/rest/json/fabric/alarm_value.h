// An alarm as a JSON value, as a part of answers. Private to this folder.
#pragma once

#include "fabric/topology/topology.h"
#include "services/control/state/alarm.h"
#include "services/json/json_out.h"

namespace railweave::api {

// mute: null where it is not muted.
Out shown_alarm_json(const fabric::Topology& topology, const control::Alarm& alarm, const control::AlarmMute* mute,
                     const MessageReader& reader);

}  // namespace railweave::api
