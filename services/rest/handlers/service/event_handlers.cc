#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "api/http/message/event_stream.h"
#include "api/http/message/problem.h"
#include "db/limits.h"
#include "services/rest/access/shown_events.h"
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

  // One that is damaged may be one of these.
  [[nodiscard]] bool wants(const db::Record& record) const {
    if (record.damaged) return true;
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
                fmt::format("at most {} types can be asked for at once", db::kMaxReadKinds));
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

// Without authentication every caller may do everything.
EventReader reader_of(const Caller* caller) {
  if (caller == nullptr) return {control::Role::administrator, {}, {}};
  return {caller->role, caller->tenant, caller->actor()};
}

// Why the events after that one cannot all be told: older ones were removed. None: they can. 0 is where they begin.
Result<std::optional<Response>> gone(const Call& call, std::uint64_t after) {
  if (after == 0) return std::optional<Response>();
  const auto first = call.plane.journal.first_seq();
  if (!first) return std::unexpected(first.error());
  if (*first == 0 || after >= *first - 1) return std::optional<Response>();
  Problem problem;
  problem.status = 410;
  problem.code = "events.gone";
  problem.detail = fmt::format("the events after {} are not kept any more: the oldest is {}", after, *first);
  problem.hint = "read what there is, then go on after its seq; after=0 begins with the oldest event";
  problem.instance = call.request.target.path;
  problem.members.emplace_back("oldest", std::to_string(*first));
  return to_response(problem);
}

// Few events of many may be for a reader: it reads on until the page is full, a bounded number of events for each page.
class EventPage {
 public:
  EventPage(const Call& call, const ListQuery& list, EventQuery query)
      : call_(call),
        state_(call.plane.loop.state()),
        reader_(reader_of(call.request.caller.get())),
        query_(std::move(query)),
        page_(list.limit, list.fields),
        after_(query_.after) {}

  // The next few events.
  Result<std::optional<Response>> step() {
    constexpr std::uint64_t kMaxRead = 20'000;
    if (read_ < kMaxRead && !page_.full() && after_ < state_->seq) {
      if (auto read = read_some(); !read) return std::unexpected(read.error());
      return std::nullopt;
    }
    // Afterwards, as they may have been removed meanwhile.
    auto missing = gone(call_, query_.after);
    if (!missing) return std::unexpected(missing.error());
    if (*missing) return std::move(*missing);
    return Response::json(std::move(page_).finish(after_ < state_->seq ? std::to_string(after_) : "", state_->seq));
  }

 private:
  Result<void> read_some() {
    constexpr std::size_t kAtOnce = 100;
    const auto records = call_.plane.journal.read({.after_seq = after_,
                                                   .up_to_seq = state_->seq,
                                                   .limit = kAtOnce,
                                                   .kinds = query_.types,
                                                   .subject_kind = query_.subject_kind,
                                                   .subject_id = query_.subject_id,
                                                   .with_damaged = true});
    if (!records) return std::unexpected(records.error());
    if (records->empty()) after_ = state_->seq;
    read_ += records->size();
    for (const auto& record : *records) {
      if (page_.full()) break;
      after_ = record.seq;
      if (const auto shown = shown_event(*state_, reader_, record)) page_.add(*shown);
    }
    return {};
  }

  const Call& call_;
  const control::ClusterStatePtr state_;
  const EventReader reader_;
  const EventQuery query_;
  PageWriter page_;
  std::uint64_t after_, read_ = 0;
};

Result<Steps> list_events(const Call& call) {
  const auto list = read_list_query(call);
  if (!list) return std::unexpected(list.error());
  auto query = read_event_query(call.request);
  if (!query) return std::unexpected(query.error());
  if (!list->cursor.empty()) {
    auto cursor = parse_number("cursor", list->cursor, UINT64_MAX);
    if (!cursor) return std::unexpected(cursor.error());
    query->after = *cursor;
  }
  auto page = std::make_unique<EventPage>(call, *list, std::move(*query));
  return Steps([page = std::move(page)] { return page->step(); });
}

class StreamWatcher final : public control::EventWatcher {
 public:
  StreamWatcher(const ControlPlane& plane, std::shared_ptr<ShownEvents> shown, std::shared_ptr<StreamSink> sink,
                EventQuery query, std::shared_ptr<const Caller> caller)
      : plane_(plane),
        shown_(std::move(shown)),
        sink_(std::move(sink)),
        query_(std::move(query)),
        caller_(std::move(caller)) {}

  bool deliver(const db::Record& record) override {
    if (has_ended(record)) {
      sink_->close("the token has ended");
      return false;
    }
    if (!query_.wants(record)) return !sink_->closed();
    // Events are delivered after the state that holds them is published.
    auto text = shown_->of(*plane_.loop.state(), reader_of(caller_.get()), record);
    if (text == nullptr) return !sink_->closed();
    return sink_->send(std::move(text));
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

  const ControlPlane& plane_;
  const std::shared_ptr<ShownEvents> shown_;
  const std::shared_ptr<StreamSink> sink_;
  const EventQuery query_;
  const std::shared_ptr<const Caller> caller_;
};

Result<Response> stream_events(const std::shared_ptr<ShownEvents>& shown, const Call& call) {
  auto query = read_event_query(call.request);
  if (!query) return std::unexpected(query.error());
  if (call.request.query("after") == nullptr) query->after = call.plane.loop.state()->seq;  // from now on
  if (const auto* last = call.request.headers.find("Last-Event-ID")) {
    auto number = parse_number("Last-Event-ID", *last, UINT64_MAX);
    if (!number) return std::unexpected(number.error());
    query->after = *number;
  }
  auto missing = gone(call, query->after);
  if (!missing) return std::unexpected(missing.error());
  if (*missing) return std::move(**missing);
  if (query->after == 0) {  // where the list begins
    const auto first = call.plane.journal.first_seq();
    if (!first) return std::unexpected(first.error());
    query->after = std::max<std::uint64_t>(*first, 1) - 1;
  }
  return Response::events([&plane = call.plane, shown, query = std::move(*query),
                           caller = call.request.caller](const std::shared_ptr<StreamSink>& sink) {
    plane.catch_up.follow(query.after, std::make_shared<StreamWatcher>(plane, shown, sink, query, caller));
    // Revoked since the request was let in, and before what is followed.
    const bool is_revoked = caller != nullptr && caller->known_by == KnownBy::token &&
                            !plane.loop.state()->access_tokens->contains(caller->token);
    if (is_revoked) sink->close("the token has ended");
  });
}

}  // namespace

void add_event_routes(RouteTable& routes) {
  routes.get("/v1/events",
             {.access = kViewersAndMembers,
              .query = {"after", "type", "subject"},
              .repeatable = "type",
              .page = PageLimits{},
              .http = {.compute = true}},
             list_events);
  routes.get("/v1/events/stream",
             {.access = kViewersAndMembers, .query = {"after", "type", "subject"}, .repeatable = "type"},
             [shown = std::make_shared<ShownEvents>()](const Call& call) { return stream_events(shown, call); });
}

}  // namespace railweave::api
