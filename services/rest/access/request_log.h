// What the log says of requests that were answered: at debug each of them, at info where the configuration asks for all, and as a
// warning those that took long and those that failed here. Refused ones are RefusalLog's. Warnings are bounded. Thread-safe.
#pragma once

#include <chrono>

#include "api/http/dispatch/server_options.h"
#include "fabric/base/log/log.h"
#include "services/rest/access/refusal_log.h"

namespace railweave::api {

class RequestLog {
 public:
  struct Options {
    bool all = false;
    std::chrono::milliseconds slow{1'000};  // a stream is not slow
  };
  RequestLog(const log::Log& log, Options options);

  void note(const AccessRecord& record, RateLimit::Clock::time_point now);

 private:
  const log::Log log_;
  const Options options_;
  RefusalLog refusals_;
  RateLimit warnings_{RefusalLog::kLinesPerSecond, RefusalLog::kLinesAtOnce};
};

}  // namespace railweave::api
