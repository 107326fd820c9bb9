#include "tests/unit/http/scripted_server.h"

#include <array>
#include <utility>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace railweave::api {

std::string ScriptedServer::Peer::read_head() const {
  std::string head;
  std::array<char, 4096> piece;
  while (head.find("\r\n\r\n") == std::string::npos) {
    const ssize_t count = recv(descriptor_, piece.data(), piece.size(), 0);
    if (count <= 0) return head;
    head.append(piece.data(), static_cast<std::size_t>(count));
  }
  return head;
}

void ScriptedServer::Peer::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

ScriptedServer::ScriptedServer(std::vector<Script> scripts) : descriptor_(socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  bind(descriptor_, reinterpret_cast<sockaddr*>(&address), size);
  listen(descriptor_, 16);
  getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this, scripts = std::move(scripts)] {
    for (const Script& script : scripts) {
      const int accepted = accept(descriptor_, nullptr, nullptr);
      if (accepted < 0) return;
      script(Peer(accepted));
      shutdown(accepted, SHUT_RDWR);
      close(accepted);
    }
  });
}

ScriptedServer::~ScriptedServer() {
  shutdown(descriptor_, SHUT_RDWR);
  thread_.join();
  close(descriptor_);
}

}  // namespace railweave::api
