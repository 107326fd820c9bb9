// Private to this folder: a TCP connection whose every operation has a deadline. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "api/client/url.h"
#include "fabric/base/error.h"

namespace railweave::api {

class TcpConnection {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Io { ok, closed, timed_out };  // closed: by the other side, or broken

  // Tries every address of the name. The error says what happened in words: "connection refused".
  static Result<TcpConnection> open(const Url& url, Clock::time_point deadline);

  ~TcpConnection();
  TcpConnection(TcpConnection&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  TcpConnection& operator=(TcpConnection&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  struct Done {
    Io outcome = Io::closed;
    std::size_t bytes = 0;  // of this operation
  };
  // At least one byte, unless the outcome is not ok.
  Done read(std::span<char> room, Clock::time_point deadline);
  // As much as can be sent at once; ok with 0 bytes when, instead, there is something to read.
  Done write(std::string_view bytes, Clock::time_point deadline);

  // Bytes or the end arrived without a request: the connection cannot take another one.
  [[nodiscard]] bool stale() const;

 private:
  explicit TcpConnection(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

}  // namespace railweave::api
