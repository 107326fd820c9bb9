#include <array>
#include <span>

#include <boost/beast/http/error.hpp>
#include <fmt/core.h>

#include "api/http/connection/connection.h"

namespace railweave::api {
namespace {

namespace http = boost::beast::http;

constexpr std::size_t kWriteSliceBytes = std::size_t{256} << 10U;
constexpr std::chrono::milliseconds kLinger{1000};
constexpr char kTlsHandshake = 0x16;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

// Whether the request line that could not be parsed is of another version of HTTP.
bool claims_other_version(std::string_view input) {
  const std::string_view line = input.substr(0, input.find('\r'));
  constexpr std::string_view shape = " HTTP/";
  if (line.size() < shape.size() + 3) return false;
  const std::string_view end = line.substr(line.size() - shape.size() - 3);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return end.starts_with(shape) && is_digit(end[6]) && end[7] == '.' && is_digit(end[8]) && !end.ends_with("1.1") &&
         !end.ends_with("1.0");
}

}  // namespace

void Connection::arm(Clock::duration timeout) {
  deadline_ = Clock::now() + timeout;
  timed_out_ = false;
}

Task<bool> Connection::fill() {
  if (timed_out_ || aborted_) co_return false;
  const std::span<char> room = input_.prepare();
  const asio::mutable_buffer buffer(room.data(), room.size());
  ErrorCode error;
  std::size_t count = 0;
  if (tls_) {
    count = co_await tls_->async_read_some(buffer, into(error));
  } else {
    count = co_await socket_.async_read_some(buffer, into(error));
  }
  if (error) co_return false;
  input_.commit(count);
  received_bytes_ += count;
  co_return true;
}

Connection::Step Connection::refuse(int status, std::string code, std::string detail, std::string hint) {
  framing_lost_ = true;
  answer_ = problem_response(status, std::move(code), std::move(detail), std::move(hint));
  return Step::refused;
}

Connection::Step Connection::refuse_parse(ErrorCode error) {
  const ServerOptions& options = core_.options;
  switch (parser_->fault()) {
    case RequestParser::Fault::target_too_long:
      io_.metrics.count_malformed();
      return refuse(414, "http.targetTooLong",
                    fmt::format("the request's path and query are longer than {} bytes", options.max_target_bytes));
    case RequestParser::Fault::too_many_headers:
      io_.metrics.count_malformed();
      return refuse(431, "http.tooManyHeaders",
                    fmt::format("the request has more than {} headers", options.max_header_count));
    case RequestParser::Fault::body_too_large:
      return refuse(413, "http.bodyTooLarge", fmt::format("the body is larger than {} bytes", body_limit_bytes()));
    case RequestParser::Fault::no_budget:
      framing_lost_ = true;
      answer_ =
          to_response(Error{ErrorKind::unavailable, "http.bodiesInFlight",
                            "too many bytes of request bodies are being received at once", "", "try again later"});
      return Step::refused;
    case RequestParser::Fault::bad_gzip:
      return refuse(400, "http.badGzip", "the body is not gzip, as its Content-Encoding says, or not a whole one");
    case RequestParser::Fault::none:
      break;
  }
  io_.metrics.count_malformed();
  if (error == http::error::header_limit) {
    if (!parser_->has_target()) {
      return refuse(414, "http.targetTooLong",
                    fmt::format("the request line is longer than {} bytes", options.max_header_bytes));
    }
    return refuse(431, "http.headersTooLarge",
                  fmt::format("the request's headers are larger than {} bytes", options.max_header_bytes));
  }
  if (error == http::error::bad_version && claims_other_version(input_.data())) {
    return refuse(505, "http.version", "only HTTP/1.1 and HTTP/1.0 are understood");
  }
  if (!input_.empty() && input_.data().front() == kTlsHandshake) {
    return refuse(400, "http.malformed", "this looks like TLS", "use http://, not https://");
  }
  return refuse(400, "http.malformed", "the request is not well-formed HTTP: " + error.message());
}

// No more bytes: the deadline has passed, or the client has closed the connection.
Connection::Step Connection::refuse_silence(const char* phase) {
  if (aborted_) return Step::ended;
  if (timed_out_) {
    io_.metrics.count_timeout(phase);
    return refuse(408, "http.timeout", fmt::format("the request's {} did not come in time", phase));
  }
  io_.metrics.count_malformed();
  return refuse(400, "http.incomplete", std::string("the connection ended within the request's ") + phase);
}

// While it waits it may be closed to make room for another connection.
Task<Connection::Step> Connection::await_head() {
  core_.slots.waits(slot_, answered_);
  const Step head = co_await read_head();
  co_return core_.slots.busy(slot_) ? head : Step::ended;
}

Task<Connection::Step> Connection::read_head() {
  const ServerOptions& options = core_.options;
  parser_.emplace(RequestParser::Limits{options.max_header_bytes, options.max_header_count, options.max_target_bytes});
  framing_lost_ = false;
  if (input_.empty()) {
    if (core_.stopping) co_return Step::ended;
    phase_ = Phase::idle;
    arm(options.idle_timeout);
    const bool came = co_await fill();
    phase_ = Phase::busy;
    if (!came) co_return Step::ended;
  }
  arm(options.header_timeout);
  // RFC 9112, 2.2: an empty line before a request, as some old clients send, is ignored.
  if (input_.data().starts_with("\r\n")) input_.consume(2);
  for (;;) {
    if (!input_.empty()) {
      ErrorCode error;
      const std::size_t used = parser_->put(asio::const_buffer(input_.data().data(), input_.data().size()), error);
      if (error && error != http::error::need_more) co_return refuse_parse(error);
      input_.consume(used);
      if (parser_->is_header_done()) co_return Step::done;
      if (input_.full()) co_return refuse_parse(http::error::header_limit);
    }
    const bool came = co_await fill();
    if (!came) co_return refuse_silence("head");
  }
}

Task<Connection::Step> Connection::read_body() {
  const ServerOptions& options = core_.options;
  const Clock::time_point began = Clock::now();
  const std::uint64_t received_before = received_bytes_;
  if (input_.empty() && parser_->version >= 11 && exchange_.held->request.headers.contains("Expect")) {
    const bool written = co_await write_all(kContinue, std::string_view());
    if (!written) co_return Step::ended;
  }
  for (;;) {
    if (!input_.empty()) {
      ErrorCode error;
      const std::size_t used = parser_->put(asio::const_buffer(input_.data().data(), input_.data().size()), error);
      if (error && error != http::error::need_more) co_return refuse_parse(error);
      input_.consume(used);
      if (parser_->is_done()) co_return Step::done;
      if (input_.full()) co_return refuse(400, "http.malformed", "a chunk's header or the trailers are too long");
    }
    const auto allowance =
        std::chrono::milliseconds(1000 * (received_bytes_ - received_before) / options.min_body_rate_bytes_per_s);
    timed_out_ = false;
    deadline_ = began + options.body_timeout + allowance;
    const bool came = co_await fill();
    if (!came) co_return refuse_silence("body");
  }
}

// For answers that do not need the body: if it is here already, the connection can go on after it.
void Connection::take_buffered_body() {
  if (parser_->is_done() || input_.empty()) return;
  parser_->expect_body(input_.data().size(), false, exchange_.held->charge);
  ErrorCode ignored;  // then the body is not done, and the connection ends
  input_.consume(parser_->put(asio::const_buffer(input_.data().data(), input_.data().size()), ignored));
}

// Whoever showed none is known by what each request shows.
bool Connection::is_still_trusted() {
  if (!tls_ || peer_.names.empty()) return true;
  auto present = core_.tls();
  if (present == trusted_by_) return true;
  if (!is_trusted(*tls_, *present)) return false;
  trusted_by_ = std::move(present);
  return true;
}

Task<bool> Connection::begin_tls() {
  if (!core_.tls || peer_.uid) co_return true;  // bytes of a Unix socket do not leave the machine
  tls_context_ = core_.tls();
  tls_ = std::make_unique<TlsStream>(socket_, *tls_context_);
  arm(core_.options.header_timeout);
  ErrorCode error;
  co_await tls_->async_handshake(asio::ssl::stream_base::server, into(error));
  disarm();
  if (!error) {
    read_certificate(*tls_, peer_);
    trusted_by_ = tls_context_;
    co_return true;
  }
  if (is_plain_http(error)) {
    static constexpr std::string_view kAnswer =
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: 37\r\n\r\n"
        "this service speaks https, not http.\n";
    tls_.reset();
    const bool said = co_await write_all(kAnswer, std::string_view());
    if (said) co_await linger();
  }
  co_return false;
}

Task<bool> Connection::write_all(std::string_view head, std::string_view body) {
  std::size_t head_left = head.size();
  while (head_left + body.size() > 0) {
    const std::string_view slice = body.substr(0, kWriteSliceBytes);
    const std::array<asio::const_buffer, 2> buffers = {asio::const_buffer(head.data(), head_left),
                                                       asio::const_buffer(slice.data(), slice.size())};
    arm(core_.options.write_timeout);
    ErrorCode error;
    std::size_t count = 0;
    if (tls_) {
      count = co_await asio::async_write(*tls_, buffers, into(error));
    } else {
      count = co_await asio::async_write(socket_, buffers, into(error));
    }
    exchange_.sent_bytes += count;
    if (error) {
      if (timed_out_) io_.metrics.count_timeout("write");
      disarm();
      co_return false;
    }
    head_left = 0;
    body.remove_prefix(slice.size());
  }
  disarm();
  co_return true;
}

// Closing at once with unread bytes would reset the connection and could discard the answer: the client first gets
// time to read it.
Task<void> Connection::linger() {
  ErrorCode ignored;
  arm(kLinger);
  if (tls_) {
    co_await tls_->async_shutdown(into(ignored));  // with the end that TLS asks for, as it cannot be forged
  } else {
    socket_.shutdown(Tcp::socket::shutdown_send, ignored);
  }
  for (bool more = true; more;) {
    input_.clear();
    more = co_await fill();
  }
}

}  // namespace railweave::api
