#include "fabric/drivers/opensm/protocol/policy_server.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace railweave::fabric::opensm {

struct PolicyServer::Client {
  FileDescriptor socket;
  Guid subnet;  // 0: has not greeted
  LineSplitter lines;
  std::shared_ptr<const std::string> sending;  // or was sent
  std::size_t sent = 0;
  Clock::time_point since = Clock::now();  // connected, or the last progress in sending

  [[nodiscard]] bool in_document() const { return sending && sent < sending->size(); }
};

Result<std::unique_ptr<PolicyServer>> PolicyServer::start(PolicyServerOptions options, PolicyServerHooks hooks) {
  auto listener = listen_on(options.socket_path);
  if (!listener) return std::unexpected(listener.error());
  return std::unique_ptr<PolicyServer>(
      new PolicyServer(std::move(options), std::move(hooks), std::move(*listener)));  // NOLINT
}

PolicyServer::PolicyServer(PolicyServerOptions options, PolicyServerHooks hooks, FileDescriptor listener)
    : options_(std::move(options)), hooks_(std::move(hooks)), listener_(std::move(listener)) {
  thread_ = std::thread([this] { run(); });
}

PolicyServer::~PolicyServer() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_up_.wake();
  thread_.join();
  unlink(options_.socket_path.c_str());
}

Result<void> PolicyServer::publish(RoutingPolicy policy) {
  auto checked = canonical(std::move(policy));
  if (!checked) return std::unexpected(checked.error());
  auto document = std::make_shared<const std::string>(write_policy(*checked));
  {
    const std::lock_guard lock(mutex_);
    document_ = std::move(document);
  }
  wake_up_.wake();
  return {};
}

void PolicyServer::run() {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (stop_) break;
      newest_ = document_;
    }
    std::vector<pollfd> fds{{wake_up_.fd(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    bool waits = false;  // for something with a deadline
    for (const auto& client : clients_) {
      const bool more = client->subnet.known() && (client->in_document() || client->sending != newest_);
      waits = waits || more || !client->subnet.known();
      fds.push_back({client->socket.get(), static_cast<short>(more ? POLLIN | POLLOUT : POLLIN), 0});
    }
    if (poll(fds.data(), fds.size(), waits ? static_cast<int>(options_.deadline.count()) : -1) < 0) continue;
    if (fds[0].revents != 0) wake_up_.clear();
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      if (!serve(*clients_[i], fds[i + 2].revents)) clients_[i].reset();
    }
    std::erase(clients_, nullptr);
    if (fds[1].revents != 0) accept_clients();
  }
  for (const auto& client : clients_) drop(*client, {});
  clients_.clear();
}

void PolicyServer::accept_clients() {
  for (;;) {
    FileDescriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.open()) {
      if (errno == EMFILE || errno == ENFILE) poll(nullptr, 0, 100);  // the socket stays readable: do not spin
      return;
    }
    auto client = std::make_unique<Client>();
    client->socket = std::move(socket);
    if (clients_.size() < options_.max_clients) {
      clients_.push_back(std::move(client));
    } else {
      drop(*client, fmt::format("there are {} clients already", options_.max_clients));
    }
  }
}

// False: it is to be forgotten, and that was said.
bool PolicyServer::serve(Client& client, short ready) {
  if ((ready & ~POLLOUT) != 0 && !read_from(client)) return false;
  if ((ready & POLLOUT) != 0 && !write_to(client)) return false;
  const bool waits = !client.subnet.known() || client.in_document();
  if (!waits || Clock::now() - client.since <= options_.deadline) return true;
  drop(client, client.subnet.known() ? "does not read the policy" : "does not say who it is");
  return false;
}

bool PolicyServer::read_from(Client& client) {
  std::string bytes;
  const Transfer got = receive(client.socket.get(), bytes);
  if (got == Transfer::over) {
    drop(client, {});
    return false;
  }
  bool well = true;
  client.lines.feed(bytes, [&](std::string_view line, bool whole) { well = well && take_line(client, line, whole); });
  return well;
}

bool PolicyServer::take_line(Client& client, std::string_view line, bool whole) {
  if (!client.subnet.known()) {
    const auto subnet = whole ? read_hello(line) : fail(ErrorKind::malformed, "policy.malformed", "a line too long");
    if (!subnet) {
      drop(client, subnet.error().text());
      return false;
    }
    client.subnet = *subnet;
    client.since = Clock::now();
    if (hooks_.changed) hooks_.changed(client.subnet, true);
    return true;
  }
  const auto event = whole ? read_event(line) : fail(ErrorKind::malformed, "policy.malformed", "a line too long");
  if (!event) {
    drop(client, event.error().text());
    return false;
  }
  if (hooks_.event) hooks_.event(client.subnet, *event);
  return true;
}

bool PolicyServer::write_to(Client& client) {
  if (!client.in_document() && client.sending != newest_) {
    client.sending = newest_;
    client.sent = 0;
    client.since = Clock::now();
  }
  if (!client.in_document()) return true;
  std::string_view rest = std::string_view(*client.sending).substr(client.sent);
  const Transfer done = send(client.socket.get(), rest);
  if (done == Transfer::over) {
    drop(client, {});
    return false;
  }
  if (done == Transfer::some) client.since = Clock::now();
  client.sent = client.sending->size() - rest.size();
  return true;
}

void PolicyServer::drop(Client& client, const std::string& why) {
  if (!why.empty() && hooks_.problem) {
    hooks_.problem({ErrorKind::unavailable, "policy.client",
                    client.subnet.known() ? fmt::format("the plugin of {}: {}", to_string(client.subnet), why)
                                          : "a client of the policy socket: " + why,
                    options_.socket_path, "it is disconnected"});
  }
  if (client.subnet.known() && hooks_.changed) hooks_.changed(client.subnet, false);
}

}  // namespace railweave::fabric::opensm
