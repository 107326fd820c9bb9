#include "api/http/message/event_stream.h"

#include <utility>

namespace railweave::api {
namespace {

void append_line(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  for (const char c : value) {
    if (c != '\n' && c != '\r' && c != '\0') out += c;
  }
  out += '\n';
}

}  // namespace

std::string format_event(std::string_view id, std::string_view type, std::string_view data) {
  std::string out;
  out.reserve(data.size() + id.size() + type.size() + 32);
  if (!id.empty()) append_line(out, "id", id);
  if (!type.empty()) append_line(out, "event", type);
  for (;;) {
    const std::size_t end = data.find_first_of("\r\n");
    out += "data: ";
    out += data.substr(0, end);
    out += '\n';
    if (end == std::string_view::npos) break;
    const bool pair = data[end] == '\r' && end + 1 < data.size() && data[end + 1] == '\n';
    data.remove_prefix(end + (pair ? 2 : 1));
  }
  out += '\n';
  return out;
}

bool StreamSink::send(std::shared_ptr<const std::string> events) {
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  if (queued_bytes_ + events->size() > backlog_limit_bytes_) {
    queue_.clear();
    queued_bytes_ = 0;
    closed_ = true;
    cut_ = true;
    queue_.push_back(std::make_shared<const std::string>(": closed: the client was more than " +
                                                         std::to_string(backlog_limit_bytes_) +
                                                         " bytes behind; reconnect with Last-Event-ID to resume\n\n"));
  } else {
    queued_bytes_ += events->size();
    queue_.push_back(std::move(events));
  }
  wake_locked();
  return !cut_;
}

void StreamSink::close(std::string_view reason) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  closed_ = true;
  if (!reason.empty()) {
    std::string comment;
    append_line(comment, ": closed", reason);
    queue_.push_back(std::make_shared<const std::string>(comment + '\n'));
  }
  wake_locked();
}

bool StreamSink::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

std::size_t StreamSink::backlog_bytes() const {
  const std::lock_guard lock(mutex_);
  return queued_bytes_;
}

void StreamSink::attach(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
}

StreamSink::Batch StreamSink::take(std::size_t max_bytes) {
  const std::lock_guard lock(mutex_);
  Batch batch;
  while (!queue_.empty() && (batch.bytes.empty() || batch.bytes.size() + queue_.front()->size() <= max_bytes)) {
    const std::size_t size = queue_.front()->size();
    queued_bytes_ -= size < queued_bytes_ ? size : queued_bytes_;  // the closing comment is not counted
    batch.bytes += *queue_.front();
    queue_.pop_front();
  }
  batch.last = closed_ && queue_.empty();
  batch.cut = cut_;
  waiting_ = batch.bytes.empty() && !batch.last;
  return batch;
}

void StreamSink::detach() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  wake_ = nullptr;
  queue_.clear();
  queued_bytes_ = 0;
}

void StreamSink::wake_locked() {
  if (!waiting_ || !wake_) return;
  waiting_ = false;
  wake_();
}

}  // namespace railweave::api
