#include "tests/unit/http/raw_socket.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace railweave::api {
namespace {

using SteadyClock = std::chrono::steady_clock;

}  // namespace

RawSocket::RawSocket(std::uint16_t port, int receive_buffer_bytes) : descriptor_(socket(AF_INET, SOCK_STREAM, 0)) {
  if (receive_buffer_bytes > 0) {
    setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ended_ = connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0;
}

RawSocket::~RawSocket() { close(); }

void RawSocket::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

bool RawSocket::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

void RawSocket::end_sending() { shutdown(descriptor_, SHUT_WR); }

bool RawSocket::fill(SteadyClock::time_point deadline) {
  if (ended_) return false;
  const auto left = std::chrono::duration_cast<Milliseconds>(deadline - SteadyClock::now()).count();
  pollfd one{descriptor_, POLLIN, 0};
  if (left <= 0 || poll(&one, 1, static_cast<int>(left)) <= 0) return false;
  std::array<char, 65536> piece;
  const ssize_t count = recv(descriptor_, piece.data(), piece.size(), 0);
  if (count <= 0) {
    ended_ = true;
    return false;
  }
  buffer_.append(piece.data(), static_cast<std::size_t>(count));
  return true;
}

bool RawSocket::fill_to(std::size_t size, SteadyClock::time_point deadline) {
  while (buffer_.size() < size) {
    if (!fill(deadline)) return false;
  }
  return true;
}

std::optional<std::string> RawSocket::take_line(SteadyClock::time_point deadline) {
  std::size_t end = 0;
  while ((end = buffer_.find("\r\n")) == std::string::npos) {
    if (!fill(deadline)) return std::nullopt;
  }
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 2);
  return line;
}

RawAnswer RawSocket::read_answer(bool of_head, Milliseconds timeout) {
  const SteadyClock::time_point deadline = SteadyClock::now() + timeout;
  RawAnswer answer;
  const std::optional<std::string> status = take_line(deadline);
  if (!status || !status->starts_with("HTTP/1.1 ")) return answer;
  answer.head = *status + "\r\n";
  answer.status = std::atoi(status->substr(9, 3).c_str());
  for (;;) {
    const std::optional<std::string> line = take_line(deadline);
    if (!line) return answer;
    answer.head += *line + "\r\n";
    if (line->empty()) break;
    const std::size_t colon = line->find(": ");
    if (colon == std::string::npos) return answer;
    std::string name = line->substr(0, colon);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    if (answer.headers.contains(name)) return answer;  // no field comes twice in these tests
    answer.headers[name] = line->substr(colon + 2);
  }
  if (of_head || answer.status == 204 || answer.status == 304 || answer.status / 100 == 1) {
    answer.complete = true;
  } else if (answer.headers.contains("content-length")) {
    const std::size_t length = std::strtoull(answer.headers["content-length"].c_str(), nullptr, 10);
    answer.complete = fill_to(length, deadline);
    answer.body = buffer_.substr(0, length);
    buffer_.erase(0, answer.body.size());
  } else if (answer.headers["transfer-encoding"] == "chunked") {
    for (;;) {
      const std::optional<std::string> size_line = take_line(deadline);
      if (!size_line) return answer;
      const std::size_t size = std::strtoull(size_line->c_str(), nullptr, 16);
      if (!fill_to(size + 2, deadline)) return answer;
      answer.body += buffer_.substr(0, size);
      buffer_.erase(0, size + 2);
      if (size == 0) break;
    }
    answer.complete = true;
  } else {
    answer.body = read_all(timeout);
    answer.complete = ended_;
  }
  return answer;
}

std::string RawSocket::read_until(std::string_view marker, Milliseconds timeout) {
  const SteadyClock::time_point deadline = SteadyClock::now() + timeout;
  std::size_t at = 0;
  while ((at = buffer_.find(marker)) == std::string::npos) {
    if (!fill(deadline)) return std::exchange(buffer_, {});
  }
  std::string taken = buffer_.substr(0, at + marker.size());
  buffer_.erase(0, taken.size());
  return taken;
}

std::string RawSocket::read_all(Milliseconds timeout) {
  const SteadyClock::time_point deadline = SteadyClock::now() + timeout;
  while (fill(deadline)) {
  }
  return std::exchange(buffer_, {});
}

bool RawSocket::ends(Milliseconds timeout) { return read_all(timeout).empty() && ended_; }

}  // namespace railweave::api
