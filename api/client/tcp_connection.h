// Private to this folder: a TCP connection, with TLS where the URL says https, or one to a Unix socket; every operation has
// a deadline. With TLS the server has to show a certificate for the URL's host. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "api/client/url.h"
#include "fabric/base/error.h"

struct ssl_st;  // OpenSSL's connection

namespace railweave::api {

class TcpConnection {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Io { ok, closed, timed_out };  // closed: by the other side, or broken

  struct Certificates {
    std::string trusted;   // file of authorities; "": those of the system
    std::string own, key;  // files of what is shown to the server; "": nothing
  };
  // Why an address must not be connected to; none: it may be.
  using RefuseAddress = std::function<std::optional<std::string>(std::string_view address)>;
  // Tries every address of the name that is not refused. The error says what happened in words: "connection refused".
  static Result<TcpConnection> open(const Url& url, const Certificates& certificates, Clock::time_point deadline,
                                    const RefuseAddress& refuse = {});

  ~TcpConnection();
  TcpConnection(TcpConnection&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)),
        tls_(std::exchange(other.tls_, nullptr)),
        give_up_(std::move(other.give_up_)) {}
  TcpConnection& operator=(TcpConnection&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(tls_, other.tls_);
    std::swap(give_up_, other.give_up_);
    return *this;
  }

  // Asked while something is waited for; true: the deadline counts as over.
  void give_up_when(std::function<bool()> give_up) { give_up_ = std::move(give_up); }

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
  static Result<TcpConnection> open_socket(const std::string& path, Clock::time_point deadline);
  Result<void> begin_tls(const std::string& host, const Certificates& certificates, Clock::time_point deadline);
  Done read_tls(std::span<char> room, Clock::time_point deadline);
  Done write_tls(std::string_view bytes, Clock::time_point deadline);

  int descriptor_ = -1;
  ssl_st* tls_ = nullptr;  // owned; null: bytes go as they are
  std::function<bool()> give_up_;
};

}  // namespace railweave::api
