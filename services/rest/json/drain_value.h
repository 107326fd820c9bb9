// A drain as part of what it is about. Private to this folder.
#pragma once

#include "services/json/json_out.h"
#include "services/rest/json/drain.h"

namespace railweave::api {

// Null where there is none.
Out drain_json(const ShownDrain& shown);

}  // namespace railweave::api
