#include "api/http/server.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <future>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "api/http/connection/asio.h"
#include "api/http/connection/connection.h"
#include "api/http/connection/io_thread.h"
#include "api/http/connection/tls.h"
#include "api/http/dispatch/server_core.h"
#include "api/http/unix_socket.h"

namespace railweave::api {
namespace {

constexpr int kListenBacklog = 1024;
constexpr std::size_t kMaxBeingTurnedAway = 64;  // beyond that, connections are closed without a word
constexpr std::chrono::milliseconds kAcceptPause{100};

ServerOptions workable(ServerOptions options) {
  options.io_threads = std::max<std::size_t>(1, options.io_threads);
  options.compute_threads = std::max<std::size_t>(1, options.compute_threads);
  options.min_body_rate_bytes_per_s = std::max<std::size_t>(1, options.min_body_rate_bytes_per_s);
  options.max_header_bytes = std::max<std::size_t>(1024, options.max_header_bytes);
  return options;
}

// Fine enough that no timeout lasts much more than a quarter longer than it was set.
Clock::duration sweep_interval(const ServerOptions& options) {
  using std::chrono::milliseconds;
  const milliseconds shortest = std::min({options.idle_timeout, options.header_timeout, options.body_timeout,
                                          options.answer_timeout, options.write_timeout});
  return std::clamp(shortest / 4, milliseconds(5), milliseconds(250));
}

Tcp::endpoint tcp_endpoint(const Stream::endpoint& endpoint) {
  Tcp::endpoint tcp;
  if (endpoint.size() > tcp.capacity()) return tcp;
  std::memcpy(tcp.data(), endpoint.data(), endpoint.size());
  tcp.resize(endpoint.size());
  return tcp;
}

}  // namespace

struct Server::Impl {
  explicit Impl(ServerOptions options) : core(workable(std::move(options))) {}

  struct Listener {
    explicit Listener(IoThread& io) : acceptor(io.context) {}
    Acceptor acceptor;
    bool is_unix = false;
    std::promise<void> ended;
  };

  Result<void> listen();
  Task<void> accept_all(Listener& listener);
  void admit(Socket socket, IoThread& where, bool is_unix);

