// A synchronous HTTP/1.1 client for the CLI and for tests. Keeps its connection open; every operation has a deadline,
// every answer a largest size. Not thread-safe: one per thread.
//
// Errors: only for the lack of an answer (client.cannotConnect, client.timeout, client.broken, client.badAnswer,
// client.tooLarge). An answer of any status, problems included, is an answer.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/client/event_parser.h"
#include "api/client/url.h"
#include "api/http/message/headers.h"
#include "api/http/message/method.h"
#include "fabric/base/error.h"

namespace railweave::api {

struct ClientOptions {
  using Milliseconds = std::chrono::milliseconds;
  std::string service = "railweaved";  // as errors call it
  std::string start_hint = "is it running? start it with: railweaved";
  std::string user_agent = "railweave";
  Headers headers;                         // with every request
  std::string ca_file;                     // certificates that are trusted for https, in PEM; "": those of the system
  std::string certificate_file, key_file;  // shown to the server over https, in PEM; both or neither
  Milliseconds connect_timeout{2'000};
  Milliseconds timeout{60'000};                          // of one request, from connecting to the end of the answer
  std::size_t max_answer_bytes = std::size_t{1} << 30U;  // as received, and once inflated
  bool accept_gzip = true;
  // Why a numeric address must not be connected to; none: it may be (client.addressRefused).
  std::function<std::optional<std::string>(std::string_view address)> refuse_address = {};
  // Asked several times a second while a request waits; true: it ends as if its time were over.
  std::function<bool()> give_up = {};
};

struct ClientRequest {
  Method method = Method::get;
  std::string target;  // "/v1/jobs?limit=10", encoded; see fabric/base/text/percent.h
  Headers headers;
  std::string content_type;  // of the body
  std::string body;
  std::optional<std::chrono::milliseconds> timeout;
};

struct ClientResponse {
  int status = 0;
  Headers headers;
  std::string body;  // inflated
  [[nodiscard]] bool ok() const { return status >= 200 && status < 300; }
};

// A stream that ended or broke, as the caller of Client::stream() sees it.
struct StreamBreak {
  std::string last_event_id;  // where it will resume
  std::string reason;         // the server's last words, or what broke
  int failures = 0;           // in a row, without an event in between
};

struct StreamOptions {
  std::string last_event_id;  // resume after this one
  // After this time without a byte the connection counts as broken; the server sends heartbeats every 15 s.
  std::chrono::milliseconds silence_timeout{45'000};
  // Unless the server names another; doubled with every failure, up to 30 s.
  std::chrono::milliseconds reconnect_delay{1'000};
  std::size_t max_event_bytes = std::size_t{16} << 20U;
  // Asked whether to go on after the stream ended or broke. Without it, stream() returns then.
  std::function<bool(const StreamBreak&)> resume;
};

class Client {
 public:
  explicit Client(Url url, ClientOptions options = {});
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  // An idempotent request is sent once more, on a new connection, when a kept connection turns out to have been closed
  // before any of the answer came. Nothing else is ever repeated.
  Result<ClientResponse> request(const ClientRequest& request);

  Result<ClientResponse> get(std::string target);
  Result<ClientResponse> post(std::string target, std::string json);
  Result<ClientResponse> put(std::string target, std::string json);
  Result<ClientResponse> del(std::string target);

  // Reads server-sent events on a connection of its own until `on_event` returns false, or the stream ends and
  // `options.resume` declines to reconnect. Then: the head of the last answer (of another status than 200, with its
  // body, when the server refused), or the error that broke it.
  Result<ClientResponse> stream(const std::string& target, const std::function<bool(const ServerEvent&)>& on_event,
                                const StreamOptions& options = {});

  [[nodiscard]] const Url& url() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace railweave::api
