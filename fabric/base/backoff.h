// Pauses before something that failed is tried again: each twice as long as the one before, up to the longest, until it works.
// Pure: who waits adds what chance should add, so that many who failed together do not come back together.
#pragma once

#include <algorithm>
#include <chrono>

namespace railweave {

class Backoff {
 public:
  using Duration = std::chrono::microseconds;

  Backoff(Duration first, Duration longest) : first_(first), longest_(std::max(first, longest)) {}

  // It failed: how long to wait before the next attempt.
  Duration next() {
    pause_ = pause_ == Duration::zero() ? first_ : std::min(2 * pause_, longest_);
    return pause_;
  }
  // It worked.
  void reset() { pause_ = Duration::zero(); }
  [[nodiscard]] bool is_failing() const { return pause_ != Duration::zero(); }

 private:
  Duration first_, longest_;
  Duration pause_ = Duration::zero();  // the last one; zero: it did not fail since it worked
};

}  // namespace railweave
