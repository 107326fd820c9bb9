// Whose Idempotency-Keys a request uses: its caller's in its tenant. Pure.
#pragma once

#include <string>

#include "api/http/message/request.h"

namespace railweave::api {

// As OwnedKey::owner has it. The same for every token, certificate or web token of one name, so that a client that is given a new
// token repeats its requests. The name is in a digest: jobs are shown to callers who may not know it.
std::string key_owner(const Request& request);

}  // namespace railweave::api
