// Operations as JSON.
#pragma once

#include <functional>
#include <string>

#include "api/operations/operations.h"

namespace railweave::api {

// http_status: maps an error to the status that the request would have been answered with, had it waited.
std::string write_operation(const Operation& operation, const std::function<int(ErrorKind)>& http_status);

}  // namespace railweave::api
