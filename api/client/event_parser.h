// Reads server-sent events from whatever pieces they come in (WHATWG HTML, 9.2.6). Not thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace railweave::api {

struct ServerEvent {
  std::string id;    // the last one given, by this event or an earlier one
  std::string type;  // "message" when the event names none
  std::string data;  // lines joined by \n
};

class EventParser {
 public:
  // `limit_bytes` bounds one event.
  explicit EventParser(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  enum class Outcome { ok, stopped, too_large };
  // Calls `on_event` for each event that the piece completes; it returns false to stop, and the rest is then ignored.
  Outcome feed(std::string_view piece, const std::function<bool(const ServerEvent&)>& on_event);

  // Of the last complete event; where to resume.
  [[nodiscard]] const std::string& last_id() const { return last_id_; }
  void set_last_id(std::string id) { last_id_ = std::move(id); }
  // The pause before reconnecting that the server asked for.
  [[nodiscard]] std::optional<long> retry_ms() const { return retry_ms_; }
  // The last comment that was not empty: why the server ended the stream.
  [[nodiscard]] const std::string& last_comment() const { return last_comment_; }
  // Forgets an event that was not completed: for a new connection.
  void begin_stream();

 private:
  void take_line(std::string_view line);
  void take_field(std::string_view name, std::string_view value);

  const std::size_t limit_bytes_;
  std::string line_;
  bool after_return_ = false;  // the last line ended with \r, so a \n now belongs to it
  bool at_start_ = true;
  std::string id_;
  std::string type_;
  std::string data_;
  bool has_data_ = false;
  std::string last_id_;
  std::string last_comment_;
  std::optional<long> retry_ms_;
};

}  // namespace railweave::api
