// Operations as JSON.
#pragma once

#include <string>

#include "api/operations/operations.h"

namespace railweave::api {

std::string write_operation(const Operation& operation);

}  // namespace railweave::api
