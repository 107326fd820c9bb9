#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "api/http/message/event_stream.h"
#include "db/limits.h"
#include "services/control/codec/journal_codec.h"
#include "services/rest/access/tenant_events.h"
#include "services/rest/handlers/list_query.h"
#include "services/rest/handlers/reply.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/json/page.h"

namespace railweave::api {
namespace {

struct EventQuery {
  std::uint64_t after = 0;
  std::vector<std::string> types;
  std::string subject_kind, subject_id;

  [[nodiscard]] bool wants(const db::Record& record) const {
    const bool type = types.empty() || std::ranges::find(types, record.kind) != types.end();
    return type && (subject_kind.empty() || record.subject_kind == subject_kind) &&
           (subject_id.empty() || record.subject_id == subject_id);
  }
};

Result<EventQuery> read_event_query(const Request& request) {
  EventQuery query;
  if (const auto* after = request.query("after")) {
    auto number = parse_number("after", *after, UINT64_MAX);
    if (!number) return std::unexpected(number.error());
    query.after = *number;
  }
  for (const auto type : request.target.query.all("type")) query.types.emplace_back(type);
  if (query.types.size() > db::kMaxReadKinds) {
    return fail(ErrorKind::invalid, "query.tooMany",
                "at most " + std::to_string(db::kMaxReadKinds) + " types can be asked for at once");
  }
  if (const auto* subject = request.query("subject")) {  // "job/job-000001", or "job"
    const auto slash = subject->find('/');
    query.subject_kind = subject->substr(0, slash);
    if (slash != std::string::npos) query.subject_id = subject->substr(slash + 1);
    if (query.subject_kind.empty()) {
      return fail(ErrorKind::invalid, "query.invalidSubject", "subject is a kind or kind/id, like job/job-000001");
    }
  }
  return query;
}

// Few events of many may be its own: it reads on until the page is full, a bounded number of events for each page.
Result<Response> list_events_of_member(const Call& call, const ListQuery& list, const EventQuery& query) {
  constexpr std::uint64_t kMaxRead = 20'000;
  const auto state = call.plane.loop.state();
  PageWriter page(list.limit, list.fields);
  std::uint64_t after = query.after;
  for (std::uint64_t read = 0; read < kMaxRead && !page.full() && after < state->seq;) {
    auto records = call.plane.journal.read({.after_seq = after,
                                            .up_to_seq = state->seq,
                                            .limit = 1000,
                                            .kinds = query.types,
                                            .subject_kind = query.subject_kind,
                                            .subject_id = query.subject_id});
    if (!records) return std::unexpected(records.error());
    if (records->empty()) after = state->seq;
    read += records->size();
    for (const auto& record : *records) {
      if (page.full()) break;
      after = record.seq;
      const auto shown = event_of_tenant(*state, *own_tenant(call.request), call.request.caller->name, record);
      if (shown) page.add(*shown);
    }
  }
  return Response::json(std::move(page).finish(after < state->seq ? std::to_string(after) : "", state->seq));
}

Result<Response> list_events(const Call& call) {
  const auto list = read_list_query(call);
  if (!list) return std::unexpected(list.error());
  auto query = read_event_query(call.request);
  if (!query) return std::unexpected(query.error());
  if (!list->cursor.empty()) {
    auto cursor = parse_number("cursor", list->cursor, UINT64_MAX);
    if (!cursor) return std::unexpected(cursor.error());
    query->after = *cursor;
  }
  if (own_tenant(call.request) != nullptr) return list_events_of_member(call, *list, *query);
  const std::uint64_t seq = call.plane.loop.state()->seq;
  auto records = call.plane.journal.read({.after_seq = query->after,
                                          .up_to_seq = seq,
                                          .limit = list->limit,
                                          .kinds = query->types,
                                          .subject_kind = query->subject_kind,
                                          .subject_id = query->subject_id});
  if (!records) return std::unexpected(records.error());
  PageWriter page(list->limit, list->fields);
  for (const auto& record : *records) page.add(write_event(record));
  const bool more = !records->empty() && records->back().seq < seq;
  return Response::json(std::move(page).finish(more ? std::to_string(records->back().seq) : "", seq));
}

class StreamWatcher final : public control::EventWatcher {
 public:
  StreamWatcher(const ControlPlane& plane, std::shared_ptr<StreamSink> sink, EventQuery query,
                std::shared_ptr<const Caller> caller)
      : plane_(plane), sink_(std::move(sink)), query_(std::move(query)), caller_(std::move(caller)) {}

  bool deliver(const db::Record& record) override {
    if (has_ended(record)) {
      sink_->close("the token has ended");
      return false;
    }
    if (!query_.wants(record)) return !sink_->closed();
    const auto shown = shown_to_caller(record);
    if (!shown) return !sink_->closed();
    return sink_->send(format_event(std::to_string(record.seq), record.kind, *shown));
  }
  bool ready() override { return sink_->backlog_bytes() == 0; }
  bool closed() override { return sink_->closed(); }
  void failed(const std::string& why) override { sink_->close(why); }

 private:
  // A stream ends with the token that it was asked for with: with the event that revokes it, or the first after its time.
  [[nodiscard]] bool has_ended(const db::Record& record) const {
    if (caller_ == nullptr) return false;
    return (record.kind == "token.revoked" && record.subject_id == caller_->token) ||
           (caller_->expires_us != 0 && caller_->expires_us <= record.time_us);
  }

  // Events are delivered after the state that holds them is published.
  [[nodiscard]] std::optional<std::string> shown_to_caller(const db::Record& record) const {
    if (caller_ == nullptr || caller_->role != control::Role::member) return write_event(record);
    return event_of_tenant(*plane_.loop.state(), caller_->tenant, caller_->name, record);
  }

  const ControlPlane& plane_;
  const std::shared_ptr<StreamSink> sink_;
  const EventQuery query_;
  const std::shared_ptr<const Caller> caller_;
};

Result<Response> stream_events(const Call& call) {
  auto query = read_event_query(call.request);
  if (!query) return std::unexpected(query.error());
  if (call.request.query("after") == nullptr) query->after = call.plane.loop.state()->seq;  // from now on
  if (const auto* last = call.request.headers.find("Last-Event-ID")) {
    auto number = parse_number("Last-Event-ID", *last, UINT64_MAX);
    if (!number) return std::unexpected(number.error());
    query->after = *number;
  }
  return Response::events([&plane = call.plane, query = std::move(*query),
                           caller = call.request.caller](const std::shared_ptr<StreamSink>& sink) {
    plane.catch_up.follow(query.after, std::make_shared<StreamWatcher>(plane, sink, query, caller));
  });
}

}  // namespace

void add_event_routes(RouteTable& routes) {
  routes.get("/v1/events",
             {.access = kViewersAndMembers,
              .query = {"after", "type", "subject"},
              .repeatable = "type",
              .page = PageLimits{.fields = {"actor", "data", "seq", "severity", "subject", "summary", "time", "type"}},
              .http = {.compute = true}},
             list_events);
  routes.get("/v1/events/stream",
             {.access = kViewersAndMembers, .query = {"after", "type", "subject"}, .repeatable = "type"},
             stream_events);
}

}  // namespace railweave::api
