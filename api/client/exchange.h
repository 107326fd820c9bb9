// Private to this folder: one request and its answer on one connection.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "api/client/client.h"
#include "api/client/response_parser.h"
#include "api/client/tcp_connection.h"

namespace railweave::api {

// The request's head and body as bytes; refused when a part of it would break the framing.
Result<std::string> render_request(const Url& url, const ClientOptions& options, const ClientRequest& request);

class Exchange {
 public:
  // What became of it. `broken`: the connection ended or broke first.
  enum class End { done, broken, timed_out, too_large, bad_answer };

  Exchange(TcpConnection& connection, Method method, std::size_t max_answer_bytes)
      : connection_(connection), method_(method), max_answer_bytes_(max_answer_bytes) {}

  // Stops early, without failing, when the answer begins before everything is sent.
  End send(std::string_view bytes, TcpConnection::Clock::time_point deadline);
  // Up to the end of the head of the final answer (1xx ones are passed over).
  End receive_head(TcpConnection::Clock::time_point deadline);
  // At least one more piece of the body into parser().body, or its end.
  End receive_some(TcpConnection::Clock::time_point deadline);

  [[nodiscard]] ResponseParser& parser() { return *parser_; }
  [[nodiscard]] bool finished() { return parser_ && parser_->is_done(); }
  [[nodiscard]] bool nothing_came() const { return !came_; }
  // After the whole answer: whether the connection can take another request.
  [[nodiscard]] bool reusable() { return sent_all_ && finished() && parser_->keep_alive() && buffered_ == 0; }

 private:
  End parse();
  End fill(TcpConnection::Clock::time_point deadline);
  void begin_answer();

  TcpConnection& connection_;
  const Method method_;
  const std::size_t max_answer_bytes_;
  std::optional<ResponseParser> parser_;
  std::array<char, 65536> buffer_;  // holds any head
  std::size_t buffered_ = 0;
  bool came_ = false;
  bool sent_all_ = false;
};

}  // namespace railweave::api
