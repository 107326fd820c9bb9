// Private to this folder: the server's certificate and key, and a connection's TLS. 1.2 and newer, HTTP/1.1 alone.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>

#include "api/http/connection/asio.h"
#include "api/http/message/peer.h"
#include "fabric/base/error.h"

namespace railweave::api {

using TlsStream = asio::ssl::stream<Socket&>;

// Reads the files again when they have changed; what cannot be read leaves those that were read before in use. Thread-safe.
class TlsFiles {
 public:
  // client_ca: ServerOptions::tls_client_ca.
  static Result<std::unique_ptr<TlsFiles>> open(std::filesystem::path certificate, std::filesystem::path key,
                                                std::filesystem::path client_ca,
                                                std::function<void(std::string_view)> log);

  // For a new connection, and for what was let in by one of before. Looks at the files at most once a second.
  std::shared_ptr<asio::ssl::context> context();

 private:
  using Times = std::array<std::filesystem::file_time_type, 3>;

  TlsFiles(std::filesystem::path certificate, std::filesystem::path key, std::filesystem::path client_ca,
           std::function<void(std::string_view)> log)
      : certificate_(std::move(certificate)),
        key_(std::move(key)),
        client_ca_(std::move(client_ca)),
        log_(std::move(log)) {}
  [[nodiscard]] Result<std::shared_ptr<asio::ssl::context>> read() const;
  [[nodiscard]] Times times() const;

  const std::filesystem::path certificate_, key_, client_ca_;
  const std::function<void(std::string_view)> log_;
  std::mutex mutex_;  // guards the rest
  std::shared_ptr<asio::ssl::context> context_;
  Times read_times_;
  Clock::time_point next_look_;
};

// The names and the end of the certificate that the client showed, if it showed one: the handshake has verified it.
void read_certificate(TlsStream& stream, Peer& peer);

// Whether the certificate that the client showed holds by the authorities of another context as well, as of now.
bool is_trusted(TlsStream& stream, asio::ssl::context& by);

// Whether the bytes, peeked at from a socket, are one TLS alert and nothing else: the other side closes. No request is as
// short as the record of an alert.
bool is_tls_alert(std::span<const unsigned char> bytes);

// Whether a handshake failed because the client speaks HTTP without TLS.
bool is_plain_http(const ErrorCode& error);

}  // namespace railweave::api
