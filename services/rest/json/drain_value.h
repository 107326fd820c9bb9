// The drain of a link, switch or node as part of its JSON. Private to this folder.
#pragma once

#include "services/json/json_out.h"
#include "services/rest/json/drain.h"

namespace railweave::api {

// null: not drained.
Out drain_json(const ShownDrain& shown);

}  // namespace railweave::api
