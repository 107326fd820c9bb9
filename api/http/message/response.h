// One answer: status, headers and a body, a body made piece by piece, or a stream of server-sent events.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/http/message/headers.h"

namespace railweave::api {

class StreamSink;

// Called once on an I/O thread when the stream's head has been sent: keep the sink, send from any thread, do not block.
using StreamStart = std::function<void(std::shared_ptr<StreamSink>)>;

// The next piece of a body (not empty); nullopt after the last. Called on the worker pool, one call at a time, each
// when the client has taken the piece before: so one piece for each client is all that is held.
using BodyPieces = std::function<std::optional<std::string>()>;

struct Response {
  int status = 200;
  std::string content_type;
  Headers headers;  // Content-Length, Connection, Date and the like are the server's
  std::string body;
  // Instead of `body`: shared, not copied, by any number of answers.
  std::shared_ptr<const std::string> shared_body;
  // Instead of a body: server-sent events (status 200).
  StreamStart stream;
  // Instead of `body`, for what is too large to be held whole. A client that is sent half of it sees that it is cut.
  BodyPieces pieces = nullptr;

  [[nodiscard]] std::string_view body_view() const { return shared_body ? std::string_view(*shared_body) : body; }

  Response&& with(std::string name, std::string value) && {
    headers.set(std::move(name), std::move(value));
    return std::move(*this);
  }

  static Response json(std::string body, int status = 200) {
    return Response{status, "application/json", {}, std::move(body), nullptr, nullptr};
  }
  static Response json(std::shared_ptr<const std::string> body, int status = 200) {
    return Response{status, "application/json", {}, {}, std::move(body), nullptr};
  }
  static Response text(std::string body, int status = 200) {
    return Response{status, "text/plain; charset=utf-8", {}, std::move(body), nullptr, nullptr};
  }
  static Response text(BodyPieces pieces) {
    return Response{200, "text/plain; charset=utf-8", {}, {}, nullptr, nullptr, std::move(pieces)};
  }
  static Response empty(int status = 204) { return Response{status, {}, {}, {}, nullptr, nullptr}; }
  static Response events(StreamStart start) {
    return Response{200, "text/event-stream", {}, {}, nullptr, std::move(start)};
  }
};

// "Not Found" for 404; "Unknown" for codes not used here.
std::string_view status_text(int status);

}  // namespace railweave::api
