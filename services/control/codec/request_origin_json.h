// Who asked for an event, in the first member of its payload, "origin": for the audit trail. Records of earlier releases and what
// the service does by itself have none.
#pragma once

#include <optional>
#include <string_view>

#include "services/control/events/event.h"
#include "services/json/record.h"

namespace railweave::api {

inline constexpr std::tuple kOriginFields{field("requestId", &control::RequestOrigin::request_id),
                                          field("tenant", &control::RequestOrigin::tenant),
                                          field("token", &control::RequestOrigin::token)};

// Of a payload; none: it has none, or one that cannot be read.
std::optional<control::RequestOrigin> origin_of_payload(const Json& payload);

}  // namespace railweave::api
