// A service on loopback with canned answers, which records the requests.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "api/http/server.h"
#include "tests/unit/cli/railweave_process.h"

namespace railweave::cli {

struct AskedRequest {
  std::string method, target, body;
  api::Headers headers;
};

class StubService {
 public:
  StubService() : server_(options()) {}
  ~StubService() { server_.stop(std::chrono::milliseconds(0)); }
  StubService(const StubService&) = delete;
  StubService& operator=(const StubService&) = delete;

  using Answerer = std::function<api::Response(const api::Request&)>;
  void on(api::Method method, std::string_view pattern, Answerer answer) {
    server_.router().add(
        method, pattern,
        [this, method, answer = std::move(answer)](const api::Request& request, api::Responder respond) {
          {
            const std::lock_guard lock(mutex_);
            std::string target = request.target.path;
            char mark = '?';
            for (const auto& [name, value] : request.target.query) {
              target += mark + name + "=" + value;
              mark = '&';
            }
            asked_.push_back({std::string(api::to_string(method)), target, request.body, request.headers});
          }
          respond(answer(request));
        });
  }
  void get(std::string_view pattern, std::string json, int status = 200) {
    on(api::Method::get, pattern,
       [json = std::move(json), status](const api::Request&) { return api::Response::json(json, status); });
  }

  // Starts at the first run.
  Finished run(std::vector<std::string> arguments, RunOptions options = {}) {
    if (!started_) started_ = server_.start().has_value();
    options.environment.push_back("RAILWEAVE_URL=" + server_.url());
    return run_railweave(arguments, options);
  }
  std::string url() {
    if (!started_) started_ = server_.start().has_value();
    return server_.url();
  }
  std::vector<AskedRequest> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  static api::ServerOptions options() {
    api::ServerOptions options;
    options.io_threads = 1;
    options.compute_threads = 1;
    return options;
  }

  api::Server server_;
  bool started_ = false;
  std::mutex mutex_;
  std::vector<AskedRequest> asked_;  // guarded by mutex_
};

}  // namespace railweave::cli
