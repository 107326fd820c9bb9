#include "api/client/exchange.h"

#include <algorithm>
#include <cstring>

#include <boost/beast/http/error.hpp>

#include "fabric/base/text/utf8.h"

namespace railweave::api {
namespace {

namespace http = boost::beast::http;

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  out += value;
  out += "\r\n";
}

}  // namespace

Result<std::string> render_request(const Url& url, const ClientOptions& options, const ClientRequest& request) {
  const bool bad_target = !request.target.starts_with('/') || has_ascii_control(request.target) ||
                          request.target.find_first_of(" #") != std::string::npos;
  if (bad_target) {
    return fail(ErrorKind::invalid, "client.badTarget",
                "the request's target is not an encoded path: " + request.target);
  }
  Headers headers = options.headers;
  for (const auto& [name, value] : request.headers) headers.set(name, value);
  if (!request.content_type.empty()) headers.set("Content-Type", request.content_type);
  if (options.accept_gzip && !headers.contains("Accept-Encoding")) headers.set("Accept-Encoding", "gzip");
  if (!headers.contains("User-Agent")) headers.set("User-Agent", options.user_agent);
  if (!std::all_of(headers.begin(), headers.end(), is_sendable)) {
    return fail(ErrorKind::invalid, "client.badHeader", "a header contains characters that cannot be sent");
  }
  std::string out;
  out.reserve(512 + request.body.size());
  out += to_string(request.method);
  out += ' ' + request.target + " HTTP/1.1\r\n";
  append_field(out, "Host", url.authority());
  for (const auto& [name, value] : headers) append_field(out, name, value);
  const bool takes_body =
      request.method == Method::post || request.method == Method::put || request.method == Method::patch;
  if (takes_body || !request.body.empty()) append_field(out, "Content-Length", std::to_string(request.body.size()));
  out += "\r\n";
  out += request.body;
  return out;
}

Exchange::End Exchange::send(std::string_view bytes, TcpConnection::Clock::time_point deadline) {
  while (!bytes.empty()) {
    const TcpConnection::Done sent = connection_.write(bytes, deadline);
    if (sent.outcome == TcpConnection::Io::timed_out) return End::timed_out;
    // A server that refuses may answer and close before it has read everything: the answer is still to be had.
    if (sent.outcome == TcpConnection::Io::closed || sent.bytes == 0) return End::done;
    bytes.remove_prefix(sent.bytes);
  }
  sent_all_ = true;
  return End::done;
}

void Exchange::begin_answer() {
  parser_.emplace(max_answer_bytes_);
  parser_->skip(method_ == Method::head);
}

Exchange::End Exchange::fill(TcpConnection::Clock::time_point deadline) {
  if (buffered_ == buffer_.size()) return End::bad_answer;
  const std::span<char> room(buffer_.data() + buffered_, buffer_.size() - buffered_);
  const TcpConnection::Done received = connection_.read(room, deadline);
  if (received.outcome == TcpConnection::Io::timed_out) return End::timed_out;
  if (received.outcome == TcpConnection::Io::closed) return End::broken;
  buffered_ += received.bytes;
  came_ = true;
  return End::done;
}

// Consumes what it can of the buffer.
Exchange::End Exchange::parse() {
  if (buffered_ == 0) return End::done;
  boost::beast::error_code error;
  const std::size_t used = parser_->put(boost::asio::const_buffer(buffer_.data(), buffered_), error);
  std::memmove(buffer_.data(), buffer_.data() + used, buffered_ - used);
  buffered_ -= used;
  if (!error || error == http::error::need_more) return End::done;
  return parser_->fault() == ResponseParser::Fault::too_large ? End::too_large : End::bad_answer;
}

Exchange::End Exchange::receive_head(TcpConnection::Clock::time_point deadline) {
  begin_answer();
  for (;;) {
    if (const End end = parse(); end != End::done) return end;
    if (parser_->is_header_done()) {
      if (parser_->status >= 200) return End::done;
      if (parser_->status == 101) return End::bad_answer;  // nothing was asked to be switched
      begin_answer();
      continue;
    }
    if (const End end = fill(deadline); end != End::done) return end;
  }
}

Exchange::End Exchange::receive_some(TcpConnection::Clock::time_point deadline) {
  const End end = fill(deadline);
  if (end == End::broken && parser_->need_eof()) {
    boost::beast::error_code error;
    parser_->put_eof(error);
    return error ? End::bad_answer : End::done;
  }
  if (end != End::done) return end;
  return parse();
}

}  // namespace railweave::api
