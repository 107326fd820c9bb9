#include "api/http/dispatch/responder.h"

#include <atomic>
#include <utility>

namespace railweave::api {

struct Responder::State {
  State(std::shared_ptr<const Request> of, std::function<void(Response)> to)
      : request(std::move(of)), deliver(std::move(to)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (answered.exchange(true)) return;
    Problem problem;
    problem.code = "internal.noAnswer";
    problem.detail = "the request was dropped without an answer; whether it took effect is not known";
    problem.instance = request->target.path;
    deliver(to_response(problem));
  }

  const std::shared_ptr<const Request> request;
  const std::function<void(Response)> deliver;
  std::atomic<bool> answered{false};
};

Responder::Responder(std::shared_ptr<const Request> request, std::function<void(Response)> deliver)
    : state_(std::make_shared<State>(std::move(request), std::move(deliver))) {}

bool Responder::operator()(Response response) const {
  if (state_->answered.exchange(true)) return false;
  state_->deliver(std::move(response));
  return true;
}

bool Responder::operator()(Problem problem) const {
  if (problem.instance.empty()) problem.instance = state_->request->target.path;
  return (*this)(to_response(problem));
}

bool Responder::operator()(const Error& error) const { return (*this)(to_problem(error)); }

const Request& Responder::request() const { return *state_->request; }

}  // namespace railweave::api
