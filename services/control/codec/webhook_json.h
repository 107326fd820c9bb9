// Webhooks and their events <-> JSON, as the journal keeps them.
#pragma once

#include <optional>
#include <string_view>

#include "services/control/events/event.h"
#include "services/json/json_out.h"
#include "services/json/strict_json.h"

namespace railweave::api {

Out to_json(const control::WebhookPut& event);
Out to_json(const control::WebhookRemoved& event);
Out to_json(const control::WebhookAdvanced& event);
// none: of another kind.
std::optional<Result<control::EventBody>> webhook_event_from_json(std::string_view kind, const Json& data);

Out webhooks_to_json(const control::WebhookTable& webhooks);
Result<void> read_webhooks(const Json& value, control::ClusterState& state);

}  // namespace railweave::api
