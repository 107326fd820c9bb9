// What happened in a run, line by line: its digest is the same whenever the seed is.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "fabric/base/fnv1a.h"
#include "tests/simulation/simulated_time.h"

namespace railweave::simulation {

class Trace {
 public:
  Trace(const SimulatedTime& time, bool keeps) : time_(time), keeps_(keeps) {}

  void note(const std::string& what) {
    std::string line = std::to_string(time_.now_us()) + " " + what;
    digest_.add(line);
    ++lines_;
    if (keeps_) kept_.push_back(std::move(line));
  }
  [[nodiscard]] std::uint64_t digest() const { return digest_.value(); }
  [[nodiscard]] std::uint64_t lines() const { return lines_; }
  [[nodiscard]] std::vector<std::string> take() { return std::move(kept_); }

 private:
  const SimulatedTime& time_;
  const bool keeps_;
  Fnv1a digest_;
  std::uint64_t lines_ = 0;
  std::vector<std::string> kept_;
};

}  // namespace railweave::simulation
