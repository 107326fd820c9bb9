// An alarm as answers have it. Private to api/dto.
#pragma once

#include "api/dto/json_out.h"
#include "services/control/alarm.h"

namespace railweave::api {

Out shown_alarm_json(const control::Alarm& alarm);

}  // namespace railweave::api
