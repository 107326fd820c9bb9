// The contract itself, api/openapi.yaml, as it was when this was built: what GET /openapi.yaml serves.
#pragma once

#include <string>

namespace railweave::api {

// OpenAPI 3.1 in YAML, byte for byte the file.
std::string openapi_document();

}  // namespace railweave::api
