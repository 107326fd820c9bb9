// A server on a free loopback port with the routes most tests need, and those a test adds.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "api/http/server.h"

namespace railweave::api {

class TestServer {
 public:
  explicit TestServer(ServerOptions options = {}, const std::function<void(Router&)>& add_routes = {})
      : server_(std::make_unique<Server>(std::move(options))) {
    Router& router = server_->router();
    router.get("/hello", [](const Request&, const Responder& answer) { answer(Response::text("hello\n")); });
    router.post("/echo", [](const Request& request, const Responder& answer) { answer(Response::text(request.body)); });
    // What the path parameter came to.
    router.get("/things/{id}", [](const Request& request, const Responder& answer) {
      answer(Response::text("thing " + request.param("id")));
    });
    if (add_routes) add_routes(router);
    const Result<void> started = server_->start();
    EXPECT_TRUE(started.has_value()) << (started ? "" : started.error().text());
  }

  Server* operator->() const { return server_.get(); }
  [[nodiscard]] std::uint16_t port() const { return server_->port(); }

 private:
  std::unique_ptr<Server> server_;
};

// "GET /path HTTP/1.1" with a Host, ready to be sent.
inline std::string get_request(const std::string& path, const std::string& more_headers = {}) {
  return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + more_headers + "\r\n";
}

inline std::string post_request(const std::string& path, const std::string& body,
                                const std::string& more_headers = {}) {
  return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         more_headers + "\r\n" + body;
}

// Whether the condition comes true before the deadline.
template <class Condition>
bool eventually(Condition condition, std::chrono::milliseconds within = std::chrono::seconds(20)) {
  const auto deadline = std::chrono::steady_clock::now() + within;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

// A door that handlers wait at until the test opens it.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void await_arrivals(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return arrived_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int arrived_ = 0;
};

}  // namespace railweave::api
