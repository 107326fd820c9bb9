#include "api/http/connection/connection.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>
#include <utility>

#include <sys/socket.h>

#include "api/http/dispatch/representation.h"
#include "api/http/message/event_stream.h"
#include "api/http/message/response_head.h"
#include "fabric/base/text/percent.h"

namespace railweave::api {
namespace {

constexpr std::size_t kMaxRequestIdBytes = 64;
constexpr std::chrono::milliseconds kTurnAwayTimeout{1000};
constexpr std::size_t kQuickGzipBytes = 256U << 10U;  // ten milliseconds or so

bool is_plain_id(std::string_view id) {
  return !id.empty() && id.size() <= kMaxRequestIdBytes && percent_encode(id) == id;
}

// One step of the answer, where it is still wanted. What it throws is the answer.
template <class Step>
void run_step(const ServerCore& core, const Responder& responder, Step step) {
  try {
    if (!responder.request().stop.stop_requested()) step();
  } catch (const std::bad_alloc&) {
    core.log_error("no memory for a request of " + responder.request().route);
    responder(Error{ErrorKind::unavailable, "http.outOfMemory", "there is no memory for this request now", "",
                    "ask for less at once, or try again later"});
  } catch (const std::exception& failure) {
    core.log_error("handler of " + responder.request().route + " threw: " + failure.what());
    responder(Error{ErrorKind::internal, "internal.exception", "the request failed on a bug of the service", "", ""});
  }
}

void call_handler(const ServerCore& core, const Route& route, const Responder& responder) {
  run_step(core, responder, [&] { route.handler(responder.request(), responder); });
}

}  // namespace

Connection::Connection(ServerCore& core, IoThread& io, Socket socket, Peer peer, ConnectionSlots::Id slot)
    : core_(core),
      io_(io),
      socket_(std::move(socket)),
      peer_(std::move(peer)),
      slot_(slot),
      input_(2 * core.options.max_header_bytes),
      inbox_(std::make_shared<AnswerInbox>([this] {
        // The connection lives while the inbox is open, so this is valid; the copy keeps it alive until the loop runs
        // the call.
        asio::post(io_.context, [self = shared_from_this()] { self->wake_.cancel(); });
      })),
      wake_(io.context.get_executor()) {
  wake_.expires_at(Clock::time_point::max());
}

Connection::~Connection() {
  inbox_->close();
  if (slot_ != 0) {
    core_.slots.release(slot_);
  } else {
    --core_.refusing;
  }
}

void Connection::start() {
  if (core_.stopping) return;
  io_.add(shared_from_this());
  if (slot_ != 0) {
    core_.slots.close_by(slot_, [weak = weak_from_this(), &io = io_] {
      if (auto self = weak.lock()) asio::post(io.context, [self = std::move(self)] { self->abort(); });
    });
    core_.slots.waits(slot_, false);
  }
  asio::co_spawn(io_.context, run(), asio::detached);
}

void Connection::check_deadline(Clock::time_point now) {
  // Between requests, and of streams, which have no further one. Before the answer to a request nothing is cut off.
  if (phase_ != Phase::busy && !is_still_trusted()) return end("the certificate is trusted no more");
  if (now < deadline_) return;
  disarm();
  timed_out_ = true;
  ErrorCode ignored;
  socket_.cancel(ignored);
  wake_.cancel();
}

void Connection::abort() {
  if (aborted_) return;
  aborted_ = true;
  if (exchange_.held) exchange_.held->stop.request_stop();
  ErrorCode ignored;
  socket_.close(ignored);
  wake_.cancel();
}

Task<void> Connection::run() {
  const std::shared_ptr<Connection> self = shared_from_this();
  try {
    const bool begun = co_await begin_tls();
    if (!begun) {
      // Nothing can be said to such a client.
    } else if (slot_ != 0) {
      co_await serve();
    } else {
      co_await turn_away();
    }
  } catch (const std::exception& failure) {
    core_.log_error(std::string("connection ended by: ") + failure.what());
  }
  inbox_->close();
  if (sink_) sink_->detach();
  ErrorCode ignored;
  socket_.shutdown(Socket::shutdown_both, ignored);
  socket_.close(ignored);
  io_.metrics.count_bytes(received_bytes_, 0);
  io_.remove(self);
}

Task<void> Connection::serve() {
  for (bool goes_on = true; goes_on;) {
    const Step head = co_await await_head();
    if (head == Step::ended) co_return;
    goes_on = co_await serve_one(head);
    answered_ = true;
  }
}

Task<void> Connection::turn_away() {
  begin_exchange();
  answer_ = to_response(Error{ErrorKind::unavailable, "http.tooManyConnections", "there are too many connections", "",
                              "close idle ones or try again later"});
  framing_lost_ = true;
  arm(kTurnAwayTimeout);
  head_ = head_of(answer_, false, false, answer_.body.size());
  const bool written = co_await write_all(head_, answer_.body);
  if (written) co_await linger();
}

void Connection::begin_exchange() {
  exchange_ = Exchange{};
  exchange_.started = Clock::now();
  exchange_.held = std::make_shared<Held>(core_.budget);
  Request& request = exchange_.held->request;
  if (parser_) {
    request.headers = std::move(parser_->headers);
    exchange_.method = parse_method(parser_->method);
  }
  request.remote_address = peer_.address;
  request.remote_port = peer_.port;
  if (const std::string* id = request.headers.find("X-Request-Id"); id != nullptr && is_plain_id(*id)) {
    request.id = *id;
  } else {
    std::array<char, 32> text{};
    const int length = std::snprintf(text.data(), text.size(), "%08x-%llx", core_.request_id_prefix,
                                     static_cast<unsigned long long>(core_.next_request.fetch_add(1)));
    request.id.assign(text.data(), static_cast<std::size_t>(length));
  }
}

Task<bool> Connection::serve_one(Step head) {
  const CountedIn counted(core_.in_flight);
  if (head == Step::done) {
    begin_exchange();
    std::optional<Response> early = examine();
    if (early) {
      answer_ = std::move(*early);
      if (!framing_lost_) take_buffered_body();
    } else {
      Step body = Step::done;
      if (!parser_->is_done()) body = co_await read_body();
      if (body == Step::ended) co_return false;
      if (body == Step::done) {
        exchange_.held->request.body = std::move(parser_->body);
        dispatch();
        const bool answered = co_await await_answer();
        if (!answered) co_return false;
      }
    }
  } else {
    Response refusal = std::move(answer_);
    begin_exchange();
    answer_ = std::move(refusal);
  }
  const bool goes_on = co_await send_answer();
  exchange_ = Exchange{};
  answer_ = Response{};
  co_return goes_on;
}

void Connection::dispatch() {
  const std::shared_ptr<Held>& held = exchange_.held;
  const std::uint64_t ticket = inbox_->open();
  const Responder responder(
      std::shared_ptr<const Request>(held, &held->request),
      [inbox = inbox_, ticket](Response response) { inbox->deliver(ticket, std::move(response)); });
  const Route& route = *exchange_.route;
  const bool heavy = route.options.heavy || (route.options.heavy_when && route.options.heavy_when(held->request));
  const Work work = heavy ? Work::heavy : Work::quick;
  if (route.options.compute) {
    held->request.go_on = [&core = core_, work, client = turns_of()](const Responder& to, ComputePool::Task step) {
      return core.pool.go_on(client, work,
                             [&core, to, step = std::move(step)]() mutable { run_step(core, to, std::move(step)); });
    };
  }
  if (!route.options.compute) {
    call_handler(core_, route, responder);
  } else if (core_.pool.try_run(
                 turns_of(), work, [&core = core_, &route, responder] { call_handler(core, route, responder); },
                 room())) {
    if (is_safe(exchange_.method)) watch_while_computing();
  } else {
    responder(
        Error{ErrorKind::busy, "http.computeBusy", "too many computations are waiting already", "", "try again later"});
  }
}

// A client that leaves while its answer is computed ends the computation. Only for what changes nothing: what does
// takes effect whether its caller waits or not.
void Connection::watch_while_computing() {
  computing_ = true;
  if (watched_) return;
  watched_ = true;
  asio::co_spawn(io_.context, watch_client(), asio::detached);
}

// The end of the client's side counts as its leaving: it cannot be told from one that only sends no more.
Task<void> Connection::watch_client() {
  const std::shared_ptr<Connection> self = shared_from_this();
  ErrorCode error;
  co_await socket_.async_wait(Socket::wait_read, into(error));
  watched_ = false;
  if (error || !computing_ || aborted_) co_return;
  std::array<unsigned char, 64> next;
  const ssize_t seen = ::recv(socket_.native_handle(), next.data(), next.size(), MSG_PEEK | MSG_DONTWAIT);
  const bool failed = seen < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR;
  const bool closes = tls_ && seen > 0 && is_tls_alert(std::span(next).first(static_cast<std::size_t>(seen)));
  if (seen == 0 || failed || closes) {
    io_.metrics.count_abandoned();
    abort();
  }
}

Task<bool> Connection::await_answer() {
  arm(core_.options.answer_timeout);
  for (;;) {
    std::optional<Response> answer = inbox_->take_or_wait();
    if (answer) {
      computing_ = false;
      answer_ = std::move(*answer);
      co_return true;
    }
    if (aborted_) co_return false;
    if (timed_out_) {
      computing_ = false;
      exchange_.held->stop.request_stop();
      inbox_->open();
      io_.metrics.count_timeout("answer");
      answer_ =
          to_response(Error{ErrorKind::unavailable, "http.noAnswerInTime",
                            "there was no answer in time; whether the request takes effect is not known", "", ""});
      co_return true;
    }
    ErrorCode ignored;
    co_await wake_.async_wait(into(ignored));
  }
}

SlotOwner Connection::slot_owner() const {
  if (!core_.options.slot_owner) return {};
  return core_.options.slot_owner(exchange_.held->request.caller.get());
}

ComputePool::Room Connection::room() const {
  const SlotOwner owner = slot_owner();
  return owner.caller.empty() || owner.uses_reserve ? ComputePool::Room::whole : ComputePool::Room::share;
}

std::string Connection::turns_of() const {
  const SlotOwner owner = slot_owner();
  if (owner.caller.empty()) return exchange_.held->request.remote_address;
  return owner.group.empty() ? owner.caller : owner.group;
}

bool Connection::can_go_on() const {
  return !framing_lost_ && !aborted_ && !core_.stopping && parser_->is_done() && parser_->keep_alive();
}

Task<void> Connection::compress_answer() {
  if (answer_.body_view().size() <= core_.options.gzip_inline_max_bytes) {
    apply_gzip(core_.options, answer_);
    co_return;
  }
  const std::uint64_t ticket = inbox_->open();
  const auto pending = std::make_shared<Response>(std::move(answer_));
  const bool accepted = core_.pool.try_run(
      turns_of(), pending->body_view().size() > kQuickGzipBytes ? Work::heavy : Work::quick,
      [pending, ticket, inbox = inbox_, &options = core_.options] {
        try {
          apply_gzip(options, *pending);
        } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): it goes out as it is
        }
        inbox->deliver(ticket, std::move(*pending));
      },
      room());
  if (accepted) {
    co_await await_answer();
  } else {
    answer_ = std::move(*pending);
  }
}

