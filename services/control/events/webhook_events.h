// Events of webhooks, and what they make of the state.
#pragma once

#include <cstdint>
#include <string>

#include "services/control/state/webhook.h"

namespace railweave::control {

struct ClusterState;

struct WebhookPut {  // with nothing sent yet, from the event itself on
  Webhook webhook;
};
struct WebhookRemoved {
  std::string name;
};
// How far it has come, in longer steps than single deliveries.
struct WebhookAdvanced {
  std::string name;
  std::uint64_t cursor = 0;
  std::int64_t delivered_us = 0, failing_since_us = 0;
  std::uint64_t failures = 0;
  std::string last_error;
  bool disabled = false;
};

struct Event;
void apply_change(ClusterState& state, const WebhookPut& body, const Event& event);
void apply_change(ClusterState& state, const WebhookRemoved& body, const Event& event);
void apply_change(ClusterState& state, const WebhookAdvanced& body, const Event& event);

}  // namespace railweave::control
