#include "services/webhooks/delivery.h"

#include <algorithm>
#include <random>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "services/json/strict_json.h"
#include "services/rest/access/shown_event.h"
#include "services/webhooks/signature.h"

namespace railweave::webhooks {
namespace {

constexpr std::uint64_t kPage = 200;
constexpr std::uint64_t kReportAfter = 500;  // deliveries
constexpr std::chrono::milliseconds kIdle{1'000};
constexpr std::uint64_t kMaxDoublings = 64;

// Who set one may not be an administrator any more, so what is for administrators alone is sent to none.
api::EventReader reader_of(const control::Webhook& webhook) {
  if (webhook.tenant.empty()) return {control::Role::fabric_operator, {}, webhook.put_by};
  return {control::Role::member, webhook.tenant, webhook.put_by};
}

// Reports of steps are many, and tell a person nothing: only a webhook that names them is sent them.
constexpr std::string_view kStepReport = "job.stepsReported";

bool has_type(const control::Webhook& webhook, std::string_view kind) {
  if (kind == kStepReport) return std::ranges::find(webhook.types, kind) != webhook.types.end();
  return webhook.types.empty() || std::ranges::any_of(webhook.types, [&](const std::string& type) {
           return type.ends_with('.') ? kind.starts_with(type) : kind == type;
         });
}

// What is raised and muted now does not call a person; a worse one is not muted any more.
bool is_muted(const control::ClusterState& state, const db::Record& record) {
  if (record.kind != "alarm.raised" || state.mutes->empty()) return false;
  const auto payload = api::parse_json(record.payload);
  if (!payload || !payload->is_object() || !payload->contains("data")) return false;
  const auto& alarm = payload->at("data");
  return state.mute(alarm.value("kind", std::string()) + ":" + record.subject_id) != nullptr;
}

}  // namespace

Delivery::Delivery(control::ControlLoop& loop, db::Journal& journal, const DeliveryOptions& options,
                   control::Webhook webhook)
    : loop_(loop), journal_(journal), options_(options), version_(webhook.version), webhook_(std::move(webhook)) {
  // A service that starts again goes on with the pauses that it had come to.
  for (std::uint64_t failure = 0; failure < std::min(webhook_.failures, kMaxDoublings); ++failure)
    (void)backoff_.next();
  worker_.start([this](Worker::Turn& turn) { run(turn); });
}

Delivery::~Delivery() {
  worker_.stop();
  if (unreported_ > 0) report();
}

void Delivery::run(Worker::Turn& turn) {
  do {
    send_new(turn);
    if (webhook_.disabled) return;
    if (unreported_ > 0 && Clock::now() - reported_at_ >= options_.report) report();
  } while (turn.rest(kIdle));
}

// Everything up to the newest event. Only a leader sends: one that has lost its lease has a successor.
void Delivery::send_new(Worker::Turn& turn) {
  for (;;) {
    const auto state = loop_.state();
    if (state->seq <= webhook_.cursor || loop_.phase() != control::Phase::ready) return;
    const auto records = journal_.read({.after_seq = webhook_.cursor,
                                        .up_to_seq = state->seq,
                                        .limit = kPage,
                                        .kinds = {},
                                        .subject_kind = {},
                                        .subject_id = {},
                                        .with_damaged = true});
    if (!records || records->empty()) return;
    for (const auto& record : *records) {
      if (const auto body = body_of(*state, record)) {
        if (!deliver(turn, record, *body)) return;
      } else {
        webhook_.cursor = record.seq;
      }
    }
  }
}

// What the webhook is told of an event; none: it is not for it. Its own progress would never end.
std::optional<std::string> Delivery::body_of(const control::ClusterState& state, const db::Record& record) const {
  if (record.subject_kind == "webhook" || !has_type(webhook_, record.kind)) return std::nullopt;
  if (!webhook_.muted && is_muted(state, record)) return std::nullopt;
  return api::shown_event(state, reader_of(webhook_), record);
}

bool Delivery::deliver(Worker::Turn& turn, const db::Record& record, const std::string& body) {
  for (;;) {
    if (!loop_.leads()) {
      if (!turn.pause(kIdle)) return false;
      continue;
    }
    const auto failed = attempt(record, body);
    if (!failed) {
      note_success(record.seq);
      return !turn.is_to_end();
    }
    if (!note_failure(*failed)) return false;
    if (!turn.pause(with_chance(backoff_.next()))) return false;
  }
}

// Why it was not received; none: it was.
std::optional<std::string> Delivery::attempt(const db::Record& record, const std::string& body) {
  if (!client_) {
    auto url = parse_webhook_url(webhook_.url, options_.addresses);
    if (!url) return url.error().message;
    api::ClientOptions client;
    client.service = "the receiver";
    client.start_hint.clear();
    client.user_agent = "railweave-webhooks";
    client.ca_file = options_.ca_file;
    client.timeout = options_.timeout;
    client.connect_timeout = options_.timeout;
    client.max_answer_bytes = std::size_t{64} << 10U;
    client.accept_gzip = false;
    client.refuse_address = [rules = options_.addresses, tls = url->server.tls](std::string_view address) {
      return refusal(rules, address, tls);
    };
    target_ = url->target;
    client_.emplace(std::move(url->server), std::move(client));
  }
  const std::int64_t now_s = loop_.now_us() / 1'000'000;
  api::ClientRequest request;
  request.method = api::Method::post;
  request.target = target_;
  request.content_type = "application/json";
  request.body = body;
  request.headers.add("Railweave-Event", record.kind);
  request.headers.add("Railweave-Delivery", std::to_string(record.seq));
  request.headers.add("Railweave-Signature", signature(webhook_.secret, now_s, body));
  auto answer = client_->request(request);
  if (!answer && answer.error().code == "client.broken")
    answer = client_->request(request);  // a kept connection had ended
  if (answer && answer->ok()) return std::nullopt;
  client_.reset();
  return answer ? fmt::format("it answered {}", answer->status) : answer.error().message;
}

void Delivery::note_success(std::uint64_t seq) {
  const bool failed = webhook_.failing_since_us != 0;
  webhook_.cursor = seq;
  webhook_.delivered_us = loop_.now_us();
  webhook_.failing_since_us = 0;
  webhook_.failures = 0;
  backoff_.reset();
  webhook_.last_error.clear();
  ++unreported_;
  options_.log.debug("webhook '{}' was told event {}", webhook_.name, seq);
  if (failed || unreported_ >= kReportAfter) report();
}

bool Delivery::note_failure(const std::string& why) {
  const std::int64_t now_us = loop_.now_us();
  if (webhook_.failing_since_us == 0) webhook_.failing_since_us = now_us;
  ++webhook_.failures;
  webhook_.last_error = why.substr(0, control::Webhook::kMaxError);
  const auto failing = std::chrono::microseconds(now_us - webhook_.failing_since_us);
  webhook_.disabled = failing >= options_.give_up;
  const bool tells = (webhook_.failures & (webhook_.failures - 1)) == 0;  // the 1st, 2nd, 4th, ...
  if (tells || webhook_.disabled) report();
  const auto level = webhook_.disabled ? log::Level::warn : tells ? log::Level::info : log::Level::debug;
  options_.log.write(level, "webhook '{}' {}: {}", webhook_.name,
                     webhook_.disabled ? "is disabled" : "was not told, and is told again", webhook_.last_error);
  return !webhook_.disabled;
}

void Delivery::report() {
  control::WebhookAdvanced step{
      webhook_.name,     webhook_.cursor,     webhook_.delivered_us, webhook_.failing_since_us,
      webhook_.failures, webhook_.last_error, webhook_.disabled};
  control::Command command{"railweave", control::ReportWebhook{std::move(step), version_}};
  if (!loop_.submit(std::move(command), [](const auto&) {})) return;  // told with the next one
  unreported_ = 0;
  reported_at_ = Clock::now();
}

// A quarter more or less, so that receivers that come back are not met by all at once.
std::chrono::microseconds Delivery::with_chance(std::chrono::microseconds pause) {
  thread_local std::mt19937 random(std::random_device{}());
  return std::chrono::microseconds(
      std::uniform_int_distribution<std::int64_t>(pause.count() * 3 / 4, pause.count() * 5 / 4)(random));
}

}  // namespace railweave::webhooks
