#include "services/rest/json/service/webhook.h"

#include <algorithm>

#include <fmt/core.h>

#include "fabric/base/text/time_text.h"
#include "services/json/contract_object.h"
#include "services/json/strict_json.h"
#include "services/rest/json/time_value.h"

namespace railweave::api {
namespace {

using control::Webhook;

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

// "job.placed", or "job." for all that begin so.
bool is_event_type(std::string_view type) {
  const auto dot = type.find('.');
  return type.size() <= 64 && dot != std::string_view::npos && dot > 0 &&
         type.substr(0, dot).find_first_not_of(kLetters) == std::string_view::npos &&
         type.substr(dot + 1).find_first_not_of(kLetters) == std::string_view::npos;
}

struct Secret {
  void read(ObjectReader& reader, std::string_view name, std::string& into) const {
    std::optional<std::string> secret;
    reader.read_text(name, secret);
    if (!secret) return;
    const bool printable = std::ranges::all_of(*secret, [](char c) { return c >= ' ' && c <= '~'; });
    if (secret->size() < Webhook::kMinSecret || secret->size() > Webhook::kMaxSecret || !printable) {
      reader.set_error(
          name, fmt::format("must be {} to {} printable ASCII characters", Webhook::kMinSecret, Webhook::kMaxSecret));
    }
    into = std::move(*secret);
  }
};

constexpr auto kSpecFields = request_fields<"WebhookSpec">(
    required_field<"url">(&Webhook::url), field<"types">(&Webhook::types, Strings{Webhook::kMaxTypes}),
    field<"muted">(&Webhook::muted), field<"tenant">(&Webhook::tenant), field<"secret">(&Webhook::secret, Secret()));

std::string_view state_of(const Webhook& webhook) {
  if (webhook.disabled) return "disabled";
  if (webhook.failing_since_us != 0) return "failing";
  return webhook.delivered_us != 0 ? "delivering" : "new";
}

}  // namespace

Result<Webhook> read_webhook(const std::string& name, std::string_view body) {
  const bool plain =
      !name.empty() && name.size() <= Webhook::kMaxName &&
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == std::string::npos;
  if (!plain) {
    return fail(ErrorKind::invalid, "webhooks.badName", "a webhook cannot be called that", {},
                "1 to 63 letters, digits, '-', '_' or '.'");
  }
  auto value = parse_json(body);
  if (!value) return std::unexpected(value.error());
  Webhook webhook;
  webhook.name = name;
  ObjectReader reader(*value, "");
  read_fields(reader, webhook, kSpecFields);
  if (webhook.url.size() > Webhook::kMaxUrl) {
    reader.set_error("url", fmt::format("is longer than {} bytes", Webhook::kMaxUrl));
  }
  for (const auto& type : webhook.types) {
    if (!is_event_type(type)) {
      reader.set_error("types", shown(type) + " is no type of events", "like job.placed, or job. for all of jobs");
    }
  }

  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return webhook;
}

std::string write_webhook(const Webhook& webhook) {
  return dump(object<"Webhook">(
      with<"id">(webhook.name), with<"url">(webhook.url), with<"types">(webhook.types), with<"muted">(webhook.muted),
      with<"tenant">(webhook.tenant.empty() ? Out(nullptr) : Out(webhook.tenant)), with<"state">(state_of(webhook)),
      with<"deliveredUpTo">(webhook.cursor), with<"lastDeliveryAt">(time_or_null(webhook.delivered_us)),
      with<"failingSince">(time_or_null(webhook.failing_since_us)), with<"failures">(webhook.failures),
      with<"lastError">(webhook.last_error.empty() ? Out(nullptr) : Out(webhook.last_error)),
      with<"setBy">(webhook.put_by), with<"setAt">(time_text(webhook.put_us)), with<"version">(webhook.version)));
}

}  // namespace railweave::api
