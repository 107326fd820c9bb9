#include "services/control/codec/webhook_json.h"

#include <memory>
#include <utility>

#include "services/control/codec/event_body.h"
#include "services/control/state/cluster_state.h"

namespace railweave::api {
namespace {

using control::Webhook;
using control::WebhookAdvanced;
using control::WebhookPut;
using control::WebhookRemoved;

constexpr std::tuple kHookFields{field("name", &Webhook::name),
                                 field("url", &Webhook::url),
                                 optional_field("types", &Webhook::types, Strings{Webhook::kMaxTypes}),
                                 optional_field("muted", &Webhook::muted),
                                 optional_field("tenant", &Webhook::tenant),
                                 field("secret", &Webhook::secret)};
constexpr std::tuple kHookStateFields{field("putBy", &Webhook::put_by),
                                      field("putUs", &Webhook::put_us),
                                      field("version", &Webhook::version),
                                      field("cursor", &Webhook::cursor),
                                      optional_field("deliveredUs", &Webhook::delivered_us),
                                      optional_field("failingSinceUs", &Webhook::failing_since_us),
                                      optional_field("failures", &Webhook::failures),
                                      optional_field("lastError", &Webhook::last_error),
                                      optional_field("disabled", &Webhook::disabled)};
constexpr std::tuple kAdvancedFields{field("name", &WebhookAdvanced::name),
                                     field("cursor", &WebhookAdvanced::cursor),
                                     optional_field("deliveredUs", &WebhookAdvanced::delivered_us),
                                     optional_field("failingSinceUs", &WebhookAdvanced::failing_since_us),
                                     optional_field("failures", &WebhookAdvanced::failures),
                                     optional_field("lastError", &WebhookAdvanced::last_error),
                                     optional_field("disabled", &WebhookAdvanced::disabled)};
constexpr std::tuple kHookRemovedFields{field("name", &WebhookRemoved::name)};

}  // namespace

Out to_json(const WebhookPut& event) { return fields_json(event.webhook, kHookFields); }
Out to_json(const WebhookRemoved& event) { return fields_json(event, kHookRemovedFields); }
Out to_json(const WebhookAdvanced& event) { return fields_json(event, kAdvancedFields); }

std::optional<Result<control::EventBody>> webhook_event_from_json(std::string_view kind, const Json& data) {
  if (kind == "webhook.put") {
    auto webhook = record_from_json<Webhook>(data, "/data", kHookFields);
    if (!webhook) return std::unexpected(webhook.error());
    return control::EventBody{WebhookPut{std::move(*webhook)}};
  }
  if (kind == "webhook.removed") return body_of<WebhookRemoved>(data, kHookRemovedFields);
  if (kind == "webhook.delivered" || kind == "webhook.failing" || kind == "webhook.disabled") {
    return body_of<WebhookAdvanced>(data, kAdvancedFields);
  }
  return std::nullopt;
}

Out webhooks_to_json(const control::WebhookTable& webhooks) {
  Out list = Out::array();
  for (const auto& [name, webhook] : webhooks) {
    Out item = fields_json(webhook, kHookFields);
    write_fields(item, webhook, kHookStateFields);
    list.push_back(std::move(item));
  }
  return list;
}

Result<void> read_webhooks(const Json& value, control::ClusterState& state) {
  auto table = std::make_shared<control::WebhookTable>();
  for (const auto& item : value) {
    ObjectReader reader(item, "/webhooks");
    Webhook webhook;
    read_fields(reader, webhook, kHookFields);
    read_fields(reader, webhook, kHookStateFields);
    if (auto done = reader.finish(); !done) return done;
    std::string name = webhook.name;
    table->emplace(std::move(name), std::move(webhook));
  }
  state.webhooks = std::move(table);
  return {};
}

}  // namespace railweave::api
