#include "api/client/client.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "api/client/exchange.h"

namespace railweave::api {
namespace {

using Clock = TcpConnection::Clock;
using End = Exchange::End;

constexpr std::chrono::milliseconds kMaxReconnectDelay{30'000};

}  // namespace

struct Client::Impl {
  Impl(Url where, ClientOptions chosen) : url(std::move(where)), options(std::move(chosen)) {}

  Result<TcpConnection> connect(Clock::time_point deadline) const;
  [[nodiscard]] Error error_of(End end, std::chrono::milliseconds timeout) const;
  // One connection's worth of a stream.
  Result<ClientResponse> stream_once(const ClientRequest& request, EventParser& events, const StreamOptions& stream,
                                     const std::function<bool(const ServerEvent&)>& on_event, bool& stopped) const;

  Url url;
  ClientOptions options;
  std::optional<TcpConnection> kept;
};

Result<TcpConnection> Client::Impl::connect(Clock::time_point deadline) const {
  Result<TcpConnection> connection =
      TcpConnection::open(url, {options.ca_file, options.certificate_file, options.key_file},
                          std::min(deadline, Clock::now() + options.connect_timeout), options.refuse_address);
  if (connection) {
    connection->give_up_when(options.give_up);
  } else {
    Error& error = connection.error();
    error.message = options.service + " does not answer at " + url.text() + ": " + error.message;
    if (error.code == "client.untrusted") {
      error.hint = "is it the right service? name the certificates that are to be trusted";
    } else if (error.hint.empty()) {
      error.hint = options.start_hint;
    }
  }
  return connection;
}

Error Client::Impl::error_of(End end, std::chrono::milliseconds timeout) const {
  const std::string who = options.service + " at " + url.text();
  switch (end) {
    case End::timed_out:
      return {ErrorKind::unavailable, "client.timeout",
              who + " did not answer within " + std::to_string(timeout.count()) + " ms", "",
              "whether the request took effect is not known; allow more time, or look at its log"};
    case End::too_large:
      return {ErrorKind::tooLarge, "client.tooLarge",
              who + " sent more than " + std::to_string(options.max_answer_bytes) + " bytes", "",
              "ask for less at a time"};
    case End::bad_answer:
      return {ErrorKind::malformed, "client.badAnswer", who + " did not answer in well-formed HTTP", "",
              "is it " + options.service + " that listens there?"};
    case End::broken:
    case End::done:
      break;
  }
  return {ErrorKind::unavailable, "client.broken", who + " closed the connection before its answer was complete", "",
          "whether the request took effect is not known"};
}

Client::Client(Url url, ClientOptions options) : impl_(std::make_unique<Impl>(std::move(url), std::move(options))) {}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

const Url& Client::url() const { return impl_->url; }

Result<ClientResponse> Client::request(const ClientRequest& request) {
  const Result<std::string> bytes = render_request(impl_->url, impl_->options, request);
  if (!bytes) return std::unexpected(bytes.error());
  const std::chrono::milliseconds timeout = request.timeout.value_or(impl_->options.timeout);
  const Clock::time_point deadline = Clock::now() + timeout;
  if (impl_->kept && impl_->kept->stale()) impl_->kept.reset();
  for (;;) {
    const bool reused = impl_->kept.has_value();
    if (!reused) {
      Result<TcpConnection> opened = impl_->connect(deadline);
      if (!opened) return std::unexpected(opened.error());
      impl_->kept.emplace(std::move(*opened));
    }
    const auto exchange = std::make_unique<Exchange>(*impl_->kept, request.method, impl_->options.max_answer_bytes);
    End end = exchange->send(*bytes, deadline);
    if (end == End::done) end = exchange->receive_head(deadline);
    while (end == End::done && !exchange->finished()) end = exchange->receive_some(deadline);
    if (end == End::done) {
      ResponseParser& parser = exchange->parser();
      ClientResponse response{parser.status, std::move(parser.headers), std::move(parser.body)};
      if (!exchange->reusable()) impl_->kept.reset();
      return response;
    }
    const bool again = end == End::broken && reused && exchange->nothing_came() && is_idempotent(request.method);
    impl_->kept.reset();
    if (!again) return std::unexpected(impl_->error_of(end, timeout));
  }
}

Result<ClientResponse> Client::get(std::string target) {
  ClientRequest request;
  request.target = std::move(target);
  return this->request(request);
}

Result<ClientResponse> Client::post(std::string target, std::string json) {
  return request({Method::post, std::move(target), {}, "application/json", std::move(json), std::nullopt});
}

Result<ClientResponse> Client::put(std::string target, std::string json) {
  return request({Method::put, std::move(target), {}, "application/json", std::move(json), std::nullopt});
}

Result<ClientResponse> Client::del(std::string target) {
  ClientRequest request;
  request.method = Method::del;
  request.target = std::move(target);
  return this->request(request);
}

Result<ClientResponse> Client::Impl::stream_once(const ClientRequest& request, EventParser& events,
                                                 const StreamOptions& stream,
                                                 const std::function<bool(const ServerEvent&)>& on_event,
                                                 bool& stopped) const {
  const Result<std::string> bytes = render_request(url, options, request);
  if (!bytes) return std::unexpected(bytes.error());
  const Clock::time_point deadline = Clock::now() + options.timeout;
  Result<TcpConnection> connection = connect(deadline);
  if (!connection) return std::unexpected(connection.error());
  // A stream may last for ever, so its total is not limited; each event is.
  const auto exchange = std::make_unique<Exchange>(*connection, request.method, SIZE_MAX);
  End end = exchange->send(*bytes, deadline);
  if (end == End::done) end = exchange->receive_head(deadline);
  if (end != End::done) return std::unexpected(error_of(end, options.timeout));
  ResponseParser& parser = exchange->parser();
  ClientResponse response{parser.status, parser.headers, {}};
  const bool is_stream = response.status == 200;
  events.begin_stream();
  while (end == End::done) {
    if (is_stream) {
      const EventParser::Outcome outcome = events.feed(std::exchange(parser.body, {}), on_event);
      stopped = outcome == EventParser::Outcome::stopped;
      if (stopped) return response;
      if (outcome == EventParser::Outcome::too_large) {
        return fail(
            ErrorKind::tooLarge, "client.eventTooLarge",
            options.service + " sent an event of more than " + std::to_string(stream.max_event_bytes) + " bytes");
      }
    } else if (parser.body.size() > options.max_answer_bytes) {
      end = End::too_large;
      break;
    }
    if (exchange->finished()) {
      response.body = std::move(parser.body);
      return response;
    }
    end = exchange->receive_some(is_stream ? Clock::now() + stream.silence_timeout : deadline);
  }
  return std::unexpected(error_of(end, is_stream ? stream.silence_timeout : options.timeout));
}

Result<ClientResponse> Client::stream(const std::string& target,
                                      const std::function<bool(const ServerEvent&)>& on_event,
                                      const StreamOptions& options) {
  EventParser events(options.max_event_bytes);
  events.set_last_id(options.last_event_id);
  std::chrono::milliseconds delay = options.reconnect_delay;
  int failures = 0;
  const auto counting = [&](const ServerEvent& event) {
    failures = 0;
    return on_event(event);
  };
  for (;;) {
    ClientRequest request;
    request.target = target;
    request.headers.set("Accept", "text/event-stream");
    request.headers.set("Accept-Encoding", "identity");
    if (!events.last_id().empty()) request.headers.set("Last-Event-ID", events.last_id());
    bool stopped = false;
    Result<ClientResponse> result = impl_->stream_once(request, events, options, counting, stopped);
    const bool refused = result && result->status != 200 && result->status != 503;
    if (stopped || refused || !options.resume) return result;
    ++failures;
    const std::string reason = result ? events.last_comment() : result.error().text();
    if (!options.resume({events.last_id(), reason, failures})) return result;
    delay = std::chrono::milliseconds(events.retry_ms().value_or(options.reconnect_delay.count()));
    for (int i = 1; i < failures && delay < kMaxReconnectDelay; ++i) delay *= 2;
    std::this_thread::sleep_for(std::min(delay, kMaxReconnectDelay));
  }
}

}  // namespace railweave::api
