// Through which a handler, on any thread, delivers its answer to the connection of the request.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "api/http/message/response.h"

namespace railweave::api {

// Thread-safe. Shared by the connection and the Responders of its requests, which may outlive it: after close(), and
// for requests that were given up, what is delivered is dropped.
class AnswerInbox {
 public:
  // `wake` is called under the lock, and never after close(), so what it refers to may be destroyed then.
  explicit AnswerInbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  // Starts waiting for a new answer and drops any other. deliver() takes the ticket, so that a late answer to an
  // earlier request is recognised.
  std::uint64_t open() {
    const std::lock_guard lock(mutex_);
    answer_.reset();
    waiting_ = false;
    return ++ticket_;
  }
  void deliver(std::uint64_t ticket, Response response) {
    const std::lock_guard lock(mutex_);
    if (ticket != ticket_ || !wake_) return;
    answer_.emplace(std::move(response));
    if (std::exchange(waiting_, false)) wake_();
  }
  // The answer, if it is there. If not, wake() will be called when it comes.
  std::optional<Response> take_or_wait() {
    const std::lock_guard lock(mutex_);
    waiting_ = !answer_.has_value();
    return std::exchange(answer_, std::nullopt);
  }
  void close() {
    const std::lock_guard lock(mutex_);
    wake_ = nullptr;
    answer_.reset();
  }

 private:
  std::mutex mutex_;
  // Guarded by mutex_:
  std::uint64_t ticket_ = 0;
  std::optional<Response> answer_;
  bool waiting_ = false;
  std::function<void()> wake_;
};

}  // namespace railweave::api
