// A real railweaved process on a free loopback port with a store of its own, for benchmarks.
#pragma once

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "api/client/client.h"

namespace railweave {

class RunningService {
 public:
  RunningService();
  ~RunningService();
  RunningService(const RunningService&) = delete;
  RunningService& operator=(const RunningService&) = delete;

  void start();          // returns when it listens; aborts the benchmark with the log when it does not
  void end(int signal);  // and waits
  [[nodiscard]] api::Client client() const;
  // Answers of 2xx only; anything else ends the benchmark with the answer.
  std::string must(const Result<api::ClientResponse>& answer) const;

 private:
  std::filesystem::path folder_;
  int pid_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace railweave
