// Times of answers. Errors: none.
#pragma once

#include <cstdint>

#include "services/json/json_out.h"

namespace railweave::api {

Out time_or_null(std::int64_t us);  // since 1970; 0: null

}  // namespace railweave::api
