#include "api/client/tcp_connection.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace railweave::api {
namespace {

// Milliseconds to the deadline, rounded up, for poll().
int remaining_ms(TcpConnection::Clock::time_point deadline) {
  const auto remaining = std::chrono::ceil<std::chrono::milliseconds>(deadline - TcpConnection::Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(remaining, 0, INT_MAX));
}

// The events that came; 0 at the deadline.
short wait_for(int descriptor, short events, TcpConnection::Clock::time_point deadline) {
  for (;;) {
    pollfd one{descriptor, events, 0};
    const int ready = poll(&one, 1, remaining_ms(deadline));
    if (ready > 0) return one.revents;
    if (ready == 0) return 0;
    if (errno != EINTR) return POLLERR;
  }
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

}  // namespace

Result<TcpConnection> TcpConnection::open(const Url& url, Clock::time_point deadline) {
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
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
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
    return connection;
  }
  return fail(ErrorKind::unavailable, "client.cannotConnect", words(error));
}

TcpConnection::~TcpConnection() {
  if (descriptor_ >= 0) close(descriptor_);
}

TcpConnection::Done TcpConnection::read(std::span<char> room, Clock::time_point deadline) {
  for (;;) {
    const ssize_t count = recv(descriptor_, room.data(), room.size(), 0);
    if (count > 0) return {Io::ok, static_cast<std::size_t>(count)};
    if (count == 0 || !is_transient(errno)) return {Io::closed, 0};
    if (wait_for(descriptor_, POLLIN, deadline) == 0) return {Io::timed_out, 0};
  }
}

TcpConnection::Done TcpConnection::write(std::string_view bytes, Clock::time_point deadline) {
  for (;;) {
    const ssize_t count = send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count >= 0) return {Io::ok, static_cast<std::size_t>(count)};
    if (!is_transient(errno)) return {Io::closed, 0};
    const short events = wait_for(descriptor_, POLLOUT | POLLIN, deadline);
    if (events == 0) return {Io::timed_out, 0};
    if ((events & POLLIN) != 0 && (events & POLLOUT) == 0) return {Io::ok, 0};
  }
}

bool TcpConnection::stale() const { return wait_for(descriptor_, POLLIN, Clock::now()) != 0; }

}  // namespace railweave::api
