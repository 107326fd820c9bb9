// Whose forwarding tables an answer rests on, as its member `tables`. For answers alone.
#pragma once

#include <span>

#include "services/control/views/tables_used.h"
#include "services/json/json_out.h"

namespace railweave::api {

Out tables_json(std::span<const control::TablesUsed> tables);

}  // namespace railweave::api
