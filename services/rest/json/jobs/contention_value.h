// The times of a job's communication beside other jobs, as a JSON value. Private to this folder.
#pragma once

#include "services/control/views/contention_book.h"
#include "services/json/json_out.h"

namespace railweave::api {

Out to_json(const control::JobContention& contention);

}  // namespace railweave::api
