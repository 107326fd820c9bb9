// One computation at a time on a thread of its own, whose owner asks now and then whether it is finished. Used by one thread.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <utility>

#include "fabric/base/check.h"

namespace railweave {

template <class Value>
class Computation {
 public:
  // deferred: computed in take(), on its caller's thread.
  explicit Computation(std::launch policy) : policy_(policy) {}
  // A computation that runs is waited for: what it uses must be there until then.
  ~Computation() = default;
  Computation(const Computation&) = delete;
  Computation& operator=(const Computation&) = delete;

  [[nodiscard]] bool is_running() const { return running_.valid(); }
  void start(std::function<Value()> compute) {
    RAILWEAVE_CHECK(!is_running(), "one computation at a time");
    running_ = std::async(policy_, std::move(compute));
  }
  // Returns when the running one is finished.
  void wait() const { running_.wait(); }
  // None: not finished, or none was started.
  std::optional<Value> take() {
    if (!is_running() || running_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout) return std::nullopt;
    return running_.get();
  }

 private:
  const std::launch policy_;
  std::future<Value> running_;
};

}  // namespace railweave
