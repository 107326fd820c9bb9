// Requests about webhooks for Command.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "services/control/events/event.h"

namespace railweave::control {

struct PutWebhook {
  Webhook webhook;         // with no secret: the one that it has
  bool by_member = false;  // of webhook.tenant
  std::optional<std::uint64_t> if_version;
};
struct RemoveWebhook {
  std::string name;
  std::optional<std::string> tenant;  // a member's: only one of this tenant is there
  std::optional<std::uint64_t> if_version;
};
// What was sent since; ignored if the webhook was set again meanwhile.
struct ReportWebhook {
  WebhookAdvanced step;
  std::uint64_t version = 0;  // of the webhook
};

}  // namespace railweave::control