Task<bool> Connection::send_answer() {
  const Request& request = exchange_.held->request;
  settle(request, core_.options, answer_);
  if (answer_.stream && !exchange_.head_only) {
    co_await send_stream();
    co_return false;
  }
  if (answer_.pieces && answer_.status == 200 && !exchange_.head_only) {
    co_await send_pieces();
    co_return !framing_lost_ && can_go_on();
  }
  std::optional<std::size_t> length_bytes;
  const bool bodiless = answer_.status == 204 || answer_.status == 304;
  if (!bodiless && wants_gzip(request, core_.options, answer_)) {
    if (exchange_.head_only) {
      mark_gzip(answer_);
    } else {
      co_await compress_answer();
    }
  }
  const bool unknown_length =
      exchange_.head_only && (answer_.headers.contains("Content-Encoding") || answer_.stream || answer_.pieces);
  if (!bodiless && !unknown_length) length_bytes = answer_.body_view().size();
  const bool goes_on = can_go_on();
  head_ = head_of(answer_, goes_on, false, length_bytes);
  std::string_view body;
  if (!bodiless && !exchange_.head_only) body = answer_.body_view();
  const bool written = co_await write_all(head_, body);
  record_exchange(true);
  if (written && !goes_on && (framing_lost_ || !parser_->is_done() || !input_.empty())) co_await linger();
  co_return written&& goes_on;
}

void Connection::record_exchange(bool timed) {
  const Request& request = exchange_.held->request;
  const auto duration = Clock::now() - exchange_.started;
  const std::string* route = exchange_.resource == nullptr ? nullptr : &exchange_.resource->pattern;
  std::optional<double> seconds;
  if (timed) seconds = std::chrono::duration<double>(duration).count();
  io_.metrics.count_request(route, exchange_.method, answer_.status, seconds);
  io_.metrics.count_bytes(received_bytes_, exchange_.sent_bytes);
  if (core_.options.access_log) {
    AccessRecord record;
    record.request_id = request.id;
    record.remote_address = request.remote_address;
    record.method = exchange_.method;
    record.path = request.target.path;
    record.route = route == nullptr ? std::string_view("unmatched") : std::string_view(*route);
    record.status = answer_.status;
    record.received_bytes = received_bytes_;
    record.sent_bytes = exchange_.sent_bytes;
    record.duration_us = std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
    record.is_timed = timed;
    record.caller = request.caller.get();
    core_.options.access_log(record);
  }
  received_bytes_ = 0;
}

}  // namespace railweave::api