  ServerCore core;  // before, so it outlives, the loops and what is on them
  std::vector<std::unique_ptr<IoThread>> io;
  std::vector<std::unique_ptr<Listener>> listeners;  // on the first loop
  std::string url;
  std::uint16_t port = 0;
  bool started = false;
  bool stopped = false;
  bool accepting = false;  // the accepting loops run, and will say when they end
};

Result<void> Server::Impl::listen() {
  const std::string& name = core.options.address;
  ErrorCode error;
  const asio::ip::address address = asio::ip::make_address(name == "localhost" ? "127.0.0.1" : name, error);
  if (error) {
    return fail(ErrorKind::invalid, "http.badAddress", "\"" + name + "\" is not an IP address to listen on");
  }
  const bool tls = !core.options.tls_certificate.empty();
  if (!address.is_loopback() && (!tls || !core.options.authenticate)) {
    return fail(ErrorKind::invalid, "http.notLoopback",
                "refusing to listen on " + name + ": without " + (tls ? "authentication" : "TLS") +
                    " only this machine may call",
                "", tls ? "ask for tokens, or use 127.0.0.1 or ::1" : "name a certificate, or use 127.0.0.1 or ::1");
  }
  if (tls) {
    auto files = TlsFiles::open(core.options.tls_certificate, core.options.tls_key, core.options.tls_client_ca,
                                core.options.error_log);
    if (!files) return std::unexpected(files.error());
    core.tls = [files = std::shared_ptr<TlsFiles>(std::move(*files))] { return files->context(); };
  }
  const Tcp::endpoint endpoint(address, core.options.port);
  Acceptor& acceptor = listeners.emplace_back(std::make_unique<Listener>(*io.front()))->acceptor;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(Acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(kListenBacklog, error);
  if (error) {
    listeners.clear();
    return fail(ErrorKind::unavailable, "http.cannotListen",
                fmt::format("cannot listen on {} port {}: {}", name, core.options.port, error.message()), "",
                "is another instance running there?");
  }
  port = tcp_endpoint(acceptor.local_endpoint()).port();
  url = fmt::format("{}{}:{}", tls ? "https://" : "http://",
                    address.is_v6() ? fmt::format("[{}]", address.to_string()) : address.to_string(), port);
  if (core.options.socket.empty()) return {};
  auto local = std::make_unique<Listener>(*io.front());
  local->is_unix = true;
  auto listening = listen_at(local->acceptor, core.options.socket, kListenBacklog);
  if (listening) listeners.push_back(std::move(local));
  return listening;
}

Task<void> Server::Impl::accept_all(Listener& listener) {
  Timer pause(io.front()->context.get_executor());
  for (std::size_t next = 0;; next = (next + 1) % io.size()) {
    IoThread& where = *io[next];
    Socket socket(where.context);
    ErrorCode error;
    co_await listener.acceptor.async_accept(socket, into(error));
    if (!listener.acceptor.is_open()) break;
    if (error) {
      // Out of descriptors, or the client has gone already: neither ends the service.
      core.log_error("cannot accept a connection: " + error.message());
      pause.expires_after(kAcceptPause);
      co_await pause.async_wait(into(error));
      continue;
    }
    try {
      admit(std::move(socket), where, listener.is_unix);
    } catch (const std::exception& failure) {
      core.log_error(std::string("cannot take a connection: ") + failure.what());
    }
  }
  listener.ended.set_value();
}

void Server::Impl::admit(Socket socket, IoThread& where, bool is_unix) {
  Peer peer;
  if (is_unix) {
    auto known = peer_of_unix_socket(socket);
    if (!known) return core.log_error("cannot take a connection: " + known.error().text());
    peer = std::move(*known);
  } else {
    ErrorCode error;
    const Stream::endpoint remote = socket.remote_endpoint(error);
    if (error) return;
    socket.set_option(Tcp::no_delay(true), error);
    const Tcp::endpoint endpoint = tcp_endpoint(remote);
    peer.address = endpoint.address().to_string();
    peer.port = endpoint.port();
  }
  const ConnectionSlots::Taken slot = core.slots.take(peer.address);
  if (slot.limit == nullptr) {
    where.metrics.count_accepted();
  } else {
    where.metrics.count_refused_connection(slot.limit);
    if (++core.refusing > kMaxBeingTurnedAway) {
      --core.refusing;
      return;
    }
  }
  auto connection = std::make_shared<Connection>(core, where, std::move(socket), std::move(peer), slot.id);
  asio::post(where.context, [connection = std::move(connection)] { connection->start(); });
}

Server::Server(ServerOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}

Server::~Server() { stop(std::chrono::milliseconds(0)); }

Router& Server::router() { return impl_->core.router; }

Result<void> Server::start() {
  RAILWEAVE_CHECK(!impl_->started, "a server starts once");
  impl_->started = true;
  Impl& impl = *impl_;
  try {
    impl.core.request_id_prefix = std::random_device()();
    const Clock::duration interval = sweep_interval(impl.core.options);
    for (std::size_t i = 0; i < impl.core.options.io_threads; ++i)
      impl.io.push_back(std::make_unique<IoThread>(interval));
    if (Result<void> listening = impl.listen(); !listening) {
      impl.stopped = true;
      return listening;
    }
    impl.core.pool.start(impl.core.options.compute_threads, impl.core.options.prepare_compute_thread);
    for (const auto& listener : impl.listeners) {
      asio::co_spawn(impl.io.front()->context, impl.accept_all(*listener), asio::detached);
    }
    for (const auto& thread : impl.io) {
      thread->start();
      impl.accepting = true;
    }
  } catch (const std::exception& failure) {
    stop(std::chrono::milliseconds(0));
    return fail(ErrorKind::internal, "http.cannotStart", std::string("cannot start the HTTP server: ") + failure.what(),
                "", "are there descriptors and threads left?");
  }
  return {};
}

std::uint16_t Server::port() const { return impl_->port; }

std::string Server::url() const { return impl_->url; }

HttpMetrics Server::metrics() const {
  HttpMetrics metrics;
  for (const auto& thread : impl_->io) metrics.add(thread->metrics.snapshot());
  metrics.open_connections = impl_->core.slots.open();
  metrics.requests_in_flight = impl_->core.in_flight;
  metrics.open_streams = impl_->core.streams.open();
  const ComputePool::Load load = impl_->core.pool.load();
  metrics.compute_queued = load.queued;
  metrics.compute_running = load.running;
  return metrics;
}

void Server::stop(std::chrono::milliseconds grace) {
  (void)stop_within(grace, std::chrono::milliseconds(0));
  impl_->core.pool.stop();
}

bool Server::stop_within(std::chrono::milliseconds grace, std::chrono::milliseconds for_computations) {
  if (!impl_->started || impl_->stopped) return impl_->core.pool.stop_by(Clock::now() + for_computations);
  impl_->stopped = true;
  Impl& impl = *impl_;
  impl.core.stopping = true;
  for (const auto& listener : impl.listeners) {
    asio::post(impl.io.front()->context, [&acceptor = listener->acceptor] {
      ErrorCode ignored;
      acceptor.close(ignored);
    });
    // A connection taken after its loop has ended would stay open, unanswered.
    if (impl.accepting) listener->ended.get_future().wait();
    if (listener->is_unix) ::unlink(impl.core.options.socket.c_str());
  }
  const Clock::time_point deadline = Clock::now() + grace;
  for (const auto& thread : impl.io) thread->stop(deadline);
  for (const auto& thread : impl.io) thread->join();
  return impl.core.pool.stop_by(Clock::now() + for_computations);
}

}  // namespace railweave::api
