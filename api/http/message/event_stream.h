// Server-sent events (WHATWG HTML, 9.2), the producer's side: a sink that any thread may send to and that never blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace railweave::api {

// One event as text: id and type may be empty; line breaks in data make several data lines; line breaks and NUL in id
// and type are left out, for they would end the field.
std::string format_event(std::string_view id, std::string_view type, std::string_view data);

// Thread-safe. Producers keep a shared_ptr and drop it when send() returns false or closed() is true; dropping it does
// not end the stream. What is not yet written is bounded in bytes: a client that is too slow is cut off, after whole
// events, with a comment that says why, and can resume by Last-Event-ID.
class StreamSink {
 public:
  explicit StreamSink(std::size_t backlog_limit_bytes) : backlog_limit_bytes_(backlog_limit_bytes) {}

  // Queues one or more whole events as format_event() writes them. False: the stream has ended and takes no more.
  bool send(std::string events) { return send(std::make_shared<const std::string>(std::move(events))); }
  bool send(std::shared_ptr<const std::string> events);  // which several streams may share

  // Ends the stream once everything queued is written. `reason`, if any, goes out as a comment.
  void close(std::string_view reason = {});

  [[nodiscard]] bool closed() const;
  [[nodiscard]] std::size_t backlog_bytes() const;

  // The server's side.
  struct Batch {
    std::string bytes;
    bool last = false;  // nothing follows
    bool cut = false;   // the client was too slow
  };
  // `wake` is called, under the sink's lock, when there is something to take after take() found nothing.
  void attach(std::function<void()> wake);
  // Up to about max_bytes of whole events.
  Batch take(std::size_t max_bytes);
  // The client has disconnected or the server stops: take() and wake are not called after it.
  void detach();

 private:
  void wake_locked();

  const std::size_t backlog_limit_bytes_;
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::deque<std::shared_ptr<const std::string>> queue_;
  std::size_t queued_bytes_ = 0;
  bool closed_ = false;
  bool cut_ = false;
  bool waiting_ = false;
  std::function<void()> wake_;
};

}  // namespace railweave::api
