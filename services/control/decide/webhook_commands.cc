#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/fair_share.h"
#include "services/control/decide/commands.h"
#include "services/control/decide/refusal.h"

namespace railweave::control {
namespace {

constexpr const char* kWebhookAlarm = "webhook.disabled";

std::string alarm_of(const std::string& webhook) { return fmt::format("{}:{}", kWebhookAlarm, webhook); }

void clear_alarm(const ClusterState& state, const std::string& webhook, std::vector<EventBody>& events) {
  if (state.alarms->contains(alarm_of(webhook))) events.emplace_back(AlarmCleared{alarm_of(webhook)});
}

// A tenant's webhooks have a share of what all tenants' may be, whoever sets them.
std::optional<Rejection> no_room(const WebhookTable& webhooks, const std::string& tenant) {
  if (webhooks.size() >= kMaxWebhooks) {
    return Rejection{{ErrorKind::busy,
                      "webhooks.tooMany",
                      fmt::format("there are {} webhooks already", kMaxWebhooks),
                      {},
                      "remove one that is not used"},
                     nullptr};
  }
  if (tenant.empty()) return std::nullopt;
  std::size_t own = 0, of_tenants = 0;
  for (const auto& [name, webhook] : webhooks) {
    own += webhook.tenant == tenant ? 1 : 0;
    of_tenants += webhook.tenant.empty() ? 0 : 1;
  }
  const std::size_t others = webhooks.size() - of_tenants;
  const std::size_t limit = kMaxWebhooks - std::max(others, kWebhooksOfOperators);
  if (within_fair_share(own, of_tenants, limit)) return std::nullopt;
  return Rejection{{ErrorKind::busy,
                    "webhooks.tooMany",
                    fmt::format("tenant {} has {} webhooks already, no fewer than are left to all others", tenant, own),
                    {},
                    "remove one that is not used"},
                   nullptr};
}

}  // namespace

std::vector<EventBody> remove_webhooks(const ClusterState& state, const std::string& tenant) {
  std::vector<EventBody> events;
  for (const auto& [name, webhook] : *state.webhooks) {
    if (webhook.tenant != tenant) continue;
    events.emplace_back(WebhookRemoved{name});
    clear_alarm(state, name, events);
  }
  return events;
}

DecisionResult decide_command(const DecisionInput& in, const PutWebhook& command) {
  const ClusterState& state = in.state;
  const auto present = state.webhooks->find(command.webhook.name);
  const bool exists = present != state.webhooks->end();
  if (exists && command.by_member && present->second.tenant != command.webhook.tenant) {
    return refuse(ErrorKind::conflict, "webhooks.nameTaken",
                  "'" + command.webhook.name + "' is not a name that you can use", "use another name");
  }
  const std::uint64_t version = exists ? present->second.version : 0;
  if (command.if_version && *command.if_version != version) {
    return refuse_version("the webhook", *command.if_version, version);
  }
  if (!exists || present->second.tenant != command.webhook.tenant) {
    if (auto full = no_room(*state.webhooks, command.webhook.tenant);
        full && !(exists && command.webhook.tenant.empty())) {
      return std::unexpected(std::move(*full));
    }
  }
  if (!command.webhook.tenant.empty() && !state.tenants->contains(command.webhook.tenant)) {
    return refuse(ErrorKind::invalid, "tenants.unknown", "there is no tenant '" + command.webhook.tenant + "'");
  }
  Webhook webhook = command.webhook;
  if (webhook.secret.empty() && exists) webhook.secret = present->second.secret;
  if (webhook.secret.empty()) {
    return refuse(ErrorKind::invalid, "webhooks.noSecret", "a webhook needs a secret, with which it is signed",
                  fmt::format("give one of at least {} bytes", Webhook::kMinSecret));
  }
  std::vector<EventBody> events{WebhookPut{std::move(webhook)}};
  clear_alarm(state, command.webhook.name, events);
  return Decision{std::move(events), {}, false};
}

DecisionResult decide_command(const DecisionInput& in, const RemoveWebhook& command) {
  const auto present = in.state.webhooks->find(command.name);
  if (present == in.state.webhooks->end() || (command.tenant && present->second.tenant != *command.tenant)) {
    return refuse(ErrorKind::notFound, "webhooks.notFound", "there is no webhook '" + command.name + "'",
                  "GET /v1/webhooks lists them");
  }
  if (command.if_version && *command.if_version != present->second.version) {
    return refuse_version("the webhook", *command.if_version, present->second.version);
  }
  std::vector<EventBody> events{WebhookRemoved{command.name}};
  clear_alarm(in.state, command.name, events);
  return Decision{std::move(events), {}, false};
}

DecisionResult decide_command(const DecisionInput& in, const ReportWebhook& command) {
  const auto present = in.state.webhooks->find(command.step.name);
  if (present == in.state.webhooks->end() || present->second.version != command.version) return Decision{};
  std::vector<EventBody> events{command.step};
  if (command.step.disabled) {
    Alarm alarm;
    alarm.kind = kWebhookAlarm;
    alarm.subject_kind = "webhook";
    alarm.subject_id = command.step.name;
    alarm.severity = AlarmSeverity::critical;
    alarm.text = "webhook '" + command.step.name + "' failed for too long and is sent nothing more (" +
                 command.step.last_error + "): set it again when its address answers";
    events.emplace_back(AlarmRaised{std::move(alarm)});
  }
  return Decision{std::move(events), {}, false};
}

}  // namespace railweave::control
