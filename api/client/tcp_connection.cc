#include "api/client/tcp_connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>
#include <thread>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace railweave::api {
namespace {

// Milliseconds to the deadline, rounded up, for poll().
int remaining_ms(TcpConnection::Clock::time_point deadline) {
  const auto remaining = std::chrono::ceil<std::chrono::milliseconds>(deadline - TcpConnection::Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(remaining, 0, INT_MAX));
}

// The events that came; 0 at the deadline, or where it is given up.
short wait_for(int descriptor, short events, TcpConnection::Clock::time_point deadline,
               const std::function<bool()>& give_up = {}) {
  constexpr int kAskMs = 200;
  for (;;) {
    pollfd one{descriptor, events, 0};
    const int left_ms = remaining_ms(deadline);
    const int ready = poll(&one, 1, give_up ? std::min(left_ms, kAskMs) : left_ms);
    if (ready > 0) return one.revents;
    if (ready < 0 && errno != EINTR) return POLLERR;
    if (ready == 0 && (TcpConnection::Clock::now() >= deadline || (give_up && give_up()))) return 0;
  }
}

// The first of OpenSSL's errors; they are cleared.
std::string tls_words() {
  const unsigned long error = ERR_get_error();
  const char* reason = ERR_reason_error_string(error);
  ERR_clear_error();
  return reason == nullptr ? "the connection was closed" : reason;
}

bool is_transient(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

std::string words(int error) {
  if (error == ECONNREFUSED) return "connection refused";
  if (error == ETIMEDOUT) return "no answer in time";
  return std::strerror(error);  // NOLINT(concurrency-mt-unsafe): glibc's is safe for known errors
}

// 0 or an errno.
int connect_one(int descriptor, const addrinfo& address, TcpConnection::Clock::time_point deadline) {
  if (connect(descriptor, address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (wait_for(descriptor, POLLOUT, deadline) == 0) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  return error;
}

std::string numeric(const addrinfo& address) {
  std::array<char, NI_MAXHOST> text{};
  const int made =
      getnameinfo(address.ai_addr, address.ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return made == 0 ? text.data() : "?";
}

}  // namespace

Result<TcpConnection> TcpConnection::open_socket(const std::string& path, Clock::time_point deadline) {
  constexpr auto kPause = std::chrono::milliseconds(5);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail(ErrorKind::unavailable, "client.cannotConnect", "the path of the socket is too long");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  TcpConnection connection(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (connection.descriptor_ < 0) return fail(ErrorKind::unavailable, "client.cannotConnect", words(errno));
  for (;;) {
    if (connect(connection.descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      return connection;
    }
    // The queue of connections that wait to be taken is full: there is no event for its having room.
    if (errno != EAGAIN) return fail(ErrorKind::unavailable, "client.cannotConnect", words(errno));
    if (Clock::now() + kPause > deadline) return fail(ErrorKind::unavailable, "client.cannotConnect", words(ETIMEDOUT));
    std::this_thread::sleep_for(kPause);
  }
}

Result<TcpConnection> TcpConnection::open(const Url& url, const Certificates& certificates, Clock::time_point deadline,
                                          const RefuseAddress& refuse) {
  if (!url.socket.empty()) return open_socket(url.socket, deadline);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int lookup = getaddrinfo(url.host.c_str(), std::to_string(url.port).c_str(), &hints, &found);
  if (lookup != 0) {
    return fail(ErrorKind::unavailable, "client.unknownHost",
                "the name " + url.host + " is not known: " + gai_strerror(lookup));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, freeaddrinfo);
  int error = ECONNREFUSED;
  std::string refused;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    if (refuse) {
      const std::string number = numeric(*address);
      if (const auto why = refuse(number)) {
        refused = number + " is refused: " + *why;
        continue;
      }
    }
    const int type = address->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC;
    TcpConnection connection(socket(address->ai_family, type, address->ai_protocol));
    if (connection.descriptor_ < 0) {
      error = errno;
      continue;
    }
    error = connect_one(connection.descriptor_, *address, deadline);
    if (error != 0) continue;
    const int on = 1;
    setsockopt(connection.descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (url.tls) {
      if (auto begun = connection.begin_tls(url.host, certificates, deadline); !begun)
        return std::unexpected(begun.error());
    }
    return connection;
  }
  if (!refused.empty()) return fail(ErrorKind::invalid, "client.addressRefused", refused);
  return fail(ErrorKind::unavailable, "client.cannotConnect", words(error));
}

TcpConnection::~TcpConnection() {
  if (tls_ != nullptr) {
    (void)SSL_shutdown(tls_);  // says that this is the end; the other side's end is not waited for
    SSL_free(tls_);
  }
  if (descriptor_ >= 0) close(descriptor_);
}

Result<void> TcpConnection::begin_tls(const std::string& host, const Certificates& certificates,
                                      Clock::time_point deadline) {
  const std::string& ca_file = certificates.trusted;
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  if (!context) return fail(ErrorKind::internal, "client.tls", "TLS cannot be used: " + tls_words());
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  const int trusted = ca_file.empty() ? SSL_CTX_set_default_verify_paths(context.get())
                                      : SSL_CTX_load_verify_locations(context.get(), ca_file.c_str(), nullptr);
  if (trusted != 1) {
    return fail(ErrorKind::invalid, "client.caFile", "the trusted certificates cannot be read: " + tls_words(),
                ca_file);
  }
  const bool shows = !certificates.own.empty();
  if (shows && (SSL_CTX_use_certificate_chain_file(context.get(), certificates.own.c_str()) != 1 ||
                SSL_CTX_use_PrivateKey_file(context.get(), certificates.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
                SSL_CTX_check_private_key(context.get()) != 1)) {
    return fail(ErrorKind::invalid, "client.certificateFile",
                "the certificate and key to show cannot be used: " + tls_words(), certificates.own);
  }
  tls_ = SSL_new(context.get());  // keeps the context
  if (tls_ == nullptr || SSL_set_fd(tls_, descriptor_) != 1) {
    return fail(ErrorKind::internal, "client.tls", "TLS cannot be used: " + tls_words());
  }
  X509_VERIFY_PARAM* expected = SSL_get0_param(tls_);
  const bool address = X509_VERIFY_PARAM_set1_ip_asc(expected, host.c_str()) == 1;
  if (!address && (SSL_set1_host(tls_, host.c_str()) != 1 || SSL_set_tlsext_host_name(tls_, host.c_str()) != 1)) {
    return fail(ErrorKind::invalid, "client.tls", "no certificate can be for " + host);
  }
  for (;;) {
    ERR_clear_error();
    const int done = SSL_connect(tls_);
    if (done == 1) return {};
    const int why = SSL_get_error(tls_, done);
    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) {
      const short events = why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
      if (wait_for(descriptor_, events, deadline) != 0) continue;
      return fail(ErrorKind::unavailable, "client.cannotConnect", "no TLS handshake in time");
    }
    const long verified = SSL_get_verify_result(tls_);
    if (verified != X509_V_OK) {
      return fail(ErrorKind::unavailable, "client.untrusted",
                  std::string("its certificate is not trusted: ") + X509_verify_cert_error_string(verified));
    }
    return fail(ErrorKind::unavailable, "client.cannotConnect", "the TLS handshake failed: " + tls_words());
  }
}

TcpConnection::Done TcpConnection::read_tls(std::span<char> room, Clock::time_point deadline) {
  for (;;) {
    ERR_clear_error();
    std::size_t count = 0;
    const int done = SSL_read_ex(tls_, room.data(), room.size(), &count);
    if (done == 1) return {Io::ok, count};
    const int why = SSL_get_error(tls_, done);
    if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) return {Io::closed, 0};
    const short events = why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
    if (wait_for(descriptor_, events, deadline, give_up_) == 0) return {Io::timed_out, 0};
  }
}

TcpConnection::Done TcpConnection::write_tls(std::string_view bytes, Clock::time_point deadline) {
  for (;;) {
    ERR_clear_error();
    std::size_t count = 0;
    const int done = SSL_write_ex(tls_, bytes.data(), bytes.size(), &count);
    if (done == 1) return {Io::ok, count};
    const int why = SSL_get_error(tls_, done);
    if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) return {Io::closed, 0};
    const short events = wait_for(descriptor_, POLLOUT | POLLIN, deadline, give_up_);
    if (events == 0) return {Io::timed_out, 0};
    char next = 0;
    std::size_t seen = 0;
    if ((events & POLLIN) != 0 && SSL_peek_ex(tls_, &next, 1, &seen) == 1) return {Io::ok, 0};
  }
}

TcpConnection::Done TcpConnection::read(std::span<char> room, Clock::time_point deadline) {
  if (tls_ != nullptr) return read_tls(room, deadline);
  for (;;) {
    const ssize_t count = recv(descriptor_, room.data(), room.size(), 0);
    if (count > 0) return {Io::ok, static_cast<std::size_t>(count)};
    if (count == 0 || !is_transient(errno)) return {Io::closed, 0};
    if (wait_for(descriptor_, POLLIN, deadline, give_up_) == 0) return {Io::timed_out, 0};
  }
}

TcpConnection::Done TcpConnection::write(std::string_view bytes, Clock::time_point deadline) {
  if (tls_ != nullptr) return write_tls(bytes, deadline);
  for (;;) {
    const ssize_t count = send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count >= 0) return {Io::ok, static_cast<std::size_t>(count)};
    if (!is_transient(errno)) return {Io::closed, 0};
    const short events = wait_for(descriptor_, POLLOUT | POLLIN, deadline, give_up_);
    if (events == 0) return {Io::timed_out, 0};
    if ((events & POLLIN) != 0 && (events & POLLOUT) == 0) return {Io::ok, 0};
  }
}

bool TcpConnection::stale() const {
  if (wait_for(descriptor_, POLLIN, Clock::now()) == 0) return false;
  if (tls_ == nullptr) return true;
  // What came may be TLS's own: tickets for the next session.
  ERR_clear_error();
  char next = 0;
  std::size_t count = 0;
  const int done = SSL_peek_ex(tls_, &next, 1, &count);
  return done == 1 || SSL_get_error(tls_, done) != SSL_ERROR_WANT_READ;
}

}  // namespace railweave::api
