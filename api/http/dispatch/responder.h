// Answers one request, once, from any thread: handlers that wait for the control loop pass it on and return.
// Copies share the one answer. When the last copy is destroyed without an answer, the client gets a 500 problem.
#pragma once

#include <functional>
#include <memory>

#include "api/http/message/problem.h"
#include "api/http/message/request.h"
#include "api/http/message/response.h"

namespace railweave::api {

class Responder {
 public:
  // `deliver` gets the one answer, on the thread that gives it. Tests of handlers may pass their own.
  Responder(std::shared_ptr<const Request> request, std::function<void(Response)> deliver);

  // False, without effect, when it has been answered already.
  bool operator()(Response response) const;
  bool operator()(Problem problem) const;  // fills in `instance`
  bool operator()(const Error& error) const;

  // Lives as long as any copy of this.
  [[nodiscard]] const Request& request() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace railweave::api
