#include "services/control/events/webhook_events.h"

#include <memory>
#include <utility>

#include "services/control/events/event.h"
#include "services/control/state/cluster_state.h"

namespace railweave::control {

void apply_change(ClusterState& state, const WebhookPut& body, const Event& event) {
  auto webhooks = std::make_shared<WebhookTable>(*state.webhooks);
  Webhook webhook = body.webhook;
  webhook.put_by = event.actor;
  webhook.put_us = event.time_us;
  webhook.version = webhook.cursor = event.seq;
  // What has been sent to the same address is not sent again.
  if (const auto before = webhooks->find(webhook.name);
      before != webhooks->end() && before->second.url == webhook.url) {
    webhook.cursor = before->second.cursor;
    webhook.delivered_us = before->second.delivered_us;
  }
  const std::string name = webhook.name;
  webhooks->insert_or_assign(name, std::move(webhook));
  state.webhooks = std::move(webhooks);
}

void apply_change(ClusterState& state, const WebhookRemoved& body, const Event&) {
  auto webhooks = std::make_shared<WebhookTable>(*state.webhooks);
  webhooks->erase(body.name);
  state.webhooks = std::move(webhooks);
}

void apply_change(ClusterState& state, const WebhookAdvanced& body, const Event&) {
  auto webhooks = std::make_shared<WebhookTable>(*state.webhooks);
  if (const auto at = webhooks->find(body.name); at != webhooks->end()) {
    Webhook& webhook = at->second;
    webhook.cursor = body.cursor;
    webhook.delivered_us = body.delivered_us;
    webhook.failing_since_us = body.failing_since_us;
    webhook.failures = body.failures;
    webhook.last_error = body.last_error;
    webhook.disabled = body.disabled;
  }
  state.webhooks = std::move(webhooks);
}

}  // namespace railweave::control
