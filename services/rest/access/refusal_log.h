// Requests that were refused for want of a token or a role, in the log: who asked for what, and from where. A flood of them
// does not fill the log. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "api/http/dispatch/server_options.h"
#include "services/rest/access/rate_limit.h"

namespace railweave::api {

class RefusalLog {
 public:
  static constexpr std::uint64_t kLinesPerSecond = 10, kLinesAtOnce = 100;

  explicit RefusalLog(std::function<void(const std::string&)> write) : write_(std::move(write)) {}

  // Of any request: others than refused ones are not written.
  void note(const AccessRecord& record, RateLimit::Clock::time_point now);

 private:
  const std::function<void(const std::string&)> write_;
  RateLimit lines_{kLinesPerSecond, kLinesAtOnce};
  std::atomic<std::uint64_t> left_out_{0};  // since the last line
};

}  // namespace railweave::api
