// A drain as part of what it is about. Private to api/dto.
#pragma once

#include "api/dto/drain_dto.h"
#include "api/dto/json_out.h"

namespace railweave::api {

// Null where there is none.
Out drain_json(const ShownDrain& shown);

}  // namespace railweave::api
