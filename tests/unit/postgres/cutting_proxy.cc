#include "tests/unit/postgres/cutting_proxy.h"

#include <array>
#include <list>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace railweave::db {
namespace {

int loopback_socket() {
  const int file = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (file < 0) throw std::runtime_error("no socket");
  return file;
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Of postgresql://user@127.0.0.1:PORT/database.
std::uint16_t port_of(const std::string& url) {
  const auto colon = url.find(':', url.find('@'));
  return static_cast<std::uint16_t>(std::stoi(url.substr(colon + 1)));
}

}  // namespace

struct CuttingProxy::State {
  struct Pair {
    int client = -1;
    int server = -1;
  };

  std::uint16_t server_port = 0;
  std::string url;
  int listener = -1;
  std::mutex mutex;  // guards the next five
  std::optional<std::size_t> bytes_left;
  bool count_answers = false;
  bool stalled = false;
  bool was_cut = false;
  std::list<Pair> pairs;
  std::jthread thread;

  void close_all() {
    for (const Pair& pair : pairs) {
      ::close(pair.client);
      ::close(pair.server);
    }
    pairs.clear();
  }

  void take_client() {
    const int client = ::accept(listener, nullptr, nullptr);
    if (client < 0) return;
    const int server = loopback_socket();
    const sockaddr_in address = loopback(server_port);
    if (::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      ::close(server);
      ::close(client);
      return;
    }
    pairs.push_back({client, server});
  }

  // False: one end is gone.
  static bool carry(int from, int to, std::size_t most, std::size_t& carried) {
    std::array<char, 16384> bytes{};
    const ssize_t size = ::recv(from, bytes.data(), std::min(bytes.size(), most), MSG_DONTWAIT);
    if (size == 0) return false;
    if (size < 0) return true;
    carried = static_cast<std::size_t>(size);
    return ::send(to, bytes.data(), carried, MSG_NOSIGNAL) == size;
  }

  // True: cut everything.
  bool serve(Pair& pair, bool& gone) {
    for (const bool answer : {false, true}) {
      const bool counted = bytes_left && answer == count_answers;
      const std::size_t most = counted ? std::max<std::size_t>(1, *bytes_left) : SIZE_MAX;
      std::size_t carried = 0;
      if (!carry(answer ? pair.server : pair.client, answer ? pair.client : pair.server, most, carried)) gone = true;
      if (counted && carried > 0) {
        if (carried >= *bytes_left) return true;
        *bytes_left -= carried;
      }
    }
    return false;
  }

  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::vector<pollfd> files{{listener, POLLIN, 0}};
      {
        const std::lock_guard lock(mutex);
        for (const Pair& pair : pairs) {
          if (stalled) break;
          files.push_back({pair.client, POLLIN, 0});
          files.push_back({pair.server, POLLIN, 0});
        }
      }
      ::poll(files.data(), files.size(), 10);
      const std::lock_guard lock(mutex);
      if ((files[0].revents & POLLIN) != 0) take_client();
      if (stalled) continue;
      for (auto pair = pairs.begin(); pair != pairs.end();) {
        bool gone = false;
        if (serve(*pair, gone)) {
          close_all();
          bytes_left.reset();
          was_cut = true;
          break;
        }
        if (!gone) {
          ++pair;
          continue;
        }
        ::close(pair->client);
        ::close(pair->server);
        pair = pairs.erase(pair);
      }
    }
  }
};

CuttingProxy::CuttingProxy(const std::string& server_url) : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.server_port = port_of(server_url);
  state.listener = loopback_socket();
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (::bind(state.listener, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::listen(state.listener, 16) != 0 ||
      ::getsockname(state.listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("the proxy cannot listen");
  }
  state.url = server_url;
  const std::string port = std::to_string(state.server_port);
  state.url.replace(state.url.find(":" + port) + 1, port.size(), std::to_string(ntohs(address.sin_port)));
  state.thread = std::jthread([&state](const std::stop_token& stop) { state.run(stop); });
}

CuttingProxy::~CuttingProxy() {
  state_->thread.request_stop();
  state_->thread.join();
  state_->close_all();
  ::close(state_->listener);
}

const std::string& CuttingProxy::url() const { return state_->url; }

void CuttingProxy::cut_after(std::size_t bytes, bool answers) {
  const std::lock_guard lock(state_->mutex);
  state_->bytes_left = bytes;
  state_->count_answers = answers;
}

void CuttingProxy::cut() {
  const std::lock_guard lock(state_->mutex);
  state_->close_all();
}

void CuttingProxy::stall() {
  const std::lock_guard lock(state_->mutex);
  state_->stalled = true;
}

int CuttingProxy::pass() {
  const std::lock_guard lock(state_->mutex);
  state_->stalled = false;
  state_->bytes_left.reset();
  return std::exchange(state_->was_cut, false) ? 1 : 0;
}

}  // namespace railweave::db
