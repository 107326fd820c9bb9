// Operations as JSON.
#pragma once

#include <functional>
#include <string>

#include "api/operations/operations.h"

namespace railweave::api {

// http_status: what the request would have answered, had it waited for the error.
std::string write_operation(const Operation& operation, const std::function<int(ErrorKind)>& http_status);

}  // namespace railweave::api
