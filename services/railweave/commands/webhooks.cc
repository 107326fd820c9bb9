// railweave webhooks list|show|set|remove.
#include <optional>

#include "services/railweave/command_line/resource.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/input_file.h"

namespace railweave::cli {
namespace {

Cell webhook_state(const Json& webhook) {
  const std::string state = text_of(webhook, "state");
  if (state == "delivering") return {state, Tone::good};
  if (state == "failing") return {state, Tone::warning};
  return {state, state == "disabled" ? Tone::bad : Tone::plain};
}

void print_webhook(Output& output, const Json& webhook) {
  Sheet sheet;
  sheet.add("Webhook", text_of(webhook, "id"));
  sheet.add("Address", text_of(webhook, "url"));
  sheet.add("Events", list(webhook, "types").empty() ? std::string("all") : joined(list(webhook, "types")));
  if (field(webhook, "muted") == true) sheet.add("Muted alarms", "told, too");
  if (field(webhook, "tenant").is_string()) sheet.add("Tenant", text_of(webhook, "tenant"));
  sheet.add("State", webhook_state(webhook));
  sheet.add("Received", "up to event " + text_of(webhook, "deliveredUpTo"));
  if (field(webhook, "lastDeliveryAt").is_string()) sheet.add("Last delivery", time_of(webhook, "lastDeliveryAt"));
  if (field(webhook, "failingSince").is_string()) {
    sheet.add("Failing", "since " + time_of(webhook, "failingSince") + ", " + text_of(webhook, "failures") +
                             " attempts: " + text_of(webhook, "lastError"));
  }
  sheet.add("Set", "at " + time_of(webhook, "setAt") + " by " + text_of(webhook, "setBy"));
  output.text(sheet.text(output.terminal()));
}

constexpr ResourceKind kWebhook{"/v1/webhooks", "webhook", "WEBHOOK", "Its name", print_webhook};

struct WebhookOptions {
  std::string url, tenant, secret_file;
  std::vector<std::string> types;
  std::optional<bool> muted;
};

void change_webhook(Json& body, const WebhookOptions& options) {
  constexpr std::size_t kMaxBytes = 1'000;
  if (!options.url.empty()) body["url"] = options.url;
  if (!options.types.empty()) body["types"] = options.types;
  if (options.muted) body["muted"] = *options.muted;
  if (!options.tenant.empty()) body["tenant"] = options.tenant;
  if (field(body, "tenant").is_null()) body.erase("tenant");
  if (!body.contains("url")) fail_usage("where are events to be sent?", "give --url");
  if (options.secret_file.empty()) return;
  std::string secret = value_or_fail(read_input(options.secret_file, kMaxBytes));
  while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) secret.pop_back();
  body["secret"] = secret;
}

}  // namespace

void add_webhook_commands(CLI::App& root, Session& session) {
  CLI::App& webhooks = add_noun(root, "webhooks", "Webhooks: addresses that events are sent to", "Service");
  webhooks.alias("webhook");
  add_list_command(webhooks, session, "List webhooks and how far each has come", {"railweave webhooks list"},
                   {kWebhook.path,
                    {{text_column("WEBHOOK", "id"),
                      {"STATE", webhook_state},
                      text_column("ADDRESS", "url"),
                      number_column("RECEIVED", "deliveredUpTo"),
                      number_column("FAILURES", "failures"),
                      time_column("LAST DELIVERY", "lastDeliveryAt"),
                      text_column("TENANT", "tenant", true),
                      text_column("LAST ERROR", "lastError", true)},
                     "no webhooks"}});
  add_show_command(webhooks, session, kWebhook, "Show a webhook and its deliveries", {"railweave webhooks show pager"});
  auto options = std::make_shared<WebhookOptions>();
  CLI::App& set = add_set_command(
      webhooks, session, kWebhook, "Send events to an address, or change that; one that is disabled is tried again",
      {"railweave webhooks set pager --url https://hooks.example.org/railweave --type alarm. --secret-file hook.key",
       "railweave webhooks set pager --type job.placed --type job.ended"},
      {{"url", "types", "muted", "tenant"}, [options](Json& body) { change_webhook(body, *options); }});
  set.add_option("--url", options->url, "Address, of https")->type_name("URL");
  set.add_option("--type", options->types, "Only events of this type; job. stands for all that begin so. Repeatable")
      ->type_name("TYPE")
      ->allow_extra_args(false);
  set.add_flag("--muted,!--no-muted", options->muted, "Also of alarms that are muted when they are raised");
  set.add_option("--tenant", options->tenant, "Only what members of this tenant may see")->type_name("NAME");
  set.add_option("--secret-file", options->secret_file, "File with the secret that signs events; - for stdin")
      ->type_name("FILE");
  add_remove_command(webhooks, session, kWebhook, "Send no more events there", {"railweave webhooks remove pager"});
}

}  // namespace railweave::cli
