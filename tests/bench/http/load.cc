#include "tests/bench/http/load.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace railweave::api {

Load::Load(std::uint16_t port, std::size_t connections, std::string request)
    : request_(std::move(request)), buffer_(std::size_t{1} << 20U) {
  for (std::size_t i = 0; i < connections; ++i) {
    const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    const int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) std::abort();
    descriptors_.push_back(descriptor);
  }
}

Load::~Load() {
  for (const int descriptor : descriptors_) close(descriptor);
}

bool Load::round() {
  for (const int descriptor : descriptors_) {
    if (send(descriptor, request_.data(), request_.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request_.size()))
      return false;
  }
  for (const int descriptor : descriptors_) {
    if (!read_answer(descriptor)) return false;
  }
  return true;
}

bool Load::read_answer(int descriptor) {
  constexpr std::string_view kLength = "Content-Length: ";
  std::size_t have = 0;
  std::size_t want = 0;
  while (want == 0 || have < want) {
    // Once the size is known, only counts matter, so the buffer is used over and over.
    char* place = want == 0 ? buffer_.data() + have : buffer_.data();
    const std::size_t room = want == 0 ? buffer_.size() - have : std::min(buffer_.size(), want - have);
    const ssize_t count = recv(descriptor, place, room, 0);
    if (count <= 0) return false;
    have += static_cast<std::size_t>(count);
    if (want != 0) continue;
    const std::string_view text(buffer_.data(), have);
    const std::size_t end = text.find("\r\n\r\n");
    if (end == std::string_view::npos) continue;
    const std::size_t length = text.find(kLength);
    if (!text.starts_with("HTTP/1.1 200") || length > end) return false;
    want = end + 4 + std::strtoull(buffer_.data() + length + kLength.size(), nullptr, 10);
  }
  received_bytes_ += have;
  return have == want;
}

}  // namespace railweave::api
