// Who a request is from, by its Authorization header. Pure; called on I/O threads.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>

#include "api/http/message/headers.h"
#include "api/http/message/problem.h"
#include "services/rest/access/caller.h"
#include "services/rest/access/rate_limit.h"

namespace railweave::api {

// "Authorization: Bearer rw_...". A token that never was, one that was revoked and a wrong secret are one answer. 429 beyond the limit of requests.
std::expected<std::shared_ptr<const Caller>, Problem> authenticate(const Headers& headers,
                                                                   const control::AccessTokenTable& tokens,
                                                                   std::int64_t now_us, RateLimit& limit);

}  // namespace railweave::api
