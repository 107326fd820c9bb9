// What a job's communication takes beside other jobs, as JSON. Private to api/dto.
#pragma once

#include "api/dto/json_out.h"
#include "services/control/contention_book.h"

namespace railweave::api {

Out to_json(const control::JobContention& contention);

}  // namespace railweave::api
